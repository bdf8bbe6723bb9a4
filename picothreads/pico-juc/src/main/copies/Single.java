// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Executors.newSingleThreadExecutor: a pool of one thread that a program cannot cast and make
 * larger. The JDK's own wrapper would leave a JDK frame below each call.
 */
class Single<P extends ExecutorService> implements ExecutorService {
	final P pool;

	Single(P pool) {
		this.pool = pool;
	}

	// each: @Override public T m(..) { return pool.m(..); }
	void execute(Runnable r); void shutdown(); List<Runnable> shutdownNow();
	boolean isShutdown(); boolean isTerminated();
	boolean awaitTermination(long time, TimeUnit unit) throws InterruptedException;
	Future<?> submit(Runnable r); <T> Future<T> submit(Callable<T> c);
	<T> Future<T> submit(Runnable r, T v);
	<T> List<Future<T>> invokeAll(Collection<? extends Callable<T>> tasks)
		throws InterruptedException;
	<T> List<Future<T>> invokeAll(Collection<? extends Callable<T>> tasks, long time,
		TimeUnit unit) throws InterruptedException;
	<T> T invokeAny(Collection<? extends Callable<T>> tasks)
		throws InterruptedException, ExecutionException;
	<T> T invokeAny(Collection<? extends Callable<T>> tasks, long time, TimeUnit unit)
		throws InterruptedException, ExecutionException, TimeoutException;

	/** ExecutorService.close, of Java 19. */
	public void close() {
		Futures.close(pool);
	}

	/** Of newSingleThreadScheduledExecutor. */
	static final class Scheduled extends Single<ScheduledExecutorService>
			implements ScheduledExecutorService {
		Scheduled(ScheduledExecutorService pool) {
			super(pool);
		}

		// each: @Override public T m(..) { return pool.m(..); }
		ScheduledFuture<?> schedule(Runnable r, long delay, TimeUnit unit);
		<V> ScheduledFuture<V> schedule(Callable<V> c, long delay, TimeUnit unit);
		ScheduledFuture<?> scheduleAtFixedRate(Runnable r, long first, long period,
			TimeUnit unit);
		ScheduledFuture<?> scheduleWithFixedDelay(Runnable r, long first, long delay,
			TimeUnit unit);
	}
}
