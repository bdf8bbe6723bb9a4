// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** BufferedOutputStream that uses the protected fields of the superclass. */
public class PicoBufferedOutputStream extends BufferedOutputStream {
	private boolean shut;

	public PicoBufferedOutputStream(OutputStream out) {
		this(out, 8192);
	}

	public PicoBufferedOutputStream(OutputStream out, int size) {
		super(out, size);
		if (buf.length < size)
			buf = new byte[size];
	}

	private void drain() throws IOException {
		if (count > 0) {
			out.write(buf, 0, count);
			count = 0;
		}
	}

	@Override
	public synchronized void write(int b) throws IOException {
		if (count >= buf.length)
			drain();
		buf[count++] = (byte) b;
	}

	@Override
	public void write(byte[] b) throws IOException {
		write(b, 0, b.length);
	}

	@Override
	public synchronized void write(byte[] b, int off, int len) throws IOException {
		if (len >= buf.length) {
			drain();
			out.write(b, off, len);
			return;
		}
		if (len > buf.length - count)
			drain();
		System.arraycopy(b, off, buf, count, len);
		count += len;
	}

	@Override
	public synchronized void flush() throws IOException {
		drain();
		out.flush();
	}

	@Override
	public void close() throws IOException {
		if (shut)
			return;
		shut = true;
		try {
			flush();
		} finally {
			out.close();
		}
	}
}
