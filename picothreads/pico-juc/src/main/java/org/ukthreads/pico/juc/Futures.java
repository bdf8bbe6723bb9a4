// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ukthreads.pico.Blocking;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Pico;

/**
 * Calls of Future.get and its like become these. Our futures and the program's are called
 * directly. The JDK's would block the carrier: a CompletableFuture unparks the caller when it
 * is done, a helper thread waits for others. @Pico: futures of the program.
 */
@Pico
public final class Futures {
	private Futures() {}

	private static boolean plain(Future<?> f) {
		return f.isDone() || !Fiber.isFiber() || f instanceof PicoFutureTask
			|| f.getClass().getClassLoader() != null && !(f instanceof CompletableFuture)
			&& !(f instanceof ForkJoinTask) && f.getClass() != FutureTask.class;
	}

	public static <V> V get(Future<V> f) throws InterruptedException, ExecutionException {
		Stealer s = Stealer.current();
		if (s != null && !f.isDone())
			return without(s, () -> get(f));
		if (plain(f))
			return f.get();
		if (f instanceof CompletableFuture) {
			done((CompletableFuture<V>) f, Long.MAX_VALUE);
			return f.get();
		}
		return helped(f::get);
	}

	public static <V> V get(Future<V> f, long time, TimeUnit unit)
			throws InterruptedException, ExecutionException, TimeoutException {
		Stealer s = Stealer.current();
		if (s != null && !f.isDone())
			return without(s, () -> get(f, time, unit));
		if (plain(f))
			return f.get(time, unit);
		if (f instanceof CompletableFuture) {
			if (!done((CompletableFuture<V>) f, unit.toNanos(time)))
				throw new TimeoutException();
			return f.get();
		}
		return helped(() -> f.get(time, unit));
	}

	/** Outside a pool the JDK, too, only calls the blocker, which may suspend here. */
	public static void managedBlock(ForkJoinPool.ManagedBlocker b) throws InterruptedException {
		if (Thread.currentThread() instanceof ForkJoinWorkerThread) {
			ForkJoinPool.managedBlock(b);
			return;
		}
		while (!b.isReleasable() && !b.block())
			continue;
	}

	/** Other tasks of a work-stealing pool run while one of them waits. */
	private static <V> V without(Stealer s, Callable<V> wait) {
		try {
			return s.without(wait);
		} catch (Exception e) {
			throw Futures.<RuntimeException>sneak(e);
		}
	}

