// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.GZIPOutputStream;

/** GZIPOutputStream that writes to a Sink and then passes the bytes on. */
public class PicoGZIPOutputStream extends GZIPOutputStream {
	private final Sink sink;

	/* As in PicoObjectOutputStream, a subclass pins here if writing the header has to wait. */

	public PicoGZIPOutputStream(OutputStream out) throws IOException {
		this(out, 512, false);
	}

	public PicoGZIPOutputStream(OutputStream out, int size) throws IOException {
		this(out, size, false);
	}

	public PicoGZIPOutputStream(OutputStream out, boolean sync) throws IOException {
		this(out, 512, sync);
	}

	public PicoGZIPOutputStream(OutputStream out, int size, boolean sync) throws IOException {
		this(Sink.of(out), size, sync);
		sink.drain();
	}

	private PicoGZIPOutputStream(Sink sink, int size, boolean sync) throws IOException {
		super(sink, size, sync);
		this.sink = sink;
	}

	public static PicoGZIPOutputStream pico$new(OutputStream out) throws IOException {
		return pico$new(out, 512, false);
	}

	public static PicoGZIPOutputStream pico$new(OutputStream out, int size)
			throws IOException {
		return pico$new(out, size, false);
	}

	public static PicoGZIPOutputStream pico$new(OutputStream out, boolean sync)
			throws IOException {
		return pico$new(out, 512, sync);
	}

	public static PicoGZIPOutputStream pico$new(OutputStream out, int size, boolean sync)
			throws IOException {
		PicoGZIPOutputStream g = new PicoGZIPOutputStream(Sink.of(out), size, sync);
		g.sink.drain();
		return g;
	}

	// = PicoDeflaterOutputStream: acts; void write(byte[] b, > synchronized void write(byte[] b,

	// = PicoDeflaterOutputStream: finish
}
