// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;

/**
 * Where a vault keeps its threads: a store that also knows the owner of each thread and when the
 * thread is due. One OS thread at a time calls it (see Writer).
 */
interface Shelf extends Closeable {
	/** A thread that the caller owns, because it has claimed it or others have sent to it. */
	final class Claim {
		final String id;
		/** The number of the last message to it. */
		final long sent;

		Claim(String id, long sent) {
			this.id = id;
			this.sent = sent;
		}
	}

	/** What lists and tools show of a thread. */
	final class Row {
		String id;
		/** The number of the worker that owns it; 0: none. */
		long owner;
		long due;
		long sent;
		boolean failed;
		boolean ended;
		String why;
		byte[] record;
	}

	/** Makes all changes or none, if the store supports that. */
	void make(List<Act> acts) throws IOException;

	byte[] get(String key) throws IOException;

	List<String> keys() throws IOException;

	/**
	 * Makes the caller the owner of threads that no worker owns and that are due by {@code until}.
	 * {@code failed}: also of those that have failed.
	 */
	List<Claim> claim(long until, int most, boolean failed) throws IOException;

	/** Returns the caller's threads that have messages from other workers. */
	List<Claim> told() throws IOException;

	/** Returns the caller's number as a worker. After it was fenced it gets a new one. */
	long worker();

	/** Returns true if other workers may use the same store. */
	boolean shared();

	/**
	 * Renews the lease and frees the threads of dead workers. Returns the live workers, and how
	 * many threads they have.
	 */
	Workers beat(int running) throws IOException;

	/** Returns at most {@code most} threads in the order of their ids, beginning after that id. */
	List<Row> rows(String after, int most) throws IOException;

	/** Returns null if no thread has this id. */
	Row row(String id) throws IOException;

	/** Returns true if some thread has not failed, whichever worker owns it. */
	boolean alive() throws IOException;

	/**
	 * How many workers live, how many threads are in their memories, and how many threads of dead
	 * workers this call has freed.
	 */
	final class Workers {
		int count = 1;
		long running;
		int freed;
	}
}
