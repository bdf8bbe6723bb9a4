// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.OutputStream;
import java.security.DigestOutputStream;
import java.security.MessageDigest;

/** DigestOutputStream. */
public class PicoDigestOutputStream extends DigestOutputStream {
	private boolean off;
	private boolean shut;

	public PicoDigestOutputStream(OutputStream out, MessageDigest digest) {
		super(out, digest);
	}

	@Override
	public void on(boolean on) {
		super.on(on);
		off = !on;
	}

	@Override
	public void write(int b) throws IOException {
		out.write(b);
		if (!off)
			digest.update((byte) b);
	}

	// = PicoFilterOutputStream: write

	@Override
	public void write(byte[] b, int from, int len) throws IOException {
		out.write(b, from, len);
		if (!off)
			digest.update(b, from, len);
	}

	// = PicoFilterOutputStream: flush and close; PicoDigest > PicoFilter
}
