// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.OutputStream;
import javax.crypto.Cipher;
import javax.crypto.CipherOutputStream;
import javax.crypto.NullCipher;

/** CipherOutputStream that writes to a Sink and then passes the bytes on. */
public class PicoCipherOutputStream extends CipherOutputStream {
	private final Sink sink;

	public PicoCipherOutputStream(OutputStream out, Cipher cipher) {
		super(Sink.of(out), cipher);
		sink = (Sink) this.out;
	}

	protected PicoCipherOutputStream(OutputStream out) {
		this(out, new NullCipher());
	}

	@Override
	public void write(int b) throws IOException {
		write(new byte[] {(byte) b}, 0, 1);
	}

	@Override
	public void write(byte[] b) throws IOException {
		write(b, 0, b.length);
	}

	@Override
	public void write(byte[] b, int off, int len) throws IOException {
		sink.enter();
		try {
			super.write(b, off, len);
		} finally {
			sink.exit();
		}
	}

	@Override
	public void flush() throws IOException {
		sink.enter();
		try {
			super.flush();
		} finally {
			sink.exit();
		}
	}

	@Override
	public void close() throws IOException {
		sink.enter();
		try {
			super.close();
		} finally {
			sink.exit();
		}
	}
}
