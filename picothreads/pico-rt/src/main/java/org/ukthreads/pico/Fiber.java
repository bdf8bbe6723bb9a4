// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.locks.LockSupport;

/*
 * A continuation that a scheduler runs: the small thing under every PicoThread.
 *
 * States, and who makes each move (all through `state`):
 *
 *   NEW --start--> READY --carrier--> RUNNING --begin()--> STOPPING --unwound--> PARKED
 *                    ^                   |                    |                    |
 *                    |                   +-- ends --> DONE    | wake()             | wake()
 *                    |                                        v                    |
 *                    +------------------ unwound ---------- WOKEN                  |
 *                    +-------------------------------------------------------------+
 *
 *   begin..unwound is the fiber's own thread; wake() is anybody, once per wait.
 *   STOPPING exists because the stack is still being unwound when a waker comes:
 *   it then leaves WOKEN, and the carrier queues the fiber when the unwinding is over.
 *
 * Who may wake: each wait has a ticket (`wait` odd = waiting); wakers race by claim(),
 * and the one that wins stores the result (retJ, retA or fail()) and calls wake().
 * Model: tests/model/fiber.pml.
 *
 * A platform thread that blocks in translated code has a fiber too (foreign): it never
 * captures, it blocks its OS thread on the same protocol. So has a fiber that is pinned,
 * but it first hands its carrier to a spare OS thread.
 */
/**
 * What a scheduler runs: the small thing under every pico thread. Its times are nanoseconds; a
 * call that would wait and finds no stack for it throws StackOverflowError and has changed
 * nothing.
 */
public class Fiber extends Continuation {
	static final int NEW = 0, READY = 1, RUNNING = 2, STOPPING = 3, WOKEN = 4, PARKED = 5,
		DONE = 6;

	/** What a wait is, for interrupt() and for dumps. */
	static final int W_NONE = 0, W_PARK = 1, W_SLEEP = 2, W_MONITOR = 3, W_ENTER = 4,
		W_JOIN = 5, W_CALL = 6;

	final PicoRuntime rt;
	volatile int state;
	/** Odd: a wait is open, and this is its ticket. */
	volatile int wait;
	private static final AtomicIntegerFieldUpdater<Fiber> STATE =
		AtomicIntegerFieldUpdater.newUpdater(Fiber.class, "state");
	private static final AtomicIntegerFieldUpdater<Fiber> WAIT =
		AtomicIntegerFieldUpdater.newUpdater(Fiber.class, "wait");

	/** Next in the run queue or another list of the scheduler that holds the fiber. */
	Fiber link;
	/** The java.lang.Thread that the program sees; made when it asks. */
	volatile PicoThread thread;
	/**
	 * The open wait's record: a Timers.Entry, a Monitor.Node. Who wakes a parked fiber clears
	 * it; before that, the fiber's own thread does (it may have to know what it was given).
	 */
	volatile Waiter waiter;
	/** What it parks for (LockSupport's blocker); set by itself, cleared by who wakes it. */
	volatile Object blocker;
	byte waitKind;
	/**
	 * The wait has a time-out. Not its timer says so, which begins later, and is gone before the
	 * wait is over: whoever looked between would see a wait without an end.
	 */
	boolean timed;
	volatile boolean interrupted;
	/** LockSupport permit. */
	volatile boolean permit;
	/** The OS thread blocked for this fiber: pinned or foreign; null for the others. */
	volatile Thread blocked;
	/** Set for `blocked`: go on. */
	volatile boolean go;

	private static final MethodRef YIELD =
		MethodRef.primitive(Fiber.class, "yieldNow", "()V");
	private static final MethodRef PARK = MethodRef.primitive(Fiber.class, "park", "()V");
	private static final MethodRef PARK_NANOS =
		MethodRef.primitive(Fiber.class, "parkNanos", "(J)V");

	protected Fiber(PicoRuntime rt, Runnable task) {
		super(task);
		this.rt = rt;
	}

