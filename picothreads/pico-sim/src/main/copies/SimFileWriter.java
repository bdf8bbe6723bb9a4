// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
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

	// each: @Override public T m(..) throws IOException { out.m(..); return this; }
	Writer append(CharSequence s); Writer append(CharSequence s, int from, int to);
	Writer append(char c);

	// each: @Override public T m(..) throws IOException { return out.m(..); }
	void write(int c); void write(char[] b); void write(char[] b, int off, int len);
	void write(String s); void write(String s, int off, int len); void flush();
	void close();
}
