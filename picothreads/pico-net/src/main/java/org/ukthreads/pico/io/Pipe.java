// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.InterruptedIOException;

/*
 * The shared state of the two ends of a pipe, of bytes or of characters: a ring, and the threads
 * that last used each end; all guarded by this. The JDK's pipes also wait one second at a time,
 * to find out whether the other thread has ended, but in the JVM's monitor. That would block the
 * carrier that the other end needs.
 *
 *   | free | from .. what is there: n .. | free |
 */
final class Pipe {
	/** A byte[] or char[]. */
	private final Object ring;
	private final int size;
	private int from;
	private int n;
	private boolean connected;
	private boolean closedByReader;
	private boolean closedByWriter;
	private Thread reader;
	private Thread writer;

	Pipe(Object ring, int size) {
		this.ring = ring;
		this.size = size;
	}

	static int checked(int size) {
		if (size <= 0)
			throw new IllegalArgumentException("Pipe Size <= 0");
		return size;
	}

	synchronized void connect() throws IOException {
		if (connected)
			throw new IOException("Already connected");
		connected = true;
	}

	private void checkOut() throws IOException {
		if (!connected)
			throw new IOException("Pipe not connected");
		if (closedByWriter || closedByReader)
			throw new IOException("Pipe closed");
		if (reader != null && !reader.isAlive())
			throw new IOException("Read end dead");
	}

	private void checkIn() throws IOException {
		if (!connected)
			throw new IOException("Pipe not connected");
		if (closedByReader)
			throw new IOException("Pipe closed");
		if (n == 0 && !closedByWriter && writer != null && !writer.isAlive())
			throw new IOException("Write end dead");
	}

	private void rest() throws InterruptedIOException {
		notifyAll();
		try {
			wait(1000);
		} catch (InterruptedException e) {
			throw new InterruptedIOException();
		}
	}

	synchronized void write(Object b, int off, int len) throws IOException {
		checkOut();
		writer = Thread.currentThread();
		while (len > 0) {
			while (n == size) {
				checkOut();
				rest();
			}
			int at = (from + n) % size;
			int k = Math.min(len, Math.min(size - n, size - at));
			System.arraycopy(b, off, ring, at, k);
			n += k;
			off += k;
			len -= k;
		}
	}

	/** Reads at least one element; -1: the end. len > 0. */
	synchronized int read(Object b, int off, int len) throws IOException {
		checkIn();
		reader = Thread.currentThread();
		for (int trials = 2; n == 0;) {
			if (closedByWriter)
				return -1;
			if (writer != null && !writer.isAlive() && --trials < 0)
				throw new IOException("Pipe broken");
			rest();
			if (closedByReader)
				throw new IOException("Pipe closed");
		}
		int all = 0;
		while (all < len && n > 0) {
			int k = Math.min(len - all, Math.min(n, size - from));
			System.arraycopy(ring, from, b, off + all, k);
			from = (from + k) % size;
			n -= k;
			all += k;
		}
		return all;
	}

	synchronized int available() {
		return n;
	}

	synchronized boolean ready() throws IOException {
		checkIn();
		return n > 0;
	}

	synchronized void flush() {
		notifyAll();
	}

	synchronized void closeOut() {
		closedByWriter = true;
		notifyAll();
	}

	synchronized void closeIn() {
		closedByReader = true;
		n = 0;
		notifyAll();
	}
}
