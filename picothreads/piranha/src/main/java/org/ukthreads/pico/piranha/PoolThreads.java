/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.util.ArrayDeque;

/** A fixed number of threads that share a queue of tasks. */
final class PoolThreads implements Threads {
	private final ArrayDeque<Runnable> queue = new ArrayDeque<>();     /* guarded by this */
	private boolean closed;

	PoolThreads(int size) {
		for (int i = 0; i < size; i++) {
			Thread worker = new Thread(new Worker(this), "pool-" + i);
			worker.setDaemon(true);
			worker.start();
		}
	}

	@Override
	public synchronized boolean start(String name, Runnable task) {
		queue.add(task);
		notify();
		return true;
	}

	@Override
	public synchronized void close() {
		closed = true;
		notifyAll();
	}

	private synchronized boolean over() {
		return closed && queue.isEmpty();
	}

	private synchronized Runnable next() throws InterruptedException {
		while (queue.isEmpty() && !closed) {
			wait();
		}
		return queue.isEmpty() ? Worker.NOTHING : queue.remove();
	}

	private static final class Worker implements Runnable {
		private static final Runnable NOTHING = new Runnable() {
			@Override
			public void run() {
				// The pool is closing.
			}
		};

		private final PoolThreads pool;

		Worker(PoolThreads pool) {
			this.pool = pool;
		}

		@Override
		public void run() {
			try {
				while (!pool.over()) {
					pool.next().run();
				}
			} catch (InterruptedException e) {
				Thread.currentThread().interrupt();
			}
		}
	}
}
