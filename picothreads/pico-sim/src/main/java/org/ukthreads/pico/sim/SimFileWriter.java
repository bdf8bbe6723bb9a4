// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.nio.charset.Charset;

/** Replaces `new FileWriter(..)` in a simulated program. */
public class SimFileWriter extends FileWriter {
	private final OutputStreamWriter out;

	public SimFileWriter(String name) throws IOException {
		this(new File(name), false);
	}

	public SimFileWriter(String name, boolean append) throws IOException {
		this(new File(name), append);
	}

	public SimFileWriter(File f) throws IOException {
		this(f, false);
	}

	public SimFileWriter(File f, boolean append) throws IOException {
		this(f, Charset.defaultCharset(), append);
	}

	public SimFileWriter(String name, Charset c) throws IOException {
		this(new File(name), c, false);
	}

	public SimFileWriter(File f, Charset c) throws IOException {
		this(f, c, false);
	}

	public SimFileWriter(File f, Charset c, boolean append) throws IOException {
		super(new FileDescriptor());
		out = new OutputStreamWriter(new SimFileOutputStream(f, append), c);
	}

	public SimFileWriter(FileDescriptor d) {
		super(d);
		out = new OutputStreamWriter(new SimFileOutputStream(d));
	}

	@Override
	public void write(int c) throws IOException {
		out.write(c);
	}

	@Override
	public void write(char[] b) throws IOException {
		out.write(b);
	}

	@Override
	public void write(char[] b, int off, int len) throws IOException {
		out.write(b, off, len);
	}

	@Override
	public void write(String s) throws IOException {
		out.write(s);
	}

	@Override
	public void write(String s, int off, int len) throws IOException {
		out.write(s, off, len);
	}

	@Override
	public java.io.Writer append(CharSequence s) throws IOException {
		out.append(s);
		return this;
	}

	@Override
	public java.io.Writer append(CharSequence s, int from, int to) throws IOException {
		out.append(s, from, to);
		return this;
	}

	@Override
	public java.io.Writer append(char c) throws IOException {
		out.append(c);
		return this;
	}

	@Override
	public void flush() throws IOException {
		out.flush();
	}

	@Override
	public void close() throws IOException {
		out.close();
	}
}
