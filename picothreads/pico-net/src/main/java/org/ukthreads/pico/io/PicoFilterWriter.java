// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.FilterWriter;
import java.io.IOException;
import java.io.Writer;

/** FilterWriter, for subclasses of the program. */
public abstract class PicoFilterWriter extends FilterWriter {
	protected PicoFilterWriter(Writer out) {
		super(out);
	}

	@Override
	public void write(int c) throws IOException {
		out.write(c);
	}

	@Override
	public void write(char[] c) throws IOException {
		write(c, 0, c.length);
	}

	@Override
	public void write(char[] c, int off, int len) throws IOException {
		out.write(c, off, len);
	}

	@Override
	public void write(String s) throws IOException {
		write(s, 0, s.length());
	}

	@Override
	public void write(String s, int off, int len) throws IOException {
		out.write(s, off, len);
	}

	@Override
	public Writer append(CharSequence s) throws IOException {
		write(String.valueOf(s));
		return this;
	}

	@Override
	public Writer append(CharSequence s, int from, int to) throws IOException {
		return append((s == null ? "null" : s).subSequence(from, to));
	}

	@Override
	public Writer append(char c) throws IOException {
		write(c);
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
