// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/** What an open wait hangs on: lets the one who ends it undo the rest. */
abstract class Waiter {
	/** The wait is over by other means: leave the queue or the heap. */
	void cancel() {}

	/**
	 * The fiber could not stop and goes on with an exception: as if it never waited. True: it
	 * is woken all the same, when it has again what it gave up.
	 */
	boolean abandon() {
		cancel();
		return false;
	}

	/** The wait of a fiber in Object.wait was claimed by an interrupt. */
	void aborted() {
		throw new AssertionError();
	}
}
