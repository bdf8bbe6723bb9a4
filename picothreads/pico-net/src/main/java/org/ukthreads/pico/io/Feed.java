// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/*
 * The source of the JDK's ObjectInputStream: bytes that were read ahead of it, by code that may
 * park. If they do not suffice, the JDK reads the source itself as usual; then it pins, and from
 * then on the shape of the stream is `lost`.
 *
 *   buf: | taken and read by the JDK | pos .. at: both know | at .. count: not looked at |
 *
 * `pos` is the position of the JDK, `at` that of ObjectShape; either may be ahead.
 */
final class Feed extends InputStream {
	/** The most bytes to read ahead for one element: the JDK's filters only check it later. */
	static final int MOST = 16 << 20;

	final InputStream source;
	private byte[] buf = new byte[512];
	private int pos;
	private int at;
	private int count;
	boolean lost;
	/** The program has called close(), and the caller closes the source itself. */
	boolean shut;

	Feed(InputStream source) {
		this.source = source;
	}

	/* --- reading ahead, which may park --- */

	/** Reads more from the source; false: the end. */
	private boolean more() throws IOException {
		int from = Math.min(pos, at);
		if (from > 0) {
			System.arraycopy(buf, from, buf, 0, count - from);
			pos -= from;
			at -= from;
			count -= from;
		}
		if (count >= MOST)
			throw new ObjectShape.Unclear("too large");
		if (count == buf.length)
			buf = Arrays.copyOf(buf, count * 2);
		int n = source.read(buf, count, buf.length - count);
		if (n < 0)
			return false;
		count += n;
		return true;
	}

	/** Reads what is there without waiting. */
	void pull() throws IOException {
		if (source.available() > 0)
			more();
	}

	/** Returns the next byte and leaves it there; -1: the end. */
	int peek() throws IOException {
		while (at >= count)
			if (!more())
				return -1;
		return buf[at] & 0xff;
	}

	int octet() throws IOException {
		int c = peek();
		if (c < 0)
			throw new EOFException();
		at++;
		return c;
	}

	long number(int bytes) throws IOException {
		long n = 0;
		while (bytes-- > 0)
			n = n << 8 | octet();
		return n;
	}

	void pass(long n) throws IOException {
		if (n < 0 || n > MOST)
			throw new ObjectShape.Unclear("too large");
		while (count - at < n)
			if (!more())
				throw new EOFException();
		at += (int) n;
	}

	byte[] bytes(int n) throws IOException {
		pass(n);
		return Arrays.copyOfRange(buf, at - n, at);
	}

	/** Skips for the JDK what was taken here. */
	void taken() {
		pos = at;
	}

	/** Returns true if both are at the same byte; the JDK may have looked at it. */
	boolean even() {
		return pos == at || pos == at + 1;
	}

	/* --- for the JDK --- */

	@Override
	public int read() throws IOException {
		if (pos < count)
			return buf[pos++] & 0xff;
		int c = source.read();
		lost |= c >= 0;
		return c;
	}

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		if (pos < count) {
			int n = Math.min(len, count - pos);
			System.arraycopy(buf, pos, b, off, n);
			pos += n;
			return n;
		}
		int n = source.read(b, off, len);
		lost |= n > 0;
		return n;
	}

	@Override
	public int available() throws IOException {
		return count - pos + (lost ? source.available() : 0);
	}

	@Override
	public void close() throws IOException {
		if (!shut)
			source.close();
	}
}
