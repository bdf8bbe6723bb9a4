// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * invokeAll and invokeAny, for executors whose futures park. Each of the executors overrides
 * them itself, because they extend three classes of the JDK.
 */
final class Submit {
	private Submit() {}

	/** AbstractExecutorService.newTaskFor, where it is accessible. */
	private static <V> RunnableFuture<V> task(Executor x, Callable<V> c) {
		if (x instanceof PicoThreadPoolExecutor)
			return ((PicoThreadPoolExecutor) x).newTaskFor(c);
		return new PicoFutureTask<>(c);
	}

	private static <V> RunnableFuture<V> task(Executor x, Runnable r, V v) {
		if (x instanceof PicoThreadPoolExecutor)
			return ((PicoThreadPoolExecutor) x).newTaskFor(r, v);
		return new PicoFutureTask<>(r, v);
	}

	static <T> List<Future<T>> all(Executor x, Collection<? extends Callable<T>> tasks,
			long nanos) throws InterruptedException {
		long end = System.nanoTime() + nanos;
		List<Future<T>> fs = new ArrayList<>(tasks.size());
		boolean ok = false;
		try {
			for (Callable<T> c : tasks)
				fs.add(task(x, c));
			for (Future<T> f : fs)
				x.execute((Runnable) f);
			for (Future<T> f : fs)
				if (!finished(f, end, nanos))
					return cancelled(fs);
			ok = true;
			return fs;
		} finally {
			if (!ok)
				cancelled(fs);
		}
	}

	private static boolean finished(Future<?> f, long end, long nanos)
			throws InterruptedException {
		try {
			if (nanos == Long.MAX_VALUE)
				f.get();
			else
				f.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
		} catch (CancellationException | ExecutionException e) {
			return true;
		} catch (TimeoutException e) {
			return false;
		}
		return true;
	}

	private static <T> List<Future<T>> cancelled(List<Future<T>> fs) {
		for (Future<T> f : fs)
			f.cancel(true);
		return fs;
	}

	static <T> T any(Executor x, Collection<? extends Callable<T>> tasks, long nanos)
			throws InterruptedException, ExecutionException, TimeoutException {
		if (tasks.isEmpty())
			throw new IllegalArgumentException();
		long end = System.nanoTime() + nanos;
		PicoLinkedBlockingQueue<Future<T>> done = new PicoLinkedBlockingQueue<>();
		List<Future<T>> fs = new ArrayList<>();
		try {
			for (Callable<T> c : tasks) {
				fs.add(submit(x, c, done));
			}
			ExecutionException last = null;
			for (int k = 0; k < fs.size(); k++) {
				Future<T> f = nanos == Long.MAX_VALUE ? done.take()
					: done.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
				if (f == null)
					throw new TimeoutException();
				try {
					return f.get();
				} catch (ExecutionException e) {
					last = e;
				}
			}
			throw last;
		} finally {
			cancelled(fs);
		}
	}

	/** Adds the task's future to a collection when it is done. */
	static <V> Future<V> submit(Executor x, Callable<V> c, Collection<Future<V>> to) {
		return submit(x, task(x, c), to);
	}

	static <V> Future<V> submit(Executor x, Runnable r, V v, Collection<Future<V>> to) {
		return submit(x, task(x, r, v), to);
	}

	private static <V> Future<V> submit(Executor x, RunnableFuture<V> f,
			Collection<Future<V>> to) {
		x.execute(new Queueing<>(f, to));
		return f;
	}

	private static final class Queueing<V> extends PicoFutureTask<Void> {
		private final Future<V> task;
		private final Collection<Future<V>> to;

		Queueing(RunnableFuture<V> task, Collection<Future<V>> to) {
			super(task, null);
			this.task = task;
			this.to = to;
		}

		@Override
		protected void done() {
			to.add(task);
		}
	}
}
