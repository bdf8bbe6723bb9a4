// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.FilterReader;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.CharBuffer;

/** FilterReader, for subclasses of the program. */
public abstract class PicoFilterReader extends FilterReader {
	protected PicoFilterReader(Reader in) {
		super(in);
	}

	// each: @Override public T m(..) throws IOException { return in.m(..); }
	int read(); int read(char[] c, int off, int len); long skip(long n); boolean ready();
	void close();

	/* --- as in PicoReader --- */

	@Override
	public int read(char[] c) throws IOException {
		return read(c, 0, c.length);
	}

	@Override
	public int read(CharBuffer b) throws IOException {
		return PicoReader.read(this, b);
	}

	public long transferTo(Writer out) throws IOException {
		return PicoReader.transfer(this, out);
	}
}
