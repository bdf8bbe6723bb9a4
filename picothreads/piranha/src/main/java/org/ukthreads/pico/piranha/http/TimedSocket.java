/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.http;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;

/**
 * A socket whose reads end at the deadline of the fetch, however few bytes arrive at a time. This
 * includes the reads that TLS makes for a handshake or for the rest of a record.
 */
final class TimedSocket extends Socket {
	private int readMillis;     /* this and the rest: only the owner uses them */
	private long deadline;
	private int soTimeout = -1;

	void limit(int millis, long nanoTime) {
		readMillis = millis;
		deadline = nanoTime;
	}

	/** Moves the deadline of the fetch. */
	void extend(long nanos) {
		deadline += nanos;
	}

	void open(InetSocketAddress to, int connectMillis) throws IOException {
		connect(to, (int) Math.min(connectMillis, left()));
	}

	private long left() throws SocketTimeoutException {
		long left = (deadline - System.nanoTime()) / 1_000_000;
		if (left <= 0) {
			throw new SocketTimeoutException("the fetch took too long");
		}
		return left;
	}

	private void prepare() throws IOException {
		long left = left();
		// On some JDKs a change costs a system call, so it changes only if it must be shorter.
		int millis = left > 2L * readMillis ? readMillis : (int) Math.min(readMillis, left);
		if (millis != soTimeout) {
			setSoTimeout(millis);
			soTimeout = millis;
		}
	}

	@Override
	public InputStream getInputStream() throws IOException {
		return new Timed(this, super.getInputStream());
	}

	private static final class Timed extends InputStream {
		private final TimedSocket socket;
		private final InputStream in;

		Timed(TimedSocket socket, InputStream in) {
			this.socket = socket;
			this.in = in;
		}

		@Override
		public int read() throws IOException {
			socket.prepare();
			return in.read();
		}

		@Override
		public int read(byte[] bytes, int from, int length) throws IOException {
			socket.prepare();
			return in.read(bytes, from, length);
		}

		@Override
		public int available() throws IOException {
			return in.available();
		}

		@Override
		public void close() throws IOException {
			in.close();
		}
	}
}
