// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;

/**
 * Where a vault has its threads: a store, and whose each thread is and when it is due. One
 * thread at a time calls it (see Writer).
 */
interface Shelf extends Closeable {
	/** A thread that is the caller's now, or has mail. */
	final class Claim {
		final String id;
		/** Its messages are numbered up to this. */
		final long sent;

		Claim(String id, long sent) {
			this.id = id;
			this.sent = sent;
		}
	}

	/** A line about a thread, for people. */
	final class Row {
		String id;
		/** 0: nobody's. */
		long owner;
		long due;
		long sent;
		boolean failed;
		String why;
		byte[] record;
	}

	/** All or nothing, where the store can. */
	void make(List<Act> acts) throws IOException;

	byte[] get(String key) throws IOException;

	List<String> keys() throws IOException;

	/** Nobody's threads that are due then: the caller's from here on. */
	List<Claim> claim(long until, int most, boolean failed) throws IOException;

	/** The caller's threads that others have sent to. */
	List<Claim> told() throws IOException;

	/** Who the caller is: another number after each time that it was fenced. */
	long worker();

	/** Do others share it? */
	boolean shared();

	/** Renews the lease and frees what the dead had; who lives, and their threads. */
	Workers beat(int running) throws IOException;

	/** All threads, in the order of their ids, after that one. */
	List<Row> rows(String after, int most) throws IOException;

	/** Null: there is none of that id. */
	Row row(String id) throws IOException;

	/** Is there a thread that has not failed, whoever has it? */
	boolean alive() throws IOException;

	/** Worker and lease. */
	final class Workers {
		int count = 1;
		long running;
		int freed;
	}
}
