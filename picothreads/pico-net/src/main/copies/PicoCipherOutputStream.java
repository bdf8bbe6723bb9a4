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

	// = PicoDeflaterOutputStream: acts
}
