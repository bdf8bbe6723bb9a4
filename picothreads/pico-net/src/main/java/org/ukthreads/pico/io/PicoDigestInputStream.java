// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.DigestInputStream;
import java.security.MessageDigest;

/** DigestInputStream. */
public class PicoDigestInputStream extends DigestInputStream {
	private boolean off;

	public PicoDigestInputStream(InputStream in, MessageDigest digest) {
		super(in, digest);
	}

	@Override
	public void on(boolean on) {
		super.on(on);
		off = !on;
	}

	@Override
	public int read() throws IOException {
		int c = in.read();
		if (!off && c >= 0)
			digest.update((byte) c);
		return c;
	}

	@Override
	public int read(byte[] b) throws IOException {
		return read(b, 0, b.length);
	}

	@Override
	public int read(byte[] b, int from, int len) throws IOException {
		int n = in.read(b, from, len);
		if (!off && n > 0)
			digest.update(b, from, n);
		return n;
	}

	@Override
	public long skip(long n) throws IOException {
		return in.skip(n);
	}

	@Override
	public int available() throws IOException {
		return in.available();
	}

	@Override
	public void close() throws IOException {
		in.close();
	}

	/* As in PicoInputStream, which cannot be the superclass here. */

	public byte[] readAllBytes() throws IOException {
		return PicoInputStream.readNBytes(this, Integer.MAX_VALUE);
	}

	public byte[] readNBytes(int n) throws IOException {
		return PicoInputStream.readNBytes(this, n);
	}

	public int readNBytes(byte[] b, int off, int len) throws IOException {
		return PicoInputStream.readNBytes(this, b, off, len);
	}

	public void skipNBytes(long n) throws IOException {
		PicoInputStream.skipNBytes(this, n);
	}

	public long transferTo(OutputStream out) throws IOException {
		return PicoInputStream.transfer(this, out);
	}
}
