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

	@Override
	public void execute(Runnable r) {
		pool.execute(r);
	}

	@Override
	public void shutdown() {
		pool.shutdown();
	}

	@Override
	public List<Runnable> shutdownNow() {
		return pool.shutdownNow();
	}

	@Override
	public boolean isShutdown() {
		return pool.isShutdown();
	}

	@Override
	public boolean isTerminated() {
		return pool.isTerminated();
	}

	@Override
	public boolean awaitTermination(long time, TimeUnit unit) throws InterruptedException {
		return pool.awaitTermination(time, unit);
	}

	/** ExecutorService.close, of Java 19. */
	public void close() {
		Futures.close(pool);
	}

	@Override
	public Future<?> submit(Runnable r) {
		return pool.submit(r);
	}

	@Override
	public <T> Future<T> submit(Callable<T> c) {
		return pool.submit(c);
	}

	@Override
	public <T> Future<T> submit(Runnable r, T v) {
		return pool.submit(r, v);
	}

	@Override
	public <T> List<Future<T>> invokeAll(Collection<? extends Callable<T>> tasks)
			throws InterruptedException {
		return pool.invokeAll(tasks);
	}

	@Override
	public <T> List<Future<T>> invokeAll(Collection<? extends Callable<T>> tasks, long time,
			TimeUnit unit) throws InterruptedException {
		return pool.invokeAll(tasks, time, unit);
	}

	@Override
	public <T> T invokeAny(Collection<? extends Callable<T>> tasks)
			throws InterruptedException, ExecutionException {
		return pool.invokeAny(tasks);
	}

	@Override
	public <T> T invokeAny(Collection<? extends Callable<T>> tasks, long time, TimeUnit unit)
			throws InterruptedException, ExecutionException, TimeoutException {
		return pool.invokeAny(tasks, time, unit);
	}

	/** Of newSingleThreadScheduledExecutor. */
	static final class Scheduled extends Single<ScheduledExecutorService>
			implements ScheduledExecutorService {
		Scheduled(ScheduledExecutorService pool) {
			super(pool);
		}

		@Override
		public ScheduledFuture<?> schedule(Runnable r, long delay, TimeUnit unit) {
			return pool.schedule(r, delay, unit);
		}

		@Override
		public <V> ScheduledFuture<V> schedule(Callable<V> c, long delay, TimeUnit unit) {
			return pool.schedule(c, delay, unit);
		}

		@Override
		public ScheduledFuture<?> scheduleAtFixedRate(Runnable r, long first, long period,
				TimeUnit unit) {
			return pool.scheduleAtFixedRate(r, first, period, unit);
		}

		@Override
		public ScheduledFuture<?> scheduleWithFixedDelay(Runnable r, long first, long delay,
				TimeUnit unit) {
			return pool.scheduleWithFixedDelay(r, first, delay, unit);
		}
	}
}
