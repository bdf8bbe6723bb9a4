// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.work;

import java.util.concurrent.ThreadFactory;

/**
 * Plain blocking Java. Untranslated, it runs on platform and virtual threads; translated, on
 * pico threads. One thread yields n times below `depth` calls: at the leaf (repeat), or once
 * per way down and back up.
 */
public final class Threads implements Runnable {
	private final int depth;
	private final boolean repeat;
	private int left;
	private int sum;

	private Threads(int depth, int n, boolean repeat) {
		this.depth = depth;
		this.repeat = repeat;
		left = n;
	}

	@Override
	public void run() {
		while (left > 0)
			sum += rec(depth, 1, null);
	}

	private int rec(int d, long a, Object o) {
		if (d == 0) {
			do {
				Thread.yield();
				left--;
			} while (repeat && left > 0);
			return 1;
		}
		long x = a * 31 + d;
		int r = rec(d - 1, x, o);
		return r + (int) x + (o == null ? d : 1);
	}

	/** Runs it. factory null: new Thread. */
	public static int run(ThreadFactory factory, int depth, int n, boolean repeat)
			throws InterruptedException {
		Threads r = new Threads(depth, n, repeat);
		Thread t = factory != null ? factory.newThread(r) : new Thread(r);
		t.start();
		t.join();
		return r.sum;
	}
}
