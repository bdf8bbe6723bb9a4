// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;

/** BufferedInputStream that uses the protected fields of the superclass. */
public class PicoBufferedInputStream extends BufferedInputStream {
	public PicoBufferedInputStream(InputStream in) {
		this(in, 8192);
	}

	public PicoBufferedInputStream(InputStream in, int size) {
		super(in, size);
		if (buf == null || buf.length == 0)
			buf = new byte[size];
	}

	private InputStream open() throws IOException {
		InputStream i = in;
		if (i == null)
			throw new IOException("Stream closed");
		return i;
	}

	private byte[] bytes() throws IOException {
		byte[] b = buf;
		if (b == null)
			throw new IOException("Stream closed");
		return b;
	}

	/** Called when the buffer is used up: makes room, keeps the marked bytes, and reads. */
	private void fill() throws IOException {
		byte[] b = bytes();
		if (markpos < 0) {
			pos = 0;
		} else if (pos >= b.length) {
			if (markpos > 0) {
				int kept = pos - markpos;
				System.arraycopy(b, markpos, b, 0, kept);
				pos = kept;
				markpos = 0;
			} else if (b.length >= marklimit) {
				markpos = -1;
				pos = 0;
			} else {
				int n = pos <= Integer.MAX_VALUE - 8 - pos ? pos * 2 : Integer.MAX_VALUE - 8;
				b = Arrays.copyOf(b, Math.min(n, marklimit));
				buf = b;
			}
		}
		count = pos;
		int n = open().read(b, pos, b.length - pos);
		if (n > 0)
			count = n + pos;
	}

	@Override
	public synchronized int read() throws IOException {
		if (pos >= count) {
			fill();
			if (pos >= count)
				return -1;
		}
		return bytes()[pos++] & 0xff;
	}

	// = PicoFilterInputStream: read

	private int once(byte[] b, int off, int len) throws IOException {
		int n = count - pos;
		if (n <= 0) {
			if (len >= bytes().length && markpos < 0)
				return open().read(b, off, len);
			fill();
			n = count - pos;
			if (n <= 0)
				return -1;
		}
		n = Math.min(n, len);
		System.arraycopy(bytes(), pos, b, off, n);
		pos += n;
		return n;
	}

	@Override
	public synchronized int read(byte[] b, int off, int len) throws IOException {
		bytes();
		if ((off | len | off + len | b.length - (off + len)) < 0)
			throw new IndexOutOfBoundsException();
		if (len == 0)
			return 0;
		int n = 0;
		for (;;) {
			int r = once(b, off + n, len - n);
			if (r <= 0)
				return n == 0 ? r : n;
			n += r;
			if (n >= len || open().available() <= 0)
				return n;
		}
	}

	@Override
	public synchronized long skip(long n) throws IOException {
		bytes();
		if (n <= 0)
			return 0;
		long there = count - pos;
		if (there <= 0) {
			if (markpos < 0)
				return open().skip(n);
			fill();
			there = count - pos;
			if (there <= 0)
				return 0;
		}
		long k = Math.min(there, n);
		pos += (int) k;
		return k;
	}

	@Override
	public synchronized int available() throws IOException {
		int n = count - pos;
		int more = open().available();
		return n > Integer.MAX_VALUE - more ? Integer.MAX_VALUE : n + more;
	}

	@Override
	public synchronized void mark(int limit) {
		marklimit = limit;
		markpos = pos;
	}

	@Override
	public synchronized void reset() throws IOException {
		bytes();
		if (markpos < 0)
			throw new IOException("Resetting to invalid mark");
		pos = markpos;
	}

	@Override
	public void close() throws IOException {
		buf = null;
		InputStream i = in;
		in = null;
		if (i != null)
			i.close();
	}

	// = PicoFilterInputStream: as in PicoInputStream
}
