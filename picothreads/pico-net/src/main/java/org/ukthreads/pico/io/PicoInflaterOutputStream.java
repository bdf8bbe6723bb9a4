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
