/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Politeness towards one origin: so many requests at once, and time between them. One at a time,
 * the time runs from the end of a request, so that the server sees no two closer, however slow
 * the network or this machine; several at a time, it is between their starts.
 *
 * enter() blocks the URL's own thread, which is the point of having one: a host with 10,000 URLs
 * has 10,000 threads parked here. They wait in order, each on an object of its own, so a turn
 * wakes one thread and not all.
 *
 * Invariant: active <= parallel, and with parallel = 1 a request starts no earlier than `delay`
 * after the one before it ended. Who meets 429 or 503 makes the whole host quiet (busy), those
 * that have their turn already, too, and slower until it has answered ten times.
 */
package org.ukthreads.pico.piranha;

import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;

final class HostGate {
	private static final class Turn {
		private long start;
		private boolean granted;

		synchronized void grant(long nanoTime) {
			start = nanoTime;
			granted = true;
			notify();
		}

		synchronized long await() throws InterruptedException {
			while (!granted) {
				wait();
			}
			return start;
		}
	}

	private static final long SLOW_FIRST = TimeUnit.MILLISECONDS.toNanos(100);
	private static final long SLOW_MOST = TimeUnit.SECONDS.toNanos(60);
	private static final int GOOD = 10;

	private final int parallel;
	private final ArrayDeque<Turn> waiting = new ArrayDeque<>();
	private long delayNanos;
	private int active;
	private long next = System.nanoTime();      /* no request starts before */
	private boolean used;       /* there has been a request */
	private long quiet = next;  /* whoever has its turn already waits for this, too */
	private long slowed;        /* nanoseconds between requests, because it was busy */
	private int good;           /* answers since then */
	private boolean open;       /* for good: nobody waits for the time any more */

	HostGate(int parallel, long delayMillis) {
		this.parallel = parallel;
		this.delayNanos = TimeUnit.MILLISECONDS.toNanos(delayMillis);
	}

	/** robots.txt asks for more time between requests: from the request for it on. */
	synchronized void atLeast(long delayMillis) {
		long nanos = TimeUnit.MILLISECONDS.toNanos(delayMillis);
		if (nanos > delayNanos) {
			next += used ? nanos - delayNanos : 0;
			delayNanos = nanos;
		}
	}

	/**
	 * The server is too busy: nobody asks for so long, and from then on with twice the time in
	 * between, until it has answered a while.
	 */
	synchronized void busy(long pauseMillis) {
		long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pauseMillis);
		if (until - next > 0) {
			next = until;
		}
		quiet = until;
		slowed = Math.min(Math.max(slowed * 2, Math.max(delayNanos, SLOW_FIRST)), SLOW_MOST);
		good = 0;
	}

	/** It has answered. */
	synchronized void fine() {
		if (slowed > 0 && ++good >= GOOD) {
			good = 0;
			slowed = slowed / 2 < SLOW_FIRST ? 0 : slowed / 2;
		}
	}

	private long delayNanos() {
		return Math.max(delayNanos, slowed);
	}

	synchronized boolean delays() {
		return delayNanos() > 0;
	}

	synchronized void open() {
		open = true;
		notifyAll();
	}

	void enter() throws InterruptedException {
		Turn turn = new Turn();
		synchronized (this) {
			if (active < parallel) {
				active++;
				turn.grant(claim());
			} else {
				waiting.add(turn);
			}
		}
		awaitTime(turn.await());
	}

	/**
	 * Those that have their turn wait here: no more than may be active. A time before the host
	 * became quiet is none any more, or all of them would start at the end of that.
	 */
	private synchronized void awaitTime(long granted) throws InterruptedException {
		long start = granted;
		while (!open) {
			if (quiet - start > 0) {
				start = claim();
			}
			long left = start - System.nanoTime();
			if (left <= 0) {
				return;
			}
			wait(TimeUnit.NANOSECONDS.toMillis(left) + 1);
		}
	}

	synchronized void leave() {
		long after = System.nanoTime() + delayNanos();
		if (parallel == 1 && after - next > 0) {
			next = after;
		}
		Turn turn = waiting.poll();
		if (turn == null) {
			active--;
		} else {
			turn.grant(claim());
		}
	}

	private long claim() {
		long now = System.nanoTime();
		long start = next - now > 0 ? next : now;
		next = start + delayNanos();
		used = true;
		return start;
	}
}
