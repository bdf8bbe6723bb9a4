// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import javax.crypto.Cipher;
import javax.crypto.CipherInputStream;
import javax.crypto.NullCipher;

/** CipherInputStream; the superclass reads nothing. */
public class PicoCipherInputStream extends CipherInputStream {
	private final Cipher cipher;
	private final byte[] raw = new byte[8192];
	private byte[] ready = new byte[0];
	private int from;
	private boolean end;
	private boolean closed;

	public PicoCipherInputStream(InputStream in, Cipher cipher) {
		super(in, cipher);
		this.cipher = cipher;
	}

	protected PicoCipherInputStream(InputStream in) {
		this(in, new NullCipher());
	}

	/** Runs the cipher over the next bytes; false: the end. */
	private boolean fill() throws IOException {
		while (from == ready.length) {
			if (end)
				return false;
			int n = in.read(raw, 0, raw.length);
			byte[] b;
			if (n < 0) {
				end = true;
				try {
					b = cipher.doFinal();
				} catch (GeneralSecurityException e) {
					throw new IOException(e);
				}
			} else {
				b = cipher.update(raw, 0, n);
			}
			ready = b == null ? new byte[0] : b;
			from = 0;
		}
		return true;
	}

	@Override
	public int read() throws IOException {
		return fill() ? ready[from++] & 0xff : -1;
	}

	// = PicoFilterInputStream: read

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		if (!fill())
			return -1;
		if (len <= 0)
			return 0;
		int n = Math.min(len, ready.length - from);
		if (b != null)
			System.arraycopy(ready, from, b, off, n);
		from += n;
		return n;
	}

	@Override
	public long skip(long n) {
		int k = (int) Math.max(0, Math.min(n, ready.length - from));
		from += k;
		return k;
	}

	@Override
	public int available() {
		return ready.length - from;
	}

	@Override
	public void close() throws IOException {
		if (closed)
			return;
		closed = true;
		in.close();
		if (!end)
			try {
				cipher.doFinal();
			} catch (GeneralSecurityException e) {
				/* As in the JDK: a reader that stops early does not see this error. */
			}
		end = true;
		from = ready.length;
	}

	// = PicoFilterInputStream: as in PicoInputStream
}
