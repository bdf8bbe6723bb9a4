// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/*
 * The memory into which the JDK's output streams write if we use them (deflate, zip, cipher,
 * object streams). After each of their acts, drain() makes the same calls on the program's stream,
 * with no frame of the JDK's stream on the stack:
 *
 *   ours.write(b) --> super.write(b) --> Sink      (memory; flush and close are noted)
 *        |
 *        +----------> Sink.drain() ----> `to`      (may park)
 *
 * Their acts call each other (close calls finish calls closeEntry): `acts` counts them, and the
 * outermost drains. Each stream over a Sink extends another class of the JDK; they copy their
 * methods from PicoDeflaterOutputStream.
 */
final class Sink extends ByteArrayOutputStream {
	final OutputStream to;
	private boolean flush;
	private boolean close;
	private int acts;

	private Sink(OutputStream to) {
		super(512);
		this.to = to;
	}

	/**
	 * Makes the Sink for a constructor; null for null, which the JDK's constructors then
	 * reject.
	 */
	static Sink of(OutputStream to) {
		return to == null ? null : new Sink(to);
	}

	@Override
	public void flush() {
		flush = true;
	}

	@Override
	public void close() {
		close = true;
	}

	void enter() {
		acts++;
	}

	void exit() throws IOException {
		if (--acts == 0)
			drain();
	}

	void drain() throws IOException {
		try {
			if (count > 0) {
				int n = count;
				count = 0;
				to.write(buf, 0, n);
			}
			if (flush) {
				flush = false;
				to.flush();
			}
		} finally {
			if (close) {
				close = false;
				to.close();
			}
		}
	}
}