	/** The fiber that runs the calling code; a stand-in on a platform thread. */
	public static Fiber current() {
		return of(Context.get());
	}

	static Fiber of(Context x) {
		Fiber f = x.fiber;
		return f != null ? f : foreign(x);
	}

	private static Fiber foreign(Context x) {
		Fiber f = x.foreign;
		if (f == null) {
			f = new Foreign(Thread.currentThread());
			x.foreign = f;
		}
		return f;
	}

	/** True on a fiber of a runtime, false on a platform thread. */
	public static boolean isFiber() {
		return Context.get().fiber != null;
	}

	public final PicoRuntime runtime() {
		return rt;
	}

	/** The java.lang.Thread that its code sees. */
	public Thread asThread() {
		return PicoThread.of(this);
	}

	boolean isForeign() {
		return false;
	}

	/** Makes it runnable, once. */
	public final Fiber start() {
		step();
		if (!STATE.compareAndSet(this, NEW, READY))
			throw new IllegalThreadStateException(toString());
		rt.started(this);
		rt.ready(this);
		return this;
	}

	public final boolean isDone() {
		return state == DONE;
	}

	/** Called once, on the carrier, when the task has ended. */
	void done(Throwable e) {
		PicoThread t = thread;
		if (t != null)
			t.ended(e);
		else if (e != null)
			rt.uncaught(this, e);
	}

	/** On the carrier: nothing runs, and nobody else has the frames. */
	final void pack() {
		top = Packed.pack(top);
	}

	/** On the carrier, frames complete, before anybody can resume it: for snapshots. */
	void parking() {}

	/** It is about to sleep for so long. */
	void sleeps(long nanos) {}

	/* --- the wait protocol --- */

	/** The ticket that the next begin() will open. */
	final int nextTicket() {
		int t = wait;
		if ((t & 1) != 0) {
			/* An error (no memory, no stack, a capture that was swallowed) came between
			 * begin() and its end: nobody waits there. */
			abandon();
			t = wait;
		}
		return t + 1;
	}


	final int begin(int kind, Waiter w) {
		return begin(kind, w, false);
	}

	/** Opens a wait; from here on anybody may claim it. w may be null. */
	final int begin(int kind, Waiter w, boolean timed) {
		step();
		int t = nextTicket();
		waiter = w;
		waitKind = (byte) kind;
		this.timed = timed;
		state = STOPPING;
		wait = t;
		return t;
	}

	/** The waker that gets true stores the result and calls wake(). */
	final boolean claim(int ticket) {
		return (ticket & 1) != 0 && WAIT.compareAndSet(this, ticket, ticket + 1);
	}

	/** The fiber itself gives up a wait that it has just opened; false: somebody woke it. */
	final boolean retract(int ticket) {
		if (!claim(ticket))
			return false;
		Waiter w = waiter;
		waiter = null;
		if (w != null)
			w.cancel();
		blocker = null;
		state = RUNNING;
		return true;
	}

	/**
	 * The suspension failed (no memory for a frame, or one was lost): the fiber runs on, as if
	 * it had not waited. Who was in Object.wait() first gets its monitor back, and what the
	 * others have given it meanwhile is given back. Until they have, its OS thread blocks:
	 * they may need the carrier for it.
	 */
	final void abandon() {
		Waiter w = waiter;
		boolean open = claim(wait);
		if (open) {
			waiter = null;
			blocker = null;
		}
		boolean given = !open && state != RUNNING;
		if (open ? w != null && w.abandon() && state == STOPPING : state == STOPPING)
			block(Context.get());
		waiter = null;
		state = RUNNING;
		Throwable e = thrown();
		if (given)
			giveBack(w, e);
	}

	/** Who ended the wait does not know that it failed. */
	private void giveBack(Waiter w, Throwable e) {
		if (waitKind == W_ENTER)
			Monitors.exit(Monitors.awaited(w));
		else if (waitKind == W_PARK)
			permit = true;
		if (e instanceof InterruptedException)
			interrupt();
	}

