// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.locks.LockSupport;

/*
 * A continuation that a scheduler runs. Every PicoThread has one.
 *
 * States and their changes (all in `state`):
 *
 *   NEW --start--> READY --carrier--> RUNNING --begin()--> STOPPING --unwound--> PARKED
 *                    ^                   |                    |                    |
 *                    |                   +-- ends --> DONE    | wake()             | wake()
 *                    |                                        v                    |
 *                    +------------------ unwound ---------- WOKEN                  |
 *                    +-------------------------------------------------------------+
 *
 *   begin() to unwound() run on the fiber's own thread. Any thread may call wake(), once per
 *   wait. STOPPING exists because a waker may come while the stack is still being unwound:
 *   it sets WOKEN, and the carrier queues the fiber when the unwinding is over.
 *
 * Each wait has a ticket (`wait` odd = waiting). Wakers race by claim(). The winner stores the
 * result (retJ, retA or fail()) and calls wake(). Model: tests/model/fiber.pml.
 *
 * A platform thread that blocks in translated code has a fiber, too (foreign). It never
 * captures; it blocks its OS thread by the same protocol. So does a pinned fiber, but it first
 * hands its carrier to a spare OS thread.
 */
/**
 * A light thread: what a scheduler runs. Every pico thread has one. Times are in nanoseconds. A
 * call that would wait but finds too little stack throws StackOverflowError and has changed
 * nothing.
 */
public class Fiber extends Continuation {
	static final int NEW = 0, READY = 1, RUNNING = 2, STOPPING = 3, WOKEN = 4, PARKED = 5,
		DONE = 6;

	/** Kinds of waits, for interrupt() and for dumps. */
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
	/** The java.lang.Thread that the program sees; made on request. */
	volatile PicoThread thread;
	/**
	 * The record of the open wait: a Timers.Entry, a Monitors.Node. The thread that wakes a
	 * parked fiber clears it. If the fiber is not parked yet, its own thread clears it, because
	 * it may have to know what the fiber was given.
	 */
	volatile Waiter waiter;
	/**
	 * The object for which it parks (LockSupport's blocker). The fiber sets it; the thread that
	 * wakes the fiber clears it.
	 */
	volatile Object blocker;
	byte waitKind;
	/**
	 * The wait has a timeout. The timer itself cannot show this: it is added after the wait
	 * opens and removed before the wait is over, and in between an observer would see a wait
	 * without a timeout.
	 */
	boolean timed;
	volatile boolean interrupted;
	/** What is known of its next slice, in the order in which fibers run. */
	static final int SHORT = 0, LONG = 1, UNKNOWN = 2, RANKS = 3;
	/**
	 * SHORT: it has waited. LONG: so it has, and its last slices were long. UNKNOWN: it is new
	 * or has yielded. Written by the fiber's thread while it runs, read by the thread that then
	 * makes it ready. This holds for `seen`, too.
	 */
	byte rank = UNKNOWN;
	/** Number of its last slices, up to 2, that the Watch has seen. */
	private byte seen;
	/** What it asks of the trampoline: see JvmLock. Written by the thread that runs it. */
	Object wants;
	/** LockSupport permit. */
	volatile boolean permit;
	/** The OS thread that blocks for this fiber, which is pinned or foreign; else null. */
	volatile Thread blocked;
	/** Tells `blocked` to go on. */
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

	/**
	 * Returns the fiber that runs the calling code. On a platform thread this is a fiber that
	 * represents the thread.
	 */
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

	/** Returns the java.lang.Thread that its code sees. */
	public Thread asThread() {
		return PicoThread.of(this);
	}

	boolean isForeign() {
		return false;
	}

	/** Makes it runnable. Throws IllegalThreadStateException if it was started before. */
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

	/**
	 * Packs the frames. Called on the carrier, when the fiber has stopped and no other thread
	 * has its frames.
	 */
	final void pack() {
		top = Packed.pack(top);
	}

	/**
	 * For snapshots. Called on the carrier when the frames are complete, before any thread can
	 * resume the fiber.
	 */
	void parking() {}

