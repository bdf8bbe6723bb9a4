// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayList;
import java.util.List;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Pins;

/*
 * The queue under a program's own AbstractQueuedSynchronizer. Unlike at a Gate, the waiter
 * itself tries, because tryAcquire is the program's code:
 *
 *   acquire:  try -- no --> queued; while not the first, or the try fails: park
 *   release:  the first one is unparked
 *   through:  out of the queue; the next one is unparked if it may pass, too (shared)
 *
 *   trying --no--> queued --first, and the try succeeds--> out: the next, if it shares
 *                    |  ^ unparked and not first, or the try fails: parks again
 *                    +--timeout, interrupt, the try throws---> out: the next, shared or not
 *
 * A waiter that leaves without passing may have used up the wake-up of a release, so it always
 * unparks the next. The first waiter is still queued while it tries, so a release at that moment
 * unparks it in vain; if it is exclusive, it holds the lock, and its own release wakes the next.
 *
 * A condition's waiter (Waiters): in its list --signal--> in the queue, signalled --through-->
 * holds; or --timeout, interrupt: abandon, false once signalled--> in the queue --through-->
 * holds, not signalled. signal() itself queues the waiter, so it is there before it runs.
 */
final class Line {
	/** 0 or more: it succeeds, and so much is left for others; negative: not now. */
	interface Try {
		long attempt();
	}

	/** A condition of the program's synchronizer, whose state is an int or a long. */
	interface Sync {
		long state();

		boolean release(long n);

		Try acquire(long n);

		boolean held();

		Line line();

		Waiters waiters();
	}

	private static final class Waiter extends Awaited {
		final Fiber fiber = Fiber.current();
		final boolean shared;
		/** Only for a waiter of a condition; written under its queue's guard. */
		volatile boolean signalled;

		Waiter(boolean shared) {
			this.shared = shared;
		}

		@Override
		public boolean isReleasable() {
			return signalled;
		}
	}

	/** Guarded by this. */
	private final List<Waiter> queue = new ArrayList<>(0);
	private boolean contended;

	private synchronized void add(Waiter w) {
		queue.add(w);
		contended = true;
	}

	private synchronized boolean isFirst(Waiter w) {
		return queue.get(0) == w;
	}

	/** Unparks the first of the rest if `next` is set or it is shared. */
	private void leave(Waiter w, boolean next) {
		Waiter n;
		synchronized (this) {
			queue.remove(w);
			n = queue.isEmpty() ? null : queue.get(0);
		}
		if (n != null && (next || n.shared))
			n.fiber.unpark();
	}

	void wakeFirst() {
		Waiter n;
		synchronized (this) {
			n = queue.isEmpty() ? null : queue.get(0);
		}
		if (n != null)
			n.fiber.unpark();
	}

	/** An interrupt is kept. */
	void acquire(Try t, boolean shared) {
		if (t.attempt() >= 0)
			return;
		Waiter w = new Waiter(shared);
		/* An error between here and the park would leave w queued. */
		Fiber.room();
		add(w);
		if (pass(w, t))
			Thread.currentThread().interrupt();
	}

	/** Waits until w, which is queued, passes; true: interrupted, and the flag is cleared. */
	private boolean pass(Waiter w, Try t) {
		boolean interrupted = false;
		boolean ok = false;
		try {
			while (!isFirst(w) || t.attempt() < 0) {
				Fiber.park();
				if (Thread.interrupted())
					interrupted = true;
			}
			ok = true;
		} finally {
			leave(w, !ok);
			/* The program's try has thrown, so the caller does not restore the interrupt. */
			if (!ok && interrupted)
				Thread.currentThread().interrupt();
		}
		return interrupted;
	}

