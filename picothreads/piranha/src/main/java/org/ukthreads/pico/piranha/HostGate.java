/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Politeness towards one origin: so many requests at once, and a delay between them. With one
 * request at a time, the delay begins at the end of a request. So the server never sees two
 * requests closer together, however slow the network or this machine is. With several at a time,
 * the delay is between their starts.
 *
 * enter() blocks the URL's own thread, which is the reason for having one: a host with 10,000
 * URLs has 10,000 threads parked here. They wait in order, each on its own object, so a turn
 * wakes one thread and not all.
 *
 * Invariant: active <= parallel, and with parallel = 1 a request starts no earlier than `delay`
 * after the end of the one before. A thread that gets 429 or 503 makes the whole host quiet
 * (busy). This holds for the threads that have their turn already, too. The host is then asked
 * more slowly, until it has answered ten times.
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
	private long next = System.nanoTime();      /* no request starts before this */
	private boolean used;       /* there was a request */
	private long quiet = next;  /* threads that have their turn wait until this, too */
	private long slowed;        /* nanoseconds between requests, because the server was busy */
	private int good;           /* answers since it was busy */
	private boolean open;       /* from now on no thread waits for its time */

	HostGate(int parallel, long delayMillis) {
		this.parallel = parallel;
		this.delayNanos = TimeUnit.MILLISECONDS.toNanos(delayMillis);
	}

	/** robots.txt asks for a longer delay. It holds from the request for robots.txt on. */
	synchronized void atLeast(long delayMillis) {
		long nanos = TimeUnit.MILLISECONDS.toNanos(delayMillis);
		if (nanos > delayNanos) {
			next += used ? nanos - delayNanos : 0;
			delayNanos = nanos;
		}
	}

	/**
	 * The server is too busy. It is left alone for that time, and then asked with twice the
	 * delay, until it has answered for a while.
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

	/** The server has answered. */
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
	 * Waits until this thread's request may start. Only threads that have their turn wait here,
	 * so not more than may be active. If the host has become quiet, a start before the end of the
	 * quiet time is void and the thread claims a new one; otherwise all of them would start
	 * together at that end.
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
