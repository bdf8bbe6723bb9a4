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

	// = PicoFilterInputStream: read

	@Override
	public int read(byte[] b, int from, int len) throws IOException {
		int n = in.read(b, from, len);
		if (!off && n > 0)
			digest.update(b, from, n);
		return n;
	}

	// = PicoFilterInputStream: skip

	// = PicoFilterInputStream: available and close

	// = PicoFilterInputStream: as in PicoInputStream
}
