/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.http;

import java.util.ArrayDeque;

/*
 * Bytes of memory that large bodies may take, all together, from their first byte to the end of
 * their page. Pools, one for each size that a body may grow to:
 *
 *   up to 64 KB   nobody asks        up to 256 KB   the first pool
 *   up to 2 MB    the second         more           the third
 *
 * A body that outgrows its size waits for leave of the next pool and keeps what it has. Nobody
 * who has leave of a pool waits for one before it, so there is no dead-lock; first come, first
 * served, so the largest is not starved. Any thread.
 */
public final class Budget {
	/** A body of so many bytes, raw and decoded, needs no leave. */
	static final int SMALL = 64 << 10;
	private static final int[] SIZES = {256 << 10, 2 << 20, Integer.MAX_VALUE};
	/** Raw, as it grows, decoded, as text, and as a document. */
	private static final int COPIES = 10;

	private static final class Claim {
		private final long bytes;
		private boolean granted;        /* guarded by the pool */

		Claim(long bytes) {
			this.bytes = bytes;
		}
	}

	private static final class Pool {
		private final long total;
		private long free;
		private final ArrayDeque<Claim> waiting = new ArrayDeque<>();

		Pool(long total) {
			this.total = total;
			free = total;
		}

		synchronized long take(long bytes) throws InterruptedException {
			Claim claim = new Claim(Math.min(total, bytes));
			waiting.add(claim);
			grant();
			try {
				while (!claim.granted) {
					wait();
				}
			} catch (InterruptedException e) {
				if (claim.granted) {
					give(claim.bytes);
				} else {
					waiting.remove(claim);
					grant();
				}
				throw e;
			}
			return claim.bytes;
		}

		synchronized void give(long bytes) {
			free += bytes;
			grant();
		}

		private void grant() {
			boolean any = false;
			while (!waiting.isEmpty() && waiting.peek().bytes <= free) {
				Claim claim = waiting.remove();
				free -= claim.bytes;
				claim.granted = true;
				any = true;
			}
			if (any) {
				notifyAll();
			}
		}
	}

	/** What one body has; its owner's alone. */
	final class Leave {
		private final int most;
		private final long[] held = new long[SIZES.length];
		private int level;

		/** most: bytes that a body may have. */
		Leave(int most) {
			this.most = most;
		}

		/** Waits for leave to have so many bytes; nanoseconds that it took. */
		long grow(long size) throws InterruptedException {
			if (size <= limit()) {
				return 0;
			}
			long start = System.nanoTime();
			while (size > limit()) {
				held[level] = pools[level].take((long) COPIES * Math.min(SIZES[level], most));
				level++;
			}
			return System.nanoTime() - start;
		}

		private long limit() {
			return level == 0 ? SMALL : SIZES[level - 1];
		}

		void close() {
			for (int k = 0; k < held.length; k++) {
				if (held[k] > 0) {
					pools[k].give(held[k]);
					held[k] = 0;
				}
			}
		}
	}

	private final Pool[] pools = new Pool[SIZES.length];

	/** So many bytes in all. */
	public Budget(long total) {
		for (int k = 0; k < pools.length; k++) {
			pools[k] = new Pool(total / pools.length);
		}
	}

	/** Half of the heap: the rest is for pages of the usual size, and for the frontier. */
	public static Budget ofHeap() {
		return new Budget(Runtime.getRuntime().maxMemory() / 2);
	}
}
