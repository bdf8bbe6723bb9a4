// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * Where a carrier waits when nothing is ready: one per carrier, for the network.
 * poll() unparks (Fiber.unpark) the fibers whose events came, on the carrier's thread.
 */
public interface Reactor {
	/** Waits for events at most so long; 0: only looks; Long.MAX_VALUE: for ever. */
	void poll(long nanos);

	/** From any thread: a poll that waits, or the next one, returns at once. */
	void wakeup();

	/** The runtime was shut down: lets go of what it has. On the carrier's thread, once. */
	default void close() {}
}
