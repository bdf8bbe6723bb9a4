// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;

/** The superclass of the program's own streams: the methods of InputStream, based on read(). */
public abstract class PicoInputStream extends InputStream {
	@Override
	public int read(byte[] b) throws IOException {
		return read(b, 0, b.length);
	}

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		check(b, off, len);
		if (len == 0)
			return 0;
		int c = read();
		if (c < 0)
			return -1;
		b[off] = (byte) c;
		int n = 1;
		try {
			while (n < len && (c = read()) >= 0)
				b[off + n++] = (byte) c;
		} catch (IOException e) {
			/* Returns the bytes that were read. The next read fails again. */
		}
		return n;
	}

	@Override
	public long skip(long n) throws IOException {
		return skip(this, n);
	}

	public byte[] readAllBytes() throws IOException {
		return readNBytes(this, Integer.MAX_VALUE);
	}

	public byte[] readNBytes(int n) throws IOException {
		return readNBytes(this, n);
	}

	public int readNBytes(byte[] b, int off, int len) throws IOException {
		return readNBytes(this, b, off, len);
	}

	public void skipNBytes(long n) throws IOException {
		skipNBytes(this, n);
	}

	public long transferTo(OutputStream out) throws IOException {
		return transfer(this, out);
	}

	static void check(byte[] b, int off, int len) {
		if ((off | len | off + len | b.length - off - len) < 0)
			throw new IndexOutOfBoundsException(off + ", " + len + " of " + b.length);
	}

	static long skip(InputStream in, long n) throws IOException {
		if (n <= 0)
			return 0;
		byte[] b = new byte[(int) Math.min(n, 2048)];
		long left = n;
		while (left > 0) {
			int r = in.read(b, 0, (int) Math.min(b.length, left));
			if (r < 0)
				break;
			left -= r;
		}
		return n - left;
	}

	static void skipNBytes(InputStream in, long n) throws IOException {
		while (n > 0) {
			long k = in.skip(n);
			if (k <= 0) {
				if (in.read() < 0)
					throw new EOFException();
				k = 1;
			}
			n -= k;
		}
	}

	static byte[] readNBytes(InputStream in, int most) throws IOException {
		if (most < 0)
			throw new IllegalArgumentException("len < 0");
		byte[] b = new byte[Math.min(most, 8192)];
		int n = 0;
		while (n < most) {
			if (n == b.length)
				b = Arrays.copyOf(b, Math.min(most, b.length * 2));
			int r = in.read(b, n, b.length - n);
			if (r < 0)
				break;
			n += r;
		}
		return n == b.length ? b : Arrays.copyOf(b, n);
	}

	static int readNBytes(InputStream in, byte[] b, int off, int len) throws IOException {
		check(b, off, len);
		int n = 0;
		while (n < len) {
			int r = in.read(b, off + n, len - n);
			if (r < 0)
				break;
			n += r;
		}
		return n;
	}

	static long transfer(InputStream in, OutputStream out) throws IOException {
		byte[] b = new byte[8192];
		long n = 0;
		for (int r; (r = in.read(b, 0, b.length)) >= 0; n += r)
			out.write(b, 0, r);
		return n;
	}
}