	@SuppressWarnings("unchecked")
	private static <V> V helped(Callable<V> c) throws InterruptedException, ExecutionException {
		try {
			return (V) Blocking.interruptibly(c);
		} catch (InterruptedException | ExecutionException | RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw Futures.<RuntimeException>sneak(e);
		}
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> T sneak(Throwable e) throws T {
		throw (T) e;
	}

	/** CompletableFuture.join. */
	public static <V> V join(CompletableFuture<V> f) {
		Stealer s = Stealer.current();
		if (s != null && !f.isDone())
			return without(s, () -> join(f));
		boolean interrupted = false;
		while (!f.isDone() && Fiber.isFiber()) {
			try {
				done(f, Long.MAX_VALUE);
			} catch (InterruptedException e) {
				interrupted = true;
			}
		}
		if (interrupted)
			Thread.currentThread().interrupt();
		return f.join();
	}

	private static <V> boolean done(CompletableFuture<V> f, long nanos)
			throws InterruptedException {
		Fiber me = Fiber.current();
		CompletableFuture<V> told = f.whenComplete((v, e) -> me.unpark());
		long end = System.nanoTime() + Math.max(0, nanos);
		try {
			while (!f.isDone()) {
				if (Thread.interrupted())
					throw new InterruptedException();
				long left = end - System.nanoTime();
				if (left <= 0)
					return false;
				if (nanos == Long.MAX_VALUE)
					Fiber.park();
				else
					Fiber.parkNanos(left);
			}
			return true;
		} finally {
			/* A dependent that is done stays at f only until the next sweep. */
			if (!f.isDone())
				told.cancel(false);
		}
	}

	/* ForkJoinTask: the threads of its pool are the JVM's. */

	public static <V> V join(ForkJoinTask<V> t) {
		return quietly(t, t::join);
	}

	public static <V> V invoke(ForkJoinTask<V> t) {
		return quietly(t, t::invoke);
	}

	public static <V> V invoke(ForkJoinPool p, ForkJoinTask<V> t) {
		return quietly(t, () -> p.invoke(t));
	}

	public static boolean awaitQuiescence(ForkJoinPool p, long time, TimeUnit unit) {
		if (!Fiber.isFiber())
			return p.awaitQuiescence(time, unit);
		try {
			return Futures.<Boolean>helped(() -> p.awaitQuiescence(time, unit));
		} catch (InterruptedException | ExecutionException e) {
			throw new IllegalStateException(e);
		}
	}

	/* Executors of the JDK (ForkJoinPool): a helper waits for them. */

	private static boolean plain(ExecutorService x) {
		return !Fiber.isFiber() || x.getClass().getClassLoader() != null;
	}

	public static boolean awaitTermination(ExecutorService x, long time, TimeUnit unit)
			throws InterruptedException {
		if (plain(x))
			return x.awaitTermination(time, unit);
		try {
			return Futures.<Boolean>helped(() -> x.awaitTermination(time, unit));
		} catch (ExecutionException e) {
			throw new IllegalStateException(e);
		}
	}

	/** The tasks become ours: their get() parks, the pool runs them. */
	public static <V> List<Future<V>> invokeAll(ExecutorService x,
			Collection<? extends Callable<V>> tasks) throws InterruptedException {
		return plain(x) ? x.invokeAll(tasks) : Submit.all(x, tasks, Long.MAX_VALUE);
	}

	public static <V> List<Future<V>> invokeAll(ExecutorService x,
			Collection<? extends Callable<V>> tasks, long time, TimeUnit unit)
			throws InterruptedException {
		return plain(x) ? x.invokeAll(tasks, time, unit)
			: Submit.all(x, tasks, unit.toNanos(time));
	}

	public static <V> V invokeAny(ExecutorService x, Collection<? extends Callable<V>> tasks)
			throws InterruptedException, ExecutionException {
		Stealer s = Stealer.current();
		if (s != null)
			return without(s, () -> invokeAny(x, tasks));
		try {
			return plain(x) ? x.invokeAny(tasks) : Submit.any(x, tasks, Long.MAX_VALUE);
		} catch (TimeoutException e) {
			throw new IllegalStateException(e);
		}
	}

	public static <V> V invokeAny(ExecutorService x, Collection<? extends Callable<V>> tasks,
			long time, TimeUnit unit)
			throws InterruptedException, ExecutionException, TimeoutException {
		Stealer s = Stealer.current();
		if (s != null)
			return without(s, () -> invokeAny(x, tasks, time, unit));
		return plain(x) ? x.invokeAny(tasks, time, unit)
			: Submit.any(x, tasks, unit.toNanos(time));
	}

	/** ExecutorService.close, of Java 19: an interrupt calls shutdownNow(). */
	public static void close(ExecutorService x) {
		if (plain(x)) {
			try {
				((AutoCloseable) x).close();
			} catch (Exception e) {
				throw Futures.<RuntimeException>sneak(e);
			}
			return;
		}
		if (x == ForkJoinPool.commonPool())
			return;
		boolean interrupted = false;
		x.shutdown();
		for (;;) {
			try {
				if (awaitTermination(x, 1, TimeUnit.DAYS))
					break;
			} catch (InterruptedException e) {
				if (!interrupted)
					x.shutdownNow();
				interrupted = true;
			}
		}
		if (interrupted)
			Thread.currentThread().interrupt();
	}

	/** A done task throws its own exception; a helper would get a copy with a cause. */
	private static <V> V quietly(ForkJoinTask<V> t, Callable<V> c) {
		try {
			return Fiber.isFiber() && !t.isDone() ? helped(c) : c.call();
		} catch (RuntimeException e) {
			throw e;
		} catch (Exception e) {
			if (t.isCancelled())
				throw new CancellationException();
			throw new CompletionException(e);
		}
	}
}