	/** An error came between begin() and the stop: that wait is over before anything else. */
	final void settle() {
		if ((wait & 1) != 0)
			abandon();
	}

	/**
	 * StackOverflowError, unless there are 16 KB of stack: for what opens a wait, stops, and
	 * undoes both if that fails. It comes before anything has changed, not when half is done.
	 * HotSpot makes sure, where a method begins, of all that its interpreter needs for it, also
	 * in compiled code: these need much. Rejected: calling itself 32 times, which compiled was
	 * a tenth of what others needed that were not compiled yet.
	 */
	public static void room() {
		Reserve.much(0);
	}

	/** 4 KB, within room() or without: for what opens a wait, or ends one. */
	static void step() {
		Reserve.some(0);
	}

	/** The time-out of the wait that it has just opened. */
	final void expireIn(Timers.Entry e, long nanos) {
		try {
			rt.timers.add(e, nanos);
		} catch (OutOfMemoryError x) {
			abandon();
			throw x;
		}
	}

	final void wake() {
		if (blocker != null)
			blocker = null;
		Waiter w = waiter;
		if (w != null)
			w.cancel();
		for (;;) {
			int s = state;
			if (s == PARKED) {
				waiter = null;
				if (STATE.compareAndSet(this, PARKED, READY)) {
					rt.ready(this);
					return;
				}
			} else if (s == STOPPING) {
				if (STATE.compareAndSet(this, STOPPING, WOKEN))
					return;
			} else {
				throw new IllegalStateException(this + " woken in state " + s);
			}
		}
	}

	/** Keeps a parked one from running until unwound(); false: it is not parked. */
	final boolean stopAgain() {
		return STATE.compareAndSet(this, PARKED, STOPPING);
	}

	/** The carrier, after the stack is unwound (or the OS thread about to block). */
	final void unwound() {
		if (!STATE.compareAndSet(this, STOPPING, PARKED)) {
			waiter = null;
			state = READY;
			rt.ready(this);
		}
	}

	/** Ends a primitive: captures, or blocks the OS thread and returns when woken. */
	final void stop(MethodRef primitive) {
		stop(primitive, null);
	}

	/** The same in a twin: true: it must return at once. */
	final boolean stop(MethodRef primitive, Capture c) {
		Context x = Context.of(c);
		if (x.current == this && !x.pinned()) {
			x.unwind(this, primitive, c);
			return true;
		}
		block(x);
		if (threw && retA instanceof InterruptedException)
			((Throwable) retA).fillInStackTrace();
		return false;
	}

	void block(Context x) {
		rt.blockPinned(this, (CarrierThread) Thread.currentThread());
	}

	/* --- primitives --- */

	/** Lets the others run. */
	@Leaf
	public static void yieldNow() {
		yieldNow(null);
	}

	public static void yieldNow(Capture c) {
		Context x = Context.of(c);
		Fiber f = x.fiber;
		if (f == null) {
			Thread.yield();
			return;
		}
		if (x.current != f || x.pinned())
			return;
		yield(x, f, YIELD, c);
	}

	static void yield(Context x, Fiber f, MethodRef as, Capture c) {
		f.waitKind = W_NONE;
		f.state = WOKEN;
		x.unwind(f, as, c);
	}

	/** LockSupport.park: until unpark, interrupt, or no reason. */
	@Leaf
	public static void park() {
		park(null, 0, PARK, null);
	}

	public static void park(Capture c) {
		park(null, 0, PARK, c);
	}

	@Leaf
	public static void parkNanos(long nanos) {
		parkNanos(nanos, null);
	}

	public static void parkNanos(long nanos, Capture c) {
		if (nanos > 0)
			park(null, nanos, PARK_NANOS, c);
	}

