// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * Where a carrier waits when nothing is ready. There is one per carrier, for the network.
 * poll() unparks (Fiber.unpark) the fibers whose events came, on the carrier's thread.
 */
public interface Reactor {
	/**
	 * Waits for events, at most that many nanoseconds; 0: only looks; Long.MAX_VALUE: no
	 * timeout.
	 */
	void poll(long nanos);

	/** Makes a poll that waits, or else the next one, return at once. From any thread. */
	void wakeup();

	/**
	 * Frees what it holds. Called once, when the runtime was shut down, on the carrier's thread
	 * if it has one.
	 */
	default void close() {}
}
