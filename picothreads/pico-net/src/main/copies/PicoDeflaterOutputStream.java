// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;

/** DeflaterOutputStream that writes to a Sink and then passes the bytes on. */
public class PicoDeflaterOutputStream extends DeflaterOutputStream {
	private final Sink sink;

	public PicoDeflaterOutputStream(OutputStream out) {
		this(out, false);
	}

	public PicoDeflaterOutputStream(OutputStream out, boolean sync) {
		super(Sink.of(out), sync);
		sink = (Sink) this.out;
	}

	public PicoDeflaterOutputStream(OutputStream out, Deflater def) {
		this(out, def, 512, false);
	}

	public PicoDeflaterOutputStream(OutputStream out, Deflater def, boolean sync) {
		this(out, def, 512, sync);
	}

	public PicoDeflaterOutputStream(OutputStream out, Deflater def, int size) {
		this(out, def, size, false);
	}

	public PicoDeflaterOutputStream(OutputStream out, Deflater def, int size, boolean sync) {
		super(Sink.of(out), def, size, sync);
		sink = (Sink) this.out;
	}

	/* --- acts --- */

	@Override
	public void write(int b) throws IOException {
		write(new byte[] {(byte) b}, 0, 1);
	}

	@Override
	public void write(byte[] b) throws IOException {
		write(b, 0, b.length);
	}

	// each: @Override public T m(..) throws IOException {
	//	sink.enter(); try { super.m(..); } finally { sink.exit(); } }
	void write(byte[] b, int off, int len); void flush(); void close();

	/* --- finish --- */

	@Override
	public void finish() throws IOException {
		sink.enter();
		try {
			super.finish();
		} finally {
			sink.exit();
		}
	}
}
