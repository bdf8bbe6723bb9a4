// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.work;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/** A task that parks below `depth` calls. The caller decides what kind of thread runs it. */
public final class Parked implements Runnable {
	static final AtomicInteger DOWN = new AtomicInteger();
	static final AtomicInteger UP = new AtomicInteger();
	private static volatile boolean go;
	private final int depth;

	private Parked(int depth) {
		this.depth = depth;
	}

	@Override
	public void run() {
		rec(depth, 1, null);
		UP.incrementAndGet();
	}

	private static int rec(int d, long a, Object o) {
		if (d == 0) {
			DOWN.incrementAndGet();
			while (!go)
				LockSupport.park();
			return 1;
		}
		long x = a * 31 + d;
		int r = rec(d - 1, x, o);
		return r + (int) x + (o == null ? d : 1);
	}

	public static Runnable task(int depth) {
		return new Parked(depth);
	}

	public static void start(ThreadFactory factory, int depth, Object[] to) {
		for (int k = 0; k < to.length; k++) {
			Thread t = factory != null ? factory.newThread(new Parked(depth))
				: new Thread(new Parked(depth));
			to[k] = t;
			t.start();
		}
	}

	public static int down() {
		return DOWN.get();
	}

	public static int up() {
		return UP.get();
	}

	public static void reset() {
		DOWN.set(0);
		UP.set(0);
		go = false;
	}

	public static void release(Object[] threads, Consumer<Object> unpark) {
		go = true;
		for (Object t : threads)
			if (unpark != null)
				unpark.accept(t);
			else
				LockSupport.unpark((Thread) t);
	}
}
