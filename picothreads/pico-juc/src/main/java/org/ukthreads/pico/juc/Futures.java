package org.ukthreads.pico.juc;

import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ukthreads.pico.Blocking;
import org.ukthreads.pico.Fiber;

/**
 * What Future.get and its kin become at the call site. Ours and the program's are called
 * as they are; the JDK's would block the carrier: a CompletableFuture unparks us when it
 * is done, anything else is waited for by a helper thread.
 */
public final class Futures {
	private Futures() {}

	private static boolean plain(Future<?> f) {
		return f.isDone() || !Fiber.isFiber() || f instanceof PicoFutureTask
			|| f.getClass().getClassLoader() != null && !(f instanceof CompletableFuture)
			&& !(f instanceof ForkJoinTask) && f.getClass() != FutureTask.class;
	}

	public static <V> V get(Future<V> f) throws InterruptedException, ExecutionException {
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
		if (plain(f))
			return f.get(time, unit);
		if (f instanceof CompletableFuture) {
			if (!done((CompletableFuture<V>) f, unit.toNanos(time)))
				throw new TimeoutException();
			return f.get();
		}
		return helped(() -> f.get(time, unit));
	}

	@SuppressWarnings("unchecked")
	private static <V> V helped(Callable<V> c) throws InterruptedException, ExecutionException {
		try {
			return (V) Blocking.call(c);
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
		f.whenComplete((v, e) -> me.unpark());
		long end = nanos == Long.MAX_VALUE ? 0 : System.nanoTime() + nanos;
		while (!f.isDone()) {
			if (Thread.interrupted())
				throw new InterruptedException();
			long left = end == 0 ? Long.MAX_VALUE / 4 : end - System.nanoTime();
			if (left <= 0)
				return false;
			Fiber.parkNanos(left);
		}
		return true;
	}

	/* ForkJoinTask: its pool's threads are the JVM's. */

	public static <V> V join(ForkJoinTask<V> t) {
		return quietly(t, t::join);
	}

	public static <V> V invoke(ForkJoinTask<V> t) {
		return quietly(t, t::invoke);
	}

	private static <V> V quietly(ForkJoinTask<V> t, Callable<V> c) {
		try {
			return Fiber.isFiber() ? helped(c) : c.call();
		} catch (RuntimeException e) {
			throw e;
		} catch (Exception e) {
			if (t.isCancelled())
				throw new CancellationException();
			throw new CompletionException(e);
		}
	}
}
