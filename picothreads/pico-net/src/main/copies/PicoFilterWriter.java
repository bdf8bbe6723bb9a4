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

	// each: @Override public T m(..) throws IOException { return out.m(..); }
	void write(int c); void write(char[] c, int off, int len);
	void write(String s, int off, int len); void flush(); void close();

	/* --- as in PicoWriter --- */

	@Override
	public void write(char[] c) throws IOException {
		write(c, 0, c.length);
	}

	@Override
	public void write(String s) throws IOException {
		write(s, 0, s.length());
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
}
