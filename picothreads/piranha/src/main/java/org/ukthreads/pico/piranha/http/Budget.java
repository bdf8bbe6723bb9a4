/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.http;

import java.util.ArrayDeque;

/*
 * Memory for large bodies, all together, from their first byte until their page is done. There is
 * a pool for each size that a body may grow to:
 *
 *   up to 64 KB   no permit needed     up to 256 KB   the first pool
 *   up to 2 MB    the second           more           the third
 *
 * A body that outgrows its size waits for a permit of the next pool and keeps those that it has.
 * No holder of a permit waits for an earlier pool, so there is no deadlock. Each pool serves in
 * order of arrival, so the largest bodies do not starve. Any thread may call.
 */
public final class Budget {
	/** A body of up to this many bytes, raw and decoded, needs no permit. */
	static final int SMALL = 64 << 10;
	private static final int[] SIZES = {256 << 10, 2 << 20, Integer.MAX_VALUE};
	/** The copies of a body: raw, as it grows, decoded, as text, and as a document. */
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

	/** The permits of one body. Only its owner's thread uses it. */
	final class Leave {
		private final int most;
		private final long[] held = new long[SIZES.length];
		private int level;

		/** most: the largest number of bytes that the body may have. */
		Leave(int most) {
			this.most = most;
		}

		/** Waits for permits for a body of this size. Returns the nanoseconds that it waited. */
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

	/** total: the bytes of all pools together. */
	public Budget(long total) {
		for (int k = 0; k < pools.length; k++) {
			pools[k] = new Pool(total / pools.length);
		}
	}

	/** Half of the heap. The rest is for pages of the usual size, and for the frontier. */
	public static Budget ofHeap() {
		return new Budget(Runtime.getRuntime().maxMemory() / 2);
	}
}
