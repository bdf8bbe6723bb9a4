// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.jmh;

/**
 * <code>Minima WORK SYSTEM SECONDS</code>: measures the shortest of many short batches of
 * Overhead's work, in one JVM. On a machine with other load, the shortest batch is the least
 * disturbed one; a mean or a median shows the other load.
 */
public final class Minima {
	private static final int BATCH = 4;

	private Minima() {}

	public static void main(String[] a) throws Exception {
		Overhead o = new Overhead();
		o.work = a[0];
		o.system = a[1];
		o.make();
		long end = System.nanoTime() + Long.parseLong(a[2]) * 1_000_000_000L;
		long best = Long.MAX_VALUE;
		int n = 0;
		for (long t = System.nanoTime(); t < end; n++) {
			o.batch(BATCH);
			long now = System.nanoTime();
			best = Math.min(best, now - t);
			t = now;
		}
		System.out.println("batches " + n);
		System.out.println("result us " + best / 1000.0 / BATCH);
		System.exit(0);
	}
}
