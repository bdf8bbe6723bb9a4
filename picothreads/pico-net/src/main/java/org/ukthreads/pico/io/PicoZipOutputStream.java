// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** ZipOutputStream that writes to a Sink and then passes the bytes on. */
public class PicoZipOutputStream extends ZipOutputStream {
	private final Sink sink;

	public PicoZipOutputStream(OutputStream out) {
		this(out, StandardCharsets.UTF_8);
	}

	public PicoZipOutputStream(OutputStream out, Charset charset) {
		super(Sink.of(out), charset);
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
	public synchronized void write(byte[] b, int off, int len) throws IOException {
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

	@Override
	public void putNextEntry(ZipEntry e) throws IOException {
		sink.enter();
		try {
			super.putNextEntry(e);
		} finally {
			sink.exit();
		}
	}

	@Override
	public void closeEntry() throws IOException {
		sink.enter();
		try {
			super.closeEntry();
		} finally {
			sink.exit();
		}
	}
}
