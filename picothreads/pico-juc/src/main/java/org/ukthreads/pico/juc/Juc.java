// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.ukthreads.pico.Blocking;
import org.ukthreads.pico.PicoThread;

/** Calls of methods of Executors, TimeUnit and Process become these. */
public final class Juc {
	private Juc() {}

	private static final class Factory implements ThreadFactory {
		private static final AtomicInteger POOLS = new AtomicInteger(1);
		private final AtomicInteger threads = new AtomicInteger(1);
		private final ThreadGroup group = Thread.currentThread().getThreadGroup();
		private final String prefix = "pool-" + POOLS.getAndIncrement() + "-thread-";

		@Override
		public Thread newThread(Runnable r) {
			Thread t = new PicoThread(group, r, prefix + threads.getAndIncrement());
			if (t.isDaemon())
				t.setDaemon(false);
			t.setPriority(Thread.NORM_PRIORITY);
			return t;
		}
	}

	/** Executors.callable: the JDK's would leave a JDK frame below the task. */
	private static final class Adapter<T> implements Callable<T> {
		private final Runnable task;
		private final T result;

		Adapter(Runnable task, T result) {
			this.task = java.util.Objects.requireNonNull(task);
			this.result = result;
		}

		@Override
		public T call() {
			task.run();
			return result;
		}

		@Override
		public String toString() {
			return "java.util.concurrent.Executors$RunnableAdapter@"
				+ Integer.toHexString(hashCode()) + "[Wrapped task = " + task + "]";
		}
	}

	public static <T> Callable<T> callable(Runnable task, T result) {
		return new Adapter<>(task, result);
	}

	public static Callable<Object> callable(Runnable task) {
		return new Adapter<>(task, null);
	}

	public static ThreadFactory defaultThreadFactory() {
		return new Factory();
	}

	/**
	 * Its threads have the caller's class loader, but not its access-control context:
	 * doPrivileged would leave a JDK frame below every task.
	 */
	public static ThreadFactory privilegedThreadFactory() {
		ClassLoader l = Thread.currentThread().getContextClassLoader();
		ThreadFactory f = new Factory();
		return r -> {
			Thread t = f.newThread(r);
			t.setContextClassLoader(l);
			return t;
		};
	}

	public static ExecutorService newFixedThreadPool(int n) {
		return newFixedThreadPool(n, defaultThreadFactory());
	}

	public static ExecutorService newFixedThreadPool(int n, ThreadFactory f) {
		return new PicoThreadPoolExecutor(n, n, 0, TimeUnit.MILLISECONDS,
			new PicoLinkedBlockingQueue<>(), f);
	}

	public static ExecutorService newSingleThreadExecutor() {
		return new Single<>(newFixedThreadPool(1));
	}

	public static ExecutorService newSingleThreadExecutor(ThreadFactory f) {
		return new Single<>(newFixedThreadPool(1, f));
	}

	public static ExecutorService newCachedThreadPool() {
		return newCachedThreadPool(defaultThreadFactory());
	}

	public static ExecutorService newCachedThreadPool(ThreadFactory f) {
		return new PicoThreadPoolExecutor(0, Integer.MAX_VALUE, 60, TimeUnit.SECONDS,
			new PicoSynchronousQueue<>(), f);
	}

	public static ExecutorService newWorkStealingPool() {
		return newWorkStealingPool(Runtime.getRuntime().availableProcessors());
	}

	public static ExecutorService newWorkStealingPool(int parallelism) {
		return newThreadPerTaskExecutor(new Stealer.Turns(parallelism));
	}

	public static ScheduledExecutorService newScheduledThreadPool(int n) {
		return new PicoScheduledThreadPoolExecutor(n);
	}

	public static ScheduledExecutorService newScheduledThreadPool(int n, ThreadFactory f) {
		return new PicoScheduledThreadPoolExecutor(n, f);
	}

	public static ScheduledExecutorService newSingleThreadScheduledExecutor() {
		return new Single.Scheduled(new PicoScheduledThreadPoolExecutor(1));
	}

	public static ScheduledExecutorService newSingleThreadScheduledExecutor(ThreadFactory f) {
		return new Single.Scheduled(new PicoScheduledThreadPoolExecutor(1, f));
	}

	/** A pico thread for each task. */
	public static ExecutorService newVirtualThreadPerTaskExecutor() {
		return newThreadPerTaskExecutor(r -> {
			Thread t = new PicoThread(null, r, "");
			t.setDaemon(true);
			return t;
		});
	}

	public static ExecutorService newThreadPerTaskExecutor(ThreadFactory f) {
		return new PerTaskExecutor(f);
	}

	/** TimeUnit.sleep. */
	public static void sleep(TimeUnit u, long time) throws InterruptedException {
		if (time > 0) {
			long ns = u.toNanos(time);
			Thread.sleep(ns / 1_000_000, (int) (ns % 1_000_000));
		}
	}

	public static void timedJoin(TimeUnit u, Thread t, long time) throws InterruptedException {
		if (time > 0) {
			long ns = u.toNanos(time);
			t.join(ns / 1_000_000, (int) (ns % 1_000_000));
		}
	}

	/** Process.waitFor. */
	public static int waitFor(Process p) throws InterruptedException {
		return (Integer) helped(p::waitFor);
	}

	public static boolean waitFor(Process p, long time, TimeUnit unit)
			throws InterruptedException {
		return (Boolean) helped(() -> p.waitFor(time, unit));
	}

	private static Object helped(Callable<?> c) throws InterruptedException {
		try {
			return Blocking.interruptibly(c);
		} catch (InterruptedException | RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}
}
