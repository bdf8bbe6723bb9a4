// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * The source of a runtime's time. Simulations replace it. Its methods are called from any
 * thread.
 */
public interface Clock {
	/** The time in nanoseconds, as System.nanoTime. */
	long nanos();

	/** The time in milliseconds, as System.currentTimeMillis. */
	long millis();

	/**
	 * Called when nothing is ready on a carrier. nanos: time until the next timer;
	 * Long.MAX_VALUE: there is none. A virtual clock jumps there and returns true; a real one
	 * returns false, and the carrier sleeps.
	 */
	boolean idle(long nanos);

	Clock REAL = new Clock() {
		@Override
		public long nanos() {
			return System.nanoTime();
		}

		@Override
		public long millis() {
			return System.currentTimeMillis();
		}

		@Override
		public boolean idle(long nanos) {
			return false;
		}
	};
}
