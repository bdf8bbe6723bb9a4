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

	@Override
	public int read() throws IOException {
		return in.read();
	}

	@Override
	public int read(char[] c) throws IOException {
		return read(c, 0, c.length);
	}

	@Override
	public int read(char[] c, int off, int len) throws IOException {
		return in.read(c, off, len);
	}

	@Override
	public int read(CharBuffer b) throws IOException {
		return PicoReader.read(this, b);
	}

	@Override
	public long skip(long n) throws IOException {
		return in.skip(n);
	}

	@Override
	public boolean ready() throws IOException {
		return in.ready();
	}

	@Override
	public void close() throws IOException {
		in.close();
	}

	public long transferTo(Writer out) throws IOException {
		return PicoReader.transfer(this, out);
	}
}
