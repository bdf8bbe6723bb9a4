// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.InputStream;
import org.ukthreads.pico.Pins;

/** The source of a stream of the JDK. A fiber that waits in it pins: it blocks its OS thread. */
final class Guard extends InputStream {
	private final InputStream in;

	Guard(InputStream in) {
		this.in = in;
	}

	@Override
	public int read() throws IOException {
		Pins.enter();
		try {
			return in.read();
		} finally {
			Pins.exit();
		}
	}

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		Pins.enter();
		try {
			return in.read(b, off, len);
		} finally {
			Pins.exit();
		}
	}

	@Override
	public long skip(long n) throws IOException {
		Pins.enter();
		try {
			return in.skip(n);
		} finally {
			Pins.exit();
		}
	}

	@Override
	public int available() throws IOException {
		return in.available();
	}

	@Override
	public void close() throws IOException {
		in.close();
	}

	@Override
	public boolean markSupported() {
		return in.markSupported();
	}

	@Override
	public void mark(int limit) {
		in.mark(limit);
	}

	@Override
	public void reset() throws IOException {
		in.reset();
	}
}
