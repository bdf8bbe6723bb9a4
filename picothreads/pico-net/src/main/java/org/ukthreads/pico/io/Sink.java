// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/*
 * What the JDK's own output streams write into where theirs are kept (deflate, zip, cipher,
 * object streams): memory. After each of their acts drain() does to the stream of the
 * program what they meant to do to it, with no frame of theirs on the stack:
 *
 *   ours.write(b) --> super.write(b) --> Sink      (memory; flush and close are noted)
 *        |
 *        +----------> Sink.drain() ----> `to`      (may park)
 *
 * Their acts call each other (close calls finish calls closeEntry): `acts` counts, and the
 * outermost drains. The streams on it look alike: each must extend the JDK's.
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

	/** For a constructor; of nothing there is none, as the JDK's constructors want it. */
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
