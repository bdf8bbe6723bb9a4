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

	// = PicoDeflaterOutputStream: acts; void write(byte[] b, > synchronized void write(byte[] b,

	// = PicoDeflaterOutputStream: finish

	// each: @Override public T m(..) throws IOException {
	//	sink.enter(); try { super.m(..); } finally { sink.exit(); } }
	void putNextEntry(ZipEntry e); void closeEntry();
}
