// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Pins;
import org.ukthreads.pico.Room;

/*
 * A condition of a lock that is a Gate. A waiter is in the list from `first` until it is
 * signalled, times out or is interrupted, then queued at the lock's gate like others that
 * want the lock; all under the guard of that gate:
 *
 *   holds --begin--> in the list --signal---------------------> queued --take--> done, holds
 *                        |                                        ^
 *                        +-- timeout, interrupt: abandon (mine) --+   (false: signalled first)
 */
final class GateCondition implements Condition, Room, Serializable {
	private static final long serialVersionUID = 2L;

	/** The lock. All methods are called under the guard of its gate. */
	interface Exclusive {
		Gate gate();

		/** Throws IllegalMonitorStateException unless the caller holds it. */
		void owned();

		int holds();

		/** Gives up all holds, and serves the queue. */
		void release();

		/** f takes it with so many holds; false: it is not free. */
		boolean take(Fiber f, int holds);

		boolean free();

		boolean fair();
	}

	final Exclusive lock;
	/** Under the gate's guard; linked by `after`. */
	private Wait first;
	private Wait last;

	GateCondition(Exclusive lock) {
		this.lock = lock;
	}

	@Override
	public Object of() {
		return this;
	}

	private static final class Wait extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final GateCondition on;
		private final int holds;
		private boolean signalled;
		private Wait after;

		Wait(GateCondition on) {
			super(0);
			this.on = on;
			holds = on.lock.holds();
		}

		@Override
		boolean attempt() {
			return on.lock.take(fiber, holds);
		}

		/* The wait must not end without the lock. */
		@Override
		void failed(Gate g) {
			on.regain(this);
		}

		@Override
		boolean patient() {
			return !on.lock.fair();
		}

		@Override
		boolean open() {
			return on.lock.free();
		}

		@Override
		public Room room() {
			return done || signalled ? super.room() : on;
		}

		@Override
		public void back() {
			super.back();
			on.back(this);
		}
	}

	private void back(Wait w) {
		synchronized (lock.gate()) {
			if (w.done || w.signalled)
				return;
			for (Wait x = first; x != null; x = x.after)
				if (x == w)
					return;
			add(w);
		}
	}

	private void add(Wait w) {
		w.after = null;
		if (first == null)
			first = w;
		else
			last.after = w;
		last = w;
	}

	private Wait begin() {
		Fiber.room();
		synchronized (lock.gate()) {
			lock.owned();
			Wait w = new Wait(this);
			add(w);
			lock.release();
			return w;
		}
	}

	/** The threads that wait at c; IllegalArgumentException: c is another lock's. */
	static List<Thread> waiters(Exclusive lock, Condition c) {
		if (!(Objects.requireNonNull(c) instanceof GateCondition) || ((GateCondition) c).lock != lock)
			throw new IllegalArgumentException("not owner");
		List<Thread> l = new ArrayList<>();
		synchronized (lock.gate()) {
			lock.owned();
			for (Wait w = ((GateCondition) c).first; w != null; w = w.after)
				l.add(w.fiber.asThread());
		}
		return l;
	}

	/** Moves w from the list to the lock's queue; false: a signal has done so. */
	private boolean abandon(Wait w) {
		synchronized (lock.gate()) {
			if (w.signalled || w.done)
				return false;
			w.signalled = true;
			Wait p = null;
			for (Wait x = first; x != w; x = x.after)
				p = x;
			if (p == null)
				first = w.after;
			else
				p.after = w.after;
			if (last == w)
				last = p;
			lock.gate().add(w);
			lock.gate().serve();
			return true;
		}
	}

	/** w could not suspend, so its OS thread waits for the lock; passes on a signal. */
	private void regain(Wait w) {
		boolean mine = abandon(w);
		Pins.enter();
		try {
			lock.gate().await(w);
		} finally {
			Pins.exit();
		}
		if (!mine)
			signal();
	}

	@Override
	public void signal() {
		synchronized (lock.gate()) {
			lock.owned();
			next();
		}
	}

	@Override
	public void signalAll() {
		synchronized (lock.gate()) {
			lock.owned();
			while (first != null)
				next();
		}
	}

	private void next() {
		Wait w = first;
		if (w == null)
			return;
		first = w.after;
		if (first == null)
			last = null;
		w.signalled = true;
		lock.gate().add(w);
	}

	@Override
	public void await() throws InterruptedException {
		pass(false, 0);
	}

	@Override
	public void awaitUninterruptibly() {
		lock.gate().await(begin());
	}

	@Override
	public long awaitNanos(long nanos) throws InterruptedException {
		long end = System.nanoTime() + Math.max(0, nanos);
		pass(true, end);
		return end - System.nanoTime();
	}

	/** True: signalled. */
	private boolean pass(boolean timed, long end) throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		Wait w = begin();
		try {
			return pass(w, timed, end);
		} catch (RuntimeException | Error e) {
			w.failed(lock.gate());
			throw e;
		}
	}

	private boolean pass(Wait w, boolean timed, long end) throws InterruptedException {
		Gate g = lock.gate();
		while (!g.through(w)) {
			long left = end - System.nanoTime();
			boolean over = timed && left <= 0;
			if (timed && !over)
				LockSupport.parkNanos(this, left);
			else if (!over && !w.inPool())
				LockSupport.park(this);
			boolean interrupted = !over && !w.done && Thread.interrupted();
			if (over || interrupted) {
				boolean mine = abandon(w);
				g.await(w);
				if (interrupted && mine)
					throw new InterruptedException();
				if (interrupted)
					Thread.currentThread().interrupt();
				return !mine;
			}
		}
		return true;
	}

	@Override
	public boolean await(long time, TimeUnit unit) throws InterruptedException {
		return pass(true, System.nanoTime() + Math.max(0, unit.toNanos(time)));
	}

	@Override
	public boolean awaitUntil(Date deadline) throws InterruptedException {
		return pass(true, System.nanoTime() + left(deadline));
	}

	/** Nanoseconds until the deadline, 0 if it has passed. */
	static long left(Date deadline) {
		long ms = Math.max(0, deadline.getTime()) - System.currentTimeMillis();
		return TimeUnit.MILLISECONDS.toNanos(Math.max(0, ms));
	}
}
