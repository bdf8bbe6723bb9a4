// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.ukthreads.pico.io.PicoInputStream;
import org.ukthreads.pico.io.PicoOutputStream;

/** The source and destination of a socket's bytes, and the two streams that programs see. */
abstract class Duct {
	final InputStream in = new In(this);
	final OutputStream out = new Out(this);

	/** Reads at least one byte; -1: the end. The range is valid and not empty. */
	abstract int read(byte[] b, int off, int len) throws IOException;

	/** Writes all bytes. The range is valid. */
	abstract void write(byte[] b, int off, int len) throws IOException;

	abstract int available() throws IOException;

	/** Closes the socket; close() of either stream calls this. */
	abstract void close() throws IOException;

	private static void check(byte[] b, int off, int len) {
		if ((off | len | off + len | b.length - off - len) < 0)
			throw new IndexOutOfBoundsException(off + ", " + len + " of " + b.length);
	}

	private static final class In extends PicoInputStream {
		private final Duct duct;

		In(Duct duct) {
			this.duct = duct;
		}

		@Override
		public int read() throws IOException {
			byte[] one = new byte[1];
			return duct.read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
		}

		@Override
		public int read(byte[] b, int off, int len) throws IOException {
			check(b, off, len);
			return len == 0 ? 0 : duct.read(b, off, len);
		}

		@Override
		public int available() throws IOException {
			return duct.available();
		}

		@Override
		public void close() throws IOException {
			duct.close();
		}
	}

	private static final class Out extends PicoOutputStream {
		private final Duct duct;

		Out(Duct duct) {
			this.duct = duct;
		}

		@Override
		public void write(int b) throws IOException {
			duct.write(new byte[] {(byte) b}, 0, 1);
		}

		@Override
		public void write(byte[] b, int off, int len) throws IOException {
			check(b, off, len);
			duct.write(b, off, len);
		}

		@Override
		public void close() throws IOException {
			duct.close();
		}
	}
}
