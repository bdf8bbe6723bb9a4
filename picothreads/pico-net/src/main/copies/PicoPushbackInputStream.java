// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;

/** PushbackInputStream that uses the protected fields of the superclass; unread() is inherited. */
public class PicoPushbackInputStream extends PushbackInputStream {
	public PicoPushbackInputStream(InputStream in) {
		super(in);
	}

	public PicoPushbackInputStream(InputStream in, int size) {
		super(in, size);
	}

	private InputStream open() throws IOException {
		InputStream i = in;
		if (i == null)
			throw new IOException("Stream closed");
		return i;
	}

	@Override
	public int read() throws IOException {
		InputStream i = open();
		return pos < buf.length ? buf[pos++] & 0xff : i.read();
	}

	// = PicoFilterInputStream: read

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		InputStream i = open();
		PicoInputStream.check(b, off, len);
		if (len == 0)
			return 0;
		int n = Math.min(len, buf.length - pos);
		if (n > 0) {
			System.arraycopy(buf, pos, b, off, n);
			pos += n;
		}
		if (n == len)
			return n;
		int r = i.read(b, off + n, len - n);
		return r < 0 ? n == 0 ? -1 : n : n + r;
	}

	@Override
	public int available() throws IOException {
		InputStream i = open();
		int n = buf.length - pos;
		int more = i.available();
		return n > Integer.MAX_VALUE - more ? Integer.MAX_VALUE : n + more;
	}

	@Override
	public long skip(long n) throws IOException {
		InputStream i = open();
		if (n <= 0)
			return 0;
		long k = Math.min(n, buf.length - pos);
		pos += (int) k;
		return k < n ? k + i.skip(n - k) : k;
	}

	@Override
	public void close() throws IOException {
		InputStream i = in;
		in = null;
		buf = null;
		if (i != null)
			i.close();
	}

	// = PicoFilterInputStream: as in PicoInputStream
}