	/** nanos 0: no limit. blocker: null, or what it is parked for, as dumps and programs ask. */
	static void park(Object blocker, long nanos, MethodRef as, Capture c) {
		Context x = Context.get();
		Fiber f = of(x);
		if (f.isForeign()) {
			Monitors.pay(x, f);
			Object b = blocker != null ? blocker : f;
			if (nanos == 0)
				LockSupport.park(b);
			else
				LockSupport.parkNanos(b, nanos);
			return;
		}
		if (f.preparePark(blocker, nanos) && f.stop(as, c))
			return;
		f.takeV();
	}

	private boolean preparePark(Object blocker, long nanos) {
		if (permit) {
			permit = false;
			return false;
		}
		if (isInterrupted())
			return false;
		/* Before the wait is open: who ends it clears it. */
		if (blocker != null)
			this.blocker = blocker;
		int t;
		if (nanos > 0) {
			Timers.Entry e = new Timers.Entry(rt.timers, this, nextTicket());
			t = begin(W_PARK, e, true);
			expireIn(e, nanos);
		} else {
			t = begin(W_PARK, null);
		}
		/* After the wait is open: whoever set either before saw no wait to claim. */
		if ((permit || isInterrupted()) && retract(t)) {
			permit = false;
			return false;
		}
		return true;
	}

	/** LockSupport.unpark. */
	public void unpark() {
		permit = true;
		int t = wait;
		if ((t & 1) == 0 || waitKind != W_PARK)
			return;
		step();
		if (claim(t)) {
			permit = false;
			wake();
		}
	}

	/** Thread.sleep. */
	static void sleep(long nanos, MethodRef as, Capture c) throws InterruptedException {
		Fiber f = current();
		f.throwIfInterrupted(ASLEEP);
		f.sleeps(nanos);
		Timers.Entry e = new Timers.Entry(f.rt.timers, f, f.nextTicket());
		int t = f.begin(W_SLEEP, e, true);
		f.expireIn(e, nanos);
		if (f.isInterrupted() && f.retract(t))
			f.throwIfInterrupted(ASLEEP);
		if (!f.stop(as, c))
			f.takeV();
	}

	/* --- interrupts --- */

	/** What the JVM says to who sleeps. */
	private static final String ASLEEP = "sleep interrupted";

	public void interrupt() {
		interrupted = true;
		deliver();
	}

	/** The flag is up: ends the wait that it ends. */
	final void deliver() {
		int t = wait;
		if ((t & 1) == 0) {
			rt.interruptOutside(this);
			return;
		}
		/* Down: seen before this wait was opened; or lent, and out() brings it back. */
		if (!interrupted)
			return;
		room();
		switch (waitKind) {
		case W_PARK:
			if (claim(t))
				wake();
			break;
		case W_SLEEP:
		case W_JOIN:
			if (claim(t)) {
				rt.withdraw(this);
				fail(new InterruptedException(waitKind == W_SLEEP ? ASLEEP : null));
				wake();
			}
			break;
		case W_MONITOR:
			Waiter w = waiter;
			if (claim(t)) {
				rt.withdraw(this);
				fail(new InterruptedException());
				w.aborted();
			}
			break;
		case W_CALL:
			/* Null, or another wait's: the call has just ended. */
			Waiter c = waiter;
			if (c instanceof Blocking.Call)
				((Blocking.Call) c).interrupt();
			break;
		default:
			break;
		}
	}

	/*
	 * Of a fiber that has lost its carrier the flag may be lent: down here, up on its OS
	 * thread, for the call of the JDK that it is stuck in. It moves under rt.lost, there and
	 * back. Model: tests/model/lent.pml.
	 */

	public boolean isInterrupted() {
		if (interrupted)
			return true;
		CarrierThread t = carrying();
		return t != null ? t.lent && t.isInterrupted() : rt.hasLent(this);
	}

	/** The calling OS thread, if it runs this. */
	private CarrierThread carrying() {
		Thread t = Thread.currentThread();
		return t instanceof CarrierThread && ((CarrierThread) t).context.fiber == this
			? (CarrierThread) t : null;
	}

