// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;
import org.ukthreads.pico.PicoThread;

/*
 * The threads of newWorkStealingPool(n): one for each task, of which n have a turn to run. A
 * worker of the JDK's pool that waits for a future makes other tasks run meanwhile, among them
 * the one that it waits for. So a thread gives its turn away before it waits for a future, and
 * is the first to get one back. Other waits keep the turn, as in the JDK.
 */
final class Stealer extends PicoThread {
	/** The turns of a pool. A thread waits only if none is free. All under this. */
	static final class Turns implements ThreadFactory {
		private int free;
		private boolean closed;
		/** Threads whose futures are done. */
		private final Queue<Stealer> back = new ArrayDeque<>();
		/** Threads that have not begun. */
		private final Queue<Stealer> fresh = new ArrayDeque<>();

		Turns(int n) {
			if (n <= 0)
				throw new IllegalArgumentException();
			free = n;
		}

		@Override
		public Thread newThread(Runnable task) {
			return new Stealer(this, task);
		}

		private synchronized void ask(Stealer s, Queue<Stealer> in) {
			if (closed && in == fresh) {
				s.refused = true;
			} else if (free == 0) {
				in.add(s);
			} else {
				free--;
				s.has = true;
			}
		}

		/** From now on no thread begins. */
		void close() {
			List<Stealer> all;
			synchronized (this) {
				closed = true;
				all = new ArrayList<>(fresh);
				fresh.clear();
				for (Stealer s : all)
					s.refused = true;
			}
			all.forEach(LockSupport::unpark);
		}

		/** Passes the turn of s on. */
		private void give(Stealer s) {
			Stealer next;
			synchronized (this) {
				s.has = false;
				next = back.isEmpty() ? fresh.poll() : back.poll();
				if (next == null)
					free++;
				else
					next.has = true;
			}
			LockSupport.unpark(next);
		}
	}

	private final Turns turns;
	private final PerTaskExecutor.Task task;
	/* Written under turns. Volatile, because the thread reads them when it is woken. */
	private volatile boolean has;
	private volatile boolean refused;

	Stealer(Turns turns, Runnable task) {
		super(task);
		this.turns = turns;
		this.task = (PerTaskExecutor.Task) task;
		setDaemon(true);
		setContextClassLoader(ClassLoader.getSystemClassLoader());
	}

	@Override
	public void run() {
		turns.ask(this, turns.fresh);
		await();
		if (refused) {
			task.drop();
			return;
		}
		try {
			super.run();
		} finally {
			turns.give(this);
		}
	}

	private void await() {
		boolean interrupted = false;
		while (!has && !refused) {
			LockSupport.park(turns);
			interrupted |= Thread.interrupted();
		}
		if (interrupted)
			interrupt();
	}

	/** The calling thread, if it has a turn to give away; null: it has none. */
	static Stealer current() {
		Thread t = Thread.currentThread();
		return t instanceof Stealer && ((Stealer) t).has ? (Stealer) t : null;
	}

	/** Makes c without a turn. */
	<V> V without(Callable<V> c) throws Exception {
		turns.give(this);
		try {
			return c.call();
		} finally {
			turns.ask(this, turns.back);
			await();
		}
	}
}
