// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A thread for each task, for newVirtualThreadPerTaskExecutor and its like. */
final class PerTaskExecutor extends AbstractExecutorService implements AutoCloseable {
	private final Gate gate = new Gate(this);
	private final ThreadFactory factory;
	/* Under the gate's guard. */
	private final Set<Thread> threads = new HashSet<>();
	private boolean shut;

	PerTaskExecutor(ThreadFactory factory) {
		this.factory = java.util.Objects.requireNonNull(factory);
	}

	private static final class Ended extends Gate.Node {
		private final PerTaskExecutor x;

		Ended(PerTaskExecutor x) {
			super(0);
			this.x = x;
		}

		@Override
		boolean attempt() {
			return x.shut && x.threads.isEmpty();
		}
	}

	static final class Task implements Runnable {
		private final PerTaskExecutor x;
		private final Runnable task;
		private Thread thread;

		Task(PerTaskExecutor x, Runnable task) {
			this.x = x;
			this.task = task;
		}

		@Override
		public void run() {
			try {
				task.run();
			} finally {
				x.ended(thread);
			}
		}

		/** Ends it without a run. */
		void drop() {
			if (task instanceof Future)
				((Future<?>) task).cancel(false);
			x.ended(thread);
		}
	}

	private void ended(Thread t) {
		synchronized (gate) {
			threads.remove(t);
			gate.serve();
		}
	}

	private void begun(Thread t) {
		synchronized (gate) {
			if (shut)
				throw new RejectedExecutionException("the executor is shut down");
			threads.add(t);
		}
	}

	@Override
	public void execute(Runnable r) {
		Task k = new Task(this, java.util.Objects.requireNonNull(r));
		Thread t = factory.newThread(k);
		if (t == null)
			throw new RejectedExecutionException("the thread factory returned null");
		k.thread = t;
		begun(t);
		boolean ok = false;
		try {
			t.start();
			ok = true;
		} finally {
			if (!ok)
				ended(t);
		}
	}

	// = PicoThreadPoolExecutor: submitting

	// = PicoThreadPoolExecutor: invoking

	@Override
	public void shutdown() {
		synchronized (gate) {
			shut = true;
			gate.serve();
		}
	}

	@Override
	public List<Runnable> shutdownNow() {
		List<Thread> ts;
		synchronized (gate) {
			shut = true;
			ts = new ArrayList<>(threads);
			gate.serve();
		}
		if (factory instanceof Stealer.Turns)
			((Stealer.Turns) factory).close();
		for (Thread t : ts)
			t.interrupt();
		return new ArrayList<>();
	}

	@Override
	public boolean isShutdown() {
		synchronized (gate) {
			return shut;
		}
	}

	@Override
	public boolean isTerminated() {
		synchronized (gate) {
			return shut && threads.isEmpty();
		}
	}

	// = PicoThreadPoolExecutor: waiting for the end; new Over > new Ended
}
