// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Function;

/*
 * Work on many classes by several threads; the result does not depend on how many there are:
 *
 *   workers   make(item): changes only what belongs to the item, and otherwise reads
 *   caller    take(item, result): one after the other, in the items' order
 *
 * What a worker would write for all (the report, the classes to be made public) is in its
 * result, and the caller writes it. Only caches are shared: any thread would fill them with the
 * same values. Workers are at most a few items ahead, so that results do not fill the heap. Even
 * a single worker is a thread of its own, so that its stack has the same size everywhere.
 */
public final class Workers {
	/** Items that each worker may be ahead of the caller. */
	private static final int AHEAD = 16;

	private Workers() {}

	/**
	 * Calls make for each item on the workers, and take with each result. An exception of make is
	 * thrown when it is that item's turn. When this returns or throws, no worker runs any more.
	 */
	public static <T, R> void inOrder(int threads, Iterable<T> items, Function<T, R> make,
			BiConsumer<T, R> take) {
		ExecutorService pool = Executors.newFixedThreadPool(threads, r -> {
			Thread t = new Thread(r, "pico-translate");
			t.setDaemon(true);
			return t;
		});
		try {
			Queue<Future<R>> ahead = new ArrayDeque<>();
			Iterator<T> next = items.iterator();
			for (T item : items) {
				while (ahead.size() < threads * AHEAD && next.hasNext()) {
					T n = next.next();
					ahead.add(pool.submit(() -> make.apply(n)));
				}
				take.accept(item, get(ahead.remove()));
			}
		} finally {
			end(pool);
		}
	}

	private static <R> R get(Future<R> f) {
		try {
			return f.get();
		} catch (ExecutionException e) {
			if (e.getCause() instanceof Error)
				throw (Error) e.getCause();
			throw (RuntimeException) e.getCause();
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("interrupted", e);
		}
	}

	/** Waits for the workers, because the caller may change next what they use. */
	private static void end(ExecutorService pool) {
		pool.shutdownNow();
		boolean interrupted = false;
		while (true)
			try {
				if (pool.awaitTermination(1, TimeUnit.HOURS))
					break;
			} catch (InterruptedException e) {
				interrupted = true;
			}
		if (interrupted)
			Thread.currentThread().interrupt();
	}
}
