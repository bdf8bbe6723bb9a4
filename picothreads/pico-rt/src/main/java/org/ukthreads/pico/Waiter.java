// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/** The record of an open wait: lets the thread that ends the wait undo the rest. */
abstract class Waiter {
	/** Called when the wait is over by other means: leaves the queue or the heap. */
	void cancel() {}

	/**
	 * Called when the fiber could not stop and goes on with an exception, as if it had never
	 * waited. True: the fiber is woken all the same, when it has again what it gave up.
	 */
	boolean abandon() {
		cancel();
		return false;
	}

	/** Called when an interrupt has claimed a wait in Object.wait(). */
	void aborted() {
		throw new AssertionError();
	}
}
