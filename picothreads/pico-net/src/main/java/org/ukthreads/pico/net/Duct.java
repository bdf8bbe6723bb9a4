// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.ukthreads.pico.io.PicoInputStream;
import org.ukthreads.pico.io.PicoOutputStream;

/** What a socket reads from and writes to, and the two streams that show it to programs. */
abstract class Duct {
	final InputStream in = new In(this);
	final OutputStream out = new Out(this);

	/** At least a byte, or -1: the end; the range is right and not empty. */
	abstract int read(byte[] b, int off, int len) throws IOException;

	/** All of it; the range is right. */
	abstract void write(byte[] b, int off, int len) throws IOException;

	abstract int available() throws IOException;

	/** Either stream's close() is the socket's. */
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
