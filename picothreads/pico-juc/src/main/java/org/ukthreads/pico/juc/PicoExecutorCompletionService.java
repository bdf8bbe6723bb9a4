// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.ukthreads.pico.Members;

/** ExecutorCompletionService. */
public class PicoExecutorCompletionService<V> extends ExecutorCompletionService<V> {
	private final Executor executor;
	private final BlockingQueue<Future<V>> done;

	public PicoExecutorCompletionService(Executor x) {
		this(x, new PicoLinkedBlockingQueue<>());
	}

	public PicoExecutorCompletionService(Executor x, BlockingQueue<Future<V>> q) {
		super(x, q);
		executor = x;
		done = q;
	}

	@Override
	public Future<V> submit(Callable<V> c) {
		return Submit.submit(executor, java.util.Objects.requireNonNull(c), done);
	}

	@Override
	public Future<V> submit(Runnable r, V v) {
		return Submit.submit(executor, java.util.Objects.requireNonNull(r), v, done);
	}

	@Override
	public Future<V> take() throws InterruptedException {
		return done.take();
	}

	@Override
	public Future<V> poll() {
		return done.poll();
	}

	@Override
	public Future<V> poll(long time, TimeUnit unit) throws InterruptedException {
		return done.poll(time, unit);
	}

	@Override
	public String toString() {
		return Members.named(this, super.toString());
	}
}
