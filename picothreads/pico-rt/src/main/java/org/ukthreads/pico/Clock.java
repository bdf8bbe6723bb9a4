// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/** Where time comes from. Replaced by simulations. */
public interface Clock {
	/** As System.nanoTime. */
	long nanos();

	/** As System.currentTimeMillis. */
	long millis();

	/**
	 * Nothing is runnable on a carrier and the next timer is so many nanoseconds away
	 * (Long.MAX_VALUE: there is none). A virtual clock jumps there and returns true; a
	 * real one returns false, and the carrier sleeps.
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