	/** False: timed out. nanos Long.MAX_VALUE: no limit. */
	boolean acquire(Try t, boolean shared, long nanos) throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		if (t.attempt() >= 0)
			return true;
		if (nanos <= 0)
			return false;
		long end = System.nanoTime() + nanos;
		Waiter w = new Waiter(shared);
		/* An error between here and the park would leave w queued. */
		Fiber.room();
		add(w);
		boolean ok = false;
		try {
			while (!isFirst(w) || t.attempt() < 0) {
				long left = nanos == Long.MAX_VALUE ? nanos : end - System.nanoTime();
				if (left <= 0)
					return false;
				if (nanos == Long.MAX_VALUE)
					Fiber.park();
				else
					Fiber.parkNanos(left);
				if (Thread.interrupted())
					throw new InterruptedException();
			}
			ok = true;
			return true;
		} finally {
			leave(w, !ok);
		}
	}

	/* --- questions --- */

	synchronized boolean contended() {
		return contended;
	}

	/** Another thread is before the caller. */
	synchronized boolean others() {
		return !queue.isEmpty() && queue.get(0).fiber != Fiber.current();
	}

	/** In order. kind 0: all; 1: exclusive waiters; 2: shared ones. */
	synchronized List<Thread> threads(int kind) {
		List<Thread> l = new ArrayList<>();
		for (Waiter w : queue)
			if (kind == 0 || w.shared == (kind == 2))
				l.add(w.fiber.asThread());
		return l;
	}

	/** The waiters of a synchronizer's condition, in order. Guarded by this. */
	static final class Waiters {
		private final List<Waiter> queue = new ArrayList<>(0);

		private synchronized Waiter add() {
			Waiter w = new Waiter(false);
			queue.add(w);
			return w;
		}

		/** Removes w unless it is signalled. to: null, or where w then queues for the lock. */
		private synchronized boolean abandon(Waiter w, Line to) {
			if (w.signalled || !queue.contains(w))
				return false;
			if (to != null)
				to.add(w);
			queue.remove(w);
			return true;
		}

		private synchronized boolean signalled(Waiter w) {
			return w.signalled;
		}

		/** Moves the first waiter to `to`; null: there is none. */
		private synchronized Waiter take(Line to) {
			if (queue.isEmpty())
				return null;
			Waiter w = queue.get(0);
			to.add(w);
			queue.remove(0);
			w.signalled = true;
			return w;
		}

		void signal(Sync s, boolean all) {
			if (!s.held())
				throw new IllegalMonitorStateException();
			Fiber.room();
			for (Waiter w; (w = take(s.line())) != null;) {
				w.fiber.unpark();
				if (!all)
					return;
			}
		}

		synchronized List<Thread> threads() {
			List<Thread> l = new ArrayList<>();
			for (Waiter w : queue)
				l.add(w.fiber.asThread());
			return l;
		}

		private long giveUp(Sync s) {
			long n = s.state();
			if (!s.release(n))
				throw new IllegalMonitorStateException();
			return n;
		}

		void awaitUninterruptibly(Sync s) {
			if (!s.held())
				throw new IllegalMonitorStateException();
			Fiber.room();
			Waiter w = add();
			boolean interrupted = false;
			long n = left(w, s);
			try {
				while (!signalled(w)) {
					if (!w.inPool())
						Fiber.park();
					if (Thread.interrupted())
						interrupted = true;
				}
			} catch (RuntimeException | Error e) {
				regain(w, s, n);
				throw e;
			}
			if (s.line().pass(w, s.acquire(n)) || interrupted)
				Thread.currentThread().interrupt();
		}

		/** w could not suspend, so its OS thread waits for the lock; passes on a signal. */
		private void regain(Waiter w, Sync s, long n) {
			boolean mine = abandon(w, s.line());
			boolean interrupted;
			Pins.enter();
			try {
				interrupted = s.line().pass(w, s.acquire(n));
			} finally {
				Pins.exit();
			}
			if (!mine)
				signal(s, false);
			if (interrupted)
				Thread.currentThread().interrupt();
		}

		/** Releases the lock; returns the state to restore. If that fails, w leaves. */
		private long left(Waiter w, Sync s) {
			boolean ok = false;
			try {
				long n = giveUp(s);
				ok = true;
				return n;
			} finally {
				if (!ok)
					abandon(w, null);
			}
		}

		/** True: signalled. nanos Long.MAX_VALUE: no limit. */
		boolean await(Sync s, long nanos) throws InterruptedException {
			if (Thread.interrupted())
				throw new InterruptedException();
			if (!s.held())
				throw new IllegalMonitorStateException();
			long end = System.nanoTime() + nanos;
			Fiber.room();
			Waiter w = add();
			long n = left(w, s);
			boolean out = false;
			boolean interrupted = false;
			try {
				while (!signalled(w)) {
					long left = nanos == Long.MAX_VALUE ? nanos : end - System.nanoTime();
					if (left <= 0) {
						out = abandon(w, s.line());
						break;
					}
					if (nanos != Long.MAX_VALUE)
						Fiber.parkNanos(left);
					else if (!w.inPool())
						Fiber.park();
					if (Thread.interrupted()) {
						interrupted = true;
						out = abandon(w, s.line());
						break;
					}
				}
			} catch (RuntimeException | Error e) {
				regain(w, s, n);
				throw e;
			}
			boolean later = s.line().pass(w, s.acquire(n));
			if (interrupted && out) {
				if (later)
					Thread.currentThread().interrupt();
				throw new InterruptedException();
			}
			if (interrupted || later)
				Thread.currentThread().interrupt();
			return !out;
		}
	}
}
