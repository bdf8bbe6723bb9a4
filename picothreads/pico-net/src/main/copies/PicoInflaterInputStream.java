// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;

/**
 * InflaterInputStream that uses the protected fields of the superclass, which ends an inflater
 * that it has made.
 */
public class PicoInflaterInputStream extends InflaterInputStream implements Inflate {
	private boolean closed;
	private boolean end;

	public PicoInflaterInputStream(InputStream in) {
		super(in);
	}

	public PicoInflaterInputStream(InputStream in, Inflater inf) {
		super(in, inf);
	}

	public PicoInflaterInputStream(InputStream in, Inflater inf, int size) {
		super(in, inf, size);
	}

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		check();
		PicoInputStream.check(b, off, len);
		if (len == 0)
			return 0;
		int n = Inflate.read(this, inf, b, off, len);
		end |= n < 0;
		return n;
	}

	@Override
	public int available() throws IOException {
		check();
		return end || inf.finished() ? 0 : 1;
	}

	// = PicoFilterInputStream: as in PicoInputStream

	/* --- filling and closing --- */

	private void check() throws IOException {
		if (closed)
			throw new IOException("Stream closed");
	}

	@Override
	protected void fill() throws IOException {
		check();
		len = in.read(buf, 0, buf.length);
		if (len < 0)
			throw new EOFException("Unexpected end of ZLIB input stream");
		inf.setInput(buf, 0, len);
	}

	@Override
	public void more() throws IOException {
		fill();
	}

	@Override
	public int read() throws IOException {
		byte[] one = new byte[1];
		return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
	}

	@Override
	public int read(byte[] b) throws IOException {
		return read(b, 0, b.length);
	}

	@Override
	public void close() throws IOException {
		if (closed)
			return;
		closed = true;
		InputStream i = in;
		in = Inflate.nothing();
		super.close();
		i.close();
	}

	/* --- skip --- */

	@Override
	public long skip(long n) throws IOException {
		return Inflate.skip(this, n);
	}
}
