// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.CharBuffer;

/**
 * The superclass of the program's own readers: the methods of Reader, based on read(char[],
 * ...).
 */
public abstract class PicoReader extends Reader {
	protected PicoReader() {}

	protected PicoReader(Object lock) {
		super(lock);
	}

	@Override
	public int read() throws IOException {
		return read(this);
	}

	@Override
	public int read(char[] c) throws IOException {
		return read(c, 0, c.length);
	}

	@Override
	public int read(CharBuffer b) throws IOException {
		return read(this, b);
	}

	@Override
	public long skip(long n) throws IOException {
		return skip(this, n);
	}

	public long transferTo(Writer out) throws IOException {
		return transfer(this, out);
	}

	static void check(char[] c, int off, int len) {
		if ((off | len | off + len | c.length - off - len) < 0)
			throw new IndexOutOfBoundsException(off + ", " + len + " of " + c.length);
	}

	static int read(Reader in) throws IOException {
		char[] one = new char[1];
		return in.read(one, 0, 1) < 0 ? -1 : one[0];
	}

	static int read(Reader in, CharBuffer b) throws IOException {
		char[] c = new char[b.remaining()];
		int n = in.read(c, 0, c.length);
		if (n > 0)
			b.put(c, 0, n);
		return n;
	}

	static long skip(Reader in, long n) throws IOException {
		if (n < 0)
			throw new IllegalArgumentException("skip value is negative");
		char[] c = new char[(int) Math.min(n, 8192)];
		long left = n;
		while (left > 0) {
			int r = in.read(c, 0, (int) Math.min(left, c.length));
			if (r < 0)
				break;
			left -= r;
		}
		return n - left;
	}

	static long transfer(Reader in, Writer out) throws IOException {
		char[] c = new char[8192];
		long n = 0;
		for (int r; (r = in.read(c, 0, c.length)) >= 0; n += r)
			out.write(c, 0, r);
		return n;
	}
}
