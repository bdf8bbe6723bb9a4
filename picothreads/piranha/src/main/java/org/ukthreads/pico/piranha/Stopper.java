/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a crawl in good order: on a signal (by a shutdown hook), or when its time is over.
 *
 * The hook asks the crawl to stop. It holds the JVM until the summary is printed and the files
 * are closed, or for GRACE_MILLIS at most. kill -9 leaves no time for this; the disk frontier
 * does not need it.
 */
package org.ukthreads.pico.piranha;

import java.util.concurrent.TimeUnit;

final class Stopper {
	private static final long GRACE_MILLIS = 10_000;

	private boolean signalled;      /* guarded by this */
	private boolean finished;       /* guarded by this */

	void install(Crawl crawl, int maxMillis) {
		Runtime.getRuntime().addShutdownHook(jvmThread(new Hook(this, crawl)));
		if (maxMillis > 0) {
			Thread timer = new Thread(new Timer(crawl, maxMillis), "max-time");
			timer.setDaemon(true);
			timer.start();
		}
	}

	/**
	 * The JVM starts and joins its hooks itself, so a hook must be a JVM thread even in
	 * translated code, where `new Thread` makes a pico thread.
	 */
	private static Thread jvmThread(Runnable task) {
		try {
			return Thread.class.getConstructor(Runnable.class).newInstance(task);
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException("cannot create a thread", e);
		}
	}

	synchronized boolean signalled() {
		return signalled;
	}

	synchronized void finish() {
		finished = true;
		notifyAll();
	}

	private synchronized boolean signal() {
		signalled = !finished;
		return signalled;
	}

	private synchronized void awaitFinish() throws InterruptedException {
		long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GRACE_MILLIS);
		for (long left = GRACE_MILLIS; !finished && left > 0;
				left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())) {
			wait(left);
		}
	}

	private static final class Hook implements Runnable {
		private final Stopper stopper;
		private final Crawl crawl;

		Hook(Stopper stopper, Crawl crawl) {
			this.stopper = stopper;
			this.crawl = crawl;
		}

		@Override
		public void run() {
			if (stopper.signal()) {
				crawl.stop();
				try {
					stopper.awaitFinish();
				} catch (InterruptedException e) {
					Thread.currentThread().interrupt();
				}
			}
		}
	}

	private static final class Timer implements Runnable {
		private final Crawl crawl;
		private final int millis;

		Timer(Crawl crawl, int millis) {
			this.crawl = crawl;
			this.millis = millis;
		}

		@Override
		public void run() {
			try {
				Thread.sleep(millis);
				crawl.stop();
			} catch (InterruptedException e) {
				Thread.currentThread().interrupt();
			}
		}
	}
}