	/** Called when it is about to sleep for that long. */
	void sleeps(long nanos) {}

	/* --- the wait protocol --- */

	/** The ticket that the next begin() will open. */
	final int nextTicket() {
		int t = wait;
		if ((t & 1) != 0) {
			/* An error (no memory, no stack, a swallowed capture) came between begin() and the
			 * end of the wait: nothing waits for that ticket. */
			abandon();
			t = wait;
		}
		return t + 1;
	}


	/** True: its wait, if any, is for input or output. */
	final boolean isAtDevice() {
		return waitKind == W_PARK ? blocker instanceof Device
			: waitKind == W_CALL && Blocking.isAtDevice(waiter);
	}

	final int begin(int kind, Waiter w) {
		return begin(kind, w, false);
	}

	/** Opens a wait; from here on any thread may claim it. w may be null. */
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

	/** Claims a wait. The waker that gets true stores the result and calls wake(). */
	final boolean claim(int ticket) {
		return (ticket & 1) != 0 && WAIT.compareAndSet(this, ticket, ticket + 1);
	}

	/**
	 * The fiber itself gives up a wait that it has just opened; false: a thread has claimed it.
	 */
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
	 * Abandons the wait because the suspension failed (there was no memory for a frame, or one
	 * was lost). The fiber runs on as if it had not waited. If it was in Object.wait(), its OS
	 * thread blocks until it has its monitor again; if a waker has already claimed the wait,
	 * until the waker has called wake(). The carrier is handed off meanwhile, because other
	 * threads may need it for that. What the waker gave the fiber is given back.
	 */
	final void abandon() {
		Waiter w = waiter;
		boolean open = claim(wait);
		if (open) {
			waiter = null;
			blocker = null;
		}
		boolean given = !open && state != RUNNING;
		Object o = wants;
		wants = null;
		JvmLock.failed(o, !open && !given);
		if (open ? w != null && w.abandon() && state == STOPPING : state == STOPPING)
			block(Context.get());
		waiter = null;
		state = RUNNING;
		Throwable e = thrown();
		if (given)
			giveBack(w, e);
	}

	/** The thread that ended the wait does not know that the wait has failed. */
	private void giveBack(Waiter w, Throwable e) {
		if (waitKind == W_ENTER)
			Monitors.exit(Monitors.awaited(w));
		else if (waitKind == W_PARK)
			permit = true;
		if (e instanceof InterruptedException)
			interrupt();
	}

	/**
	 * Abandons a wait that an error has left open between begin() and the stop. Called before
	 * anything else.
	 */
	final void settle() {
		if ((wait & 1) != 0)
			abandon();
	}

	/**
	 * Throws StackOverflowError unless there are 16 KB of stack: enough to open a wait, to
	 * stop, and to undo both if stopping fails. So the error comes before anything has changed
	 * and not when half is done. It relies on HotSpot, which checks on entry to a method, also
	 * a compiled one, for all the stack that its interpreter needs for the method; the methods
	 * of Reserve need much. Rejected: a method that calls itself 32 times. When compiled, it
	 * took a tenth of the stack that callers needed that were not compiled yet.
	 */
	public static void room() {
		Reserve.much(0);
	}

	/**
	 * Like room() with 4 KB, for what opens or ends a wait. It may be called after room() or
	 * without it.
	 */
	static void step() {
		Reserve.some(0);
	}

	/** Starts the timeout of the wait that was just opened. */
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

	/** At the end of a slice: it was seen by the Watch, or not. */
	final void sampled(boolean seen) {
		this.seen = (byte) (seen ? Math.min(this.seen + 1, 2) : 0);
		if (this.seen == 2 && rank == SHORT)
			rank = LONG;
	}

	/** Keeps a parked fiber from running until unwound(); false: it is not parked. */
	final boolean stopAgain() {
		return STATE.compareAndSet(this, PARKED, STOPPING);
	}

