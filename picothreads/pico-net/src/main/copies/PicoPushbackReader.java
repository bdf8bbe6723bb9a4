// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.PushbackReader;
import java.io.Reader;
import java.io.Writer;
import java.nio.CharBuffer;

/** PushbackReader with a buffer of its own. */
public class PicoPushbackReader extends PushbackReader {
	/** The characters that were pushed back begin at pos. Null: closed. */
	private char[] back;
	private int pos;

	public PicoPushbackReader(Reader in) {
		this(in, 1);
	}

	public PicoPushbackReader(Reader in, int size) {
		super(in, checked(size));
		back = new char[size];
		pos = size;
	}

	/** Returns 1, the least possible size, because the superclass's buffer is not used. */
	private static int checked(int size) {
		if (size <= 0)
			throw new IllegalArgumentException("size <= 0");
		return 1;
	}

	private void check() throws IOException {
		if (back == null)
			throw new IOException("Stream closed");
	}

	@Override
	public int read() throws IOException {
		synchronized (lock) {
			check();
			return pos < back.length ? back[pos++] : in.read();
		}
	}

	@Override
	public int read(char[] c, int off, int len) throws IOException {
		synchronized (lock) {
			check();
			PicoReader.check(c, off, len);
			if (len == 0)
				return 0;
			int n = Math.min(len, back.length - pos);
			if (n > 0) {
				System.arraycopy(back, pos, c, off, n);
				pos += n;
			}
			if (n == len)
				return n;
			int r = in.read(c, off + n, len - n);
			return r < 0 ? n == 0 ? -1 : n : n + r;
		}
	}

	@Override
	public void unread(int c) throws IOException {
		unread(new char[] {(char) c}, 0, 1);
	}

	@Override
	public void unread(char[] c) throws IOException {
		unread(c, 0, c.length);
	}

	@Override
	public void unread(char[] c, int off, int len) throws IOException {
		synchronized (lock) {
			check();
			if (len > pos)
				throw new IOException("Pushback buffer overflow");
			pos -= len;
			System.arraycopy(c, off, back, pos, len);
		}
	}

	@Override
	public boolean ready() throws IOException {
		synchronized (lock) {
			check();
			return pos < back.length || in.ready();
		}
	}

	@Override
	public long skip(long n) throws IOException {
		if (n < 0)
			throw new IllegalArgumentException("skip value is negative");
		synchronized (lock) {
			check();
			int k = (int) Math.min(n, back.length - pos);
			pos += k;
			return k < n ? k + in.skip(n - k) : k;
		}
	}

	@Override
	public void close() throws IOException {
		synchronized (lock) {
			in.close();
			back = null;
		}
	}

	// = PicoFilterReader: as in PicoReader
}
