// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterOutputStream;

/** InflaterOutputStream that writes to a Sink and then passes the bytes on. */
public class PicoInflaterOutputStream extends InflaterOutputStream {
	private final Sink sink;

	public PicoInflaterOutputStream(OutputStream out) {
		super(Sink.of(out));
		sink = (Sink) this.out;
	}

	public PicoInflaterOutputStream(OutputStream out, Inflater inf) {
		this(out, inf, 512);
	}

	public PicoInflaterOutputStream(OutputStream out, Inflater inf, int size) {
		super(Sink.of(out), inf, size);
		sink = (Sink) this.out;
	}

	// = PicoDeflaterOutputStream: acts

	// = PicoDeflaterOutputStream: finish
}