	/** Reads and clears; by the fiber itself. */
	boolean testInterrupted() {
		boolean i = interrupted;
		if (i)
			interrupted = false;
		/* After that: who makes us lose our carrier sees the flag down, or we see it here. */
		CarrierThread t = carrying();
		return t != null && t.hold == CarrierThread.LOST && rt.takeBack(this, t) || i;
	}

	final void throwIfInterrupted() throws InterruptedException {
		throwIfInterrupted(null);
	}

	private void throwIfInterrupted(String message) throws InterruptedException {
		if (testInterrupted())
			throw new InterruptedException(message);
	}

	@Override
	public String toString() {
		PicoThread t = thread;
		return t != null ? t.toString() : "fiber-" + Integer.toHexString(hashCode());
	}

	/**
	 * What pico threads inherit from the calling platform thread; null: nothing, or make:
	 * an empty map.
	 */
	static Map<ThreadLocal<?>, Object> noted(boolean make) {
		Context x = Context.get();
		if (x.foreign == null && !make)
			return null;
		Foreign f = (Foreign) foreign(x);
		if (f.noted == null && make)
			f.noted = new WeakHashMap<>(4);
		return f.noted;
	}

	/** Stands for a platform thread. */
	static final class Foreign extends Fiber {
		private final Thread os;
		private Map<ThreadLocal<?>, Object> noted;
		/** An interrupt that came while it waits for what none ends: it is up again after. */
		private volatile boolean kept;

		Foreign(Thread os) {
			super(PicoRuntime.main(), null);
			this.os = os;
			state = RUNNING;
		}

		@Override
		boolean isForeign() {
			return true;
		}

		@Override
		public Thread asThread() {
			return os;
		}

		@Override
		void block(Context x) {
			Monitors.pay(x, this);
			go = false;
			blocked = os;
			unwound();
			if (os instanceof ForkJoinWorkerThread)
				managed();
			while (!go)
				await();
			blocked = null;
			state = RUNNING;
			if (kept) {
				os.interrupt();
				kept = false;
			}
		}

		/** Its own time-outs are its own business: no carrier needs to be free for them. */
		private void await() {
			Waiter w = waiter;
			if (rt.clock != Clock.REAL || !(w instanceof Timers.Entry)
					|| !((Timers.Entry) w).pending()) {
				LockSupport.park(this);
			} else {
				long left = ((Timers.Entry) w).at - System.nanoTime();
				if (left > 0)
					LockSupport.parkNanos(this, left);
				else if (((Timers.Entry) w).pending())
					((Timers.Entry) w).now();
			}
			if (Thread.currentThread().isInterrupted())
				osInterrupted();
		}

		/** A pool's worker: the pool may make another one meanwhile. */
		private void managed() {
			try {
				ForkJoinPool.managedBlock(new ForkJoinPool.ManagedBlocker() {
					@Override
					public boolean block() {
						while (!go)
							await();
						return true;
					}

					@Override
					public boolean isReleasable() {
						return go;
					}
				});
			} catch (InterruptedException e) {
				throw new AssertionError(e);
			}
		}

		/**
		 * The flag comes down, or the next wait in the JDK ends at once: it ends this wait,
		 * or is kept for later. isInterrupted() says so all the while.
		 */
		private void osInterrupted() {
			Thread.interrupted();
			interrupted = true;
			if ((wait & 1) != 0 && waitKind != W_ENTER)
				deliver();
			/* Still up: this is no such wait, or something else ended it first. */
			if (interrupted)
				kept = true;
			interrupted = false;
		}

		@Override
		public void unpark() {
			LockSupport.unpark(os);
		}

		@Override
		public void interrupt() {
			os.interrupt();
		}

		@Override
		public boolean isInterrupted() {
			return kept || os.isInterrupted();
		}

		@Override
		boolean testInterrupted() {
			return Thread.interrupted();
		}
	}
}