	/** Called on the carrier when the stack is unwound, or before the OS thread blocks. */
	final void unwound() {
		if (!STATE.compareAndSet(this, STOPPING, PARKED)) {
			waiter = null;
			state = READY;
			rt.ready(this);
		}
	}

	/** The last act of a primitive: captures, or blocks the OS thread and returns when woken. */
	final void stop(MethodRef primitive) {
		stop(primitive, null);
	}

	/** The same in a twin. True: the twin must return at once. */
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

	/** Lets other fibers run. */
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
		f.rank = UNKNOWN;
		f.state = WOKEN;
		x.unwind(f, as, c);
	}

	/**
	 * Waits for unpark() or an interrupt, like LockSupport.park(). It may return for no reason.
	 */
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

	/**
	 * nanos 0: no timeout. blocker: the object that dumps and LockSupport.getBlocker() show, or
	 * null.
	 */
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
		/* Before the wait is open, because the thread that ends the wait clears it. */
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
		/* After the wait is open: a thread that set either flag earlier saw no wait to claim. */
		if ((permit || isInterrupted()) && retract(t)) {
			permit = false;
			return false;
		}
		return true;
	}

	/** Wakes a fiber in park(), or else lets its next park() return at once. From any thread. */
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

	/** The JVM's message when a sleep is interrupted. */
	private static final String ASLEEP = "sleep interrupted";

	public void interrupt() {
		interrupted = true;
		deliver();
	}

	/** The interrupt flag is set: ends the open wait if interrupts end this kind of wait. */
	final void deliver() {
		int t = wait;
		if ((t & 1) == 0) {
			rt.interruptOutside(this);
			return;
		}
		/* Not set: it was seen before this wait opened, or it is lent and out() brings it back. */
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
			/* Null or another wait's record: the call has just ended. */
			Waiter c = waiter;
			if (c instanceof Blocking.Call)
				((Blocking.Call) c).interrupt();
			break;
		default:
			break;
		}
	}

	/*
	 * The flag of a fiber that has lost its carrier may be lent: it is then clear here and set
	 * on the fiber's OS thread, for the JDK call in which the fiber is stuck. It moves both
	 * ways under rt.lost. Model: tests/model/lent.pml.
	 */

	public boolean isInterrupted() {
		if (interrupted)
			return true;
		CarrierThread t = carrying();
		return t != null ? t.lent && t.isInterrupted() : rt.hasLent(this);
	}

	/** The calling OS thread, if it runs this fiber; else null. */
	private CarrierThread carrying() {
		Thread t = Thread.currentThread();
		return t instanceof CarrierThread && ((CarrierThread) t).context.fiber == this
			? (CarrierThread) t : null;
	}

	/** Reads and clears the flag. Called by the fiber itself. */
	boolean testInterrupted() {
		boolean i = interrupted;
		if (i)
			interrupted = false;
		/* Checked after the flag was cleared: a thread that takes our carrier sees the flag
		 * clear, or we see here that the carrier is lost. */
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
	 * The thread locals that pico threads inherit from the calling platform thread. Null: there
	 * are none; if make is set, an empty map is made instead.
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

	/** Represents a platform thread. */
	static final class Foreign extends Fiber {
		private final Thread os;
		private Map<ThreadLocal<?>, Object> noted;
		/**
		 * An interrupt came during a wait that interrupts do not end. The flag is set again
		 * after the wait.
		 */
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
			while (!go)
				await();
			blocked = null;
			state = RUNNING;
			if (kept) {
				os.interrupt();
				kept = false;
			}
		}

		/**
		 * Waits to be woken. The thread expires its own timeouts, so that they need no free
		 * carrier.
		 */
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

		/**
		 * Clears the OS thread's flag; otherwise the next wait in the JDK would end at once.
		 * The interrupt ends this wait or is kept for later, and isInterrupted() reports it
		 * while it is kept.
		 */
		private void osInterrupted() {
			Thread.interrupted();
			interrupted = true;
			if ((wait & 1) != 0 && waitKind != W_ENTER)
				deliver();
			/* Still set: interrupts do not end this wait, or something else ended it first. */
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
