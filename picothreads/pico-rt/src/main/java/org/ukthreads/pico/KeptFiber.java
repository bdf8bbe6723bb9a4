// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/*
 * A fiber that is told when it stops, so that it can be saved, and that can begin in the
 * middle: the base of durable threads.
 *
 *   commit(), await(), Thread.sleep --> frames complete --> stopped(kind, nanos)
 *                                                            on the carrier; nothing runs
 *   a new process: Freezer.read(fiber, in); fiber.arm(kind, nanos)
 *
 * stopped() must not block its carrier for long: it takes the bytes; another thread
 * stores them and calls committed().
 */
@Internal
public abstract class KeptFiber extends Fiber {
	/** It waits for committed(). */
	public static final int COMMIT = 16;
	/** It waits for poke(), or for the time. */
	public static final int AWAIT = 17;
	/** Thread.sleep. */
	public static final int SLEEP = W_SLEEP;
	/** A wait that something else ends; see keep(). */
	public static final int PARK = W_PARK, MONITOR = W_MONITOR, ENTER = W_ENTER, JOIN = W_JOIN;

	private static final MethodRef COMMITS =
		MethodRef.primitive(KeptFiber.class, "commit", "()V");
	private static final MethodRef AWAITS =
		MethodRef.primitive(KeptFiber.class, "await", "(J)V");

	protected KeptFiber(PicoRuntime rt, Runnable task) {
		super(rt, task);
	}

	/** @param nanos until it goes on by itself; Long.MAX_VALUE: never */
	protected abstract void stopped(int kind, long nanos);

	/** Its code has ended; e: how, or null. */
	protected abstract void ended(Throwable e);

	/** The kept fiber that runs the calling code. */
	public static KeptFiber running() {
		Fiber f = Context.get().fiber;
		if (!(f instanceof KeptFiber))
			throw new IllegalStateException("not a durable thread: " + Fiber.current());
		return (KeptFiber) f;
	}

	@Leaf
	public static void commit() {
		KeptFiber f = stoppable("commit()");
		f.begin(COMMIT, null);
		f.stop(COMMITS);
		f.takeV();
	}

	/** Until poke(), or so many nanoseconds; may return early. */
	@Leaf
	public static void await(long nanos) {
		KeptFiber f = stoppable("await()");
		if (f.poked || nanos <= 0) {
			f.poked = false;
			return;
		}
		int t = f.waitFor(AWAIT, nanos);
		if (f.poked && f.retract(t)) {
			f.poked = false;
			return;
		}
		f.stop(AWAITS);
		f.takeV();
	}

	/** Written by its own code before it stops, read by whoever holds it stopped. */
	private long asked;

	@Override
	final void sleeps(long nanos) {
		asked = nanos;
	}

	/** How long the present SLEEP was to be: some of it has passed when stopped() is called. */
	protected final long asked() {
		return asked;
	}

	/** Started and not ended; for dumps. */
	static final Set<KeptFiber> LIVE = ConcurrentHashMap.newKeySet();

	private volatile boolean poked;
	/* Of keep(): the wait that was seen, since when, and the one that was told. */
	private int seen;
	private long since;
	private int told;
	/** What System.nanoTime is ahead of the clock's in its code: it goes on where it was. */
	private long ahead;
	/** Is any? */
	static volatile boolean anyAhead;

	private static KeptFiber stoppable(String what) {
		KeptFiber f = running();
		Context x = Context.get();
		if (x.current != f || x.pinned())
			throw new PinnedException(what + " below a frame that cannot be captured");
		return f;
	}

	private int waitFor(int kind, long nanos) {
		if (nanos == Long.MAX_VALUE)
			return begin(kind, null);
		Timers.Entry e = new Timers.Entry(rt.timers, this, nextTicket());
		int t = begin(kind, e, true);
		expireIn(e, nanos);
		return t;
	}

	@Override
	final void parking() {
		int t = wait;
		int kind = waitKind;
		if ((t & 1) == 0 || (kind != COMMIT && kind != AWAIT && kind != SLEEP))
			return;
		try {
			stopped(kind, left(waiter));
		} catch (Throwable e) {
			if (claim(t)) {
				fail(e);
				wake();
			}
		}
	}

	/**
	 * Calls stopped() if it waits, in the same call, for as long as that, and it has not
	 * been called for this wait. By one thread, which is none of the runtime's. It cannot
	 * go on meanwhile: who wakes it leaves that to us (see Fiber: as if it still unwound).
	 */
	public final void keep(long nanos) {
		int t = wait;
		if ((t & 1) == 0 || t == told)
			return;
		if (t != seen) {
			seen = t;
			since = System.nanoTime();
			return;
		}
		if (System.nanoTime() - since < nanos || !stopAgain())
			return;
		try {
			if (wait != t || waitKind == COMMIT || waitKind == AWAIT
					|| waitKind == SLEEP && !isPinned())
				return;
			told = t;
			stopped(waitKind, left(waiter));
		} finally {
			unwound();
		}
	}

	private long left(Waiter w) {
		return w instanceof Timers.Entry && ((Timers.Entry) w).pending()
			? Math.max(0, ((Timers.Entry) w).at - rt.clock.nanos()) : Long.MAX_VALUE;
	}

	/** It waits in an OS thread: its frames are not all there. */
	public final boolean isPinned() {
		return blocked != null;
	}

	/** Of a wait for a monitor: whose; else null. */
	public final Object monitor() {
		return Monitors.awaited(waiter);
	}

	/** How often it will hold it. */
	public final int monitorCount() {
		return Monitors.count(waiter);
	}

	/** System.nanoTime as its code sees it. */
	public final long nanoTime() {
		return rt.clock.nanos() + ahead;
	}

	/** It goes on from there. */
	public final void nanoTime(long now) {
		ahead = now - rt.clock.nanos();
		anyAhead |= ahead != 0;
	}

	/** What System.nanoTime of the calling code is ahead. */
	static long aheadNow() {
		Fiber f = Context.get().fiber;
		return f instanceof KeptFiber ? ((KeptFiber) f).ahead : 0;
	}

	/** From any thread, once per stopped(COMMIT). e: what commit() throws, or null. */
	public final void committed(Throwable e) {
		int t = wait;
		if (waitKind == COMMIT && claim(t)) {
			fail(e);
			wake();
		}
	}

	/** Ends the present or next await. */
	public final void poke() {
		poked = true;
		int t = wait;
		if ((t & 1) != 0 && waitKind == AWAIT && claim(t)) {
			poked = false;
			wake();
		}
	}

	/**
	 * The ticket of its open wait, if it can leave in that: a commit, an await or a sleep,
	 * its frames are complete and it holds no monitor. 0: it cannot.
	 */
	public final int leavable() {
		int t = wait;
		int k = waitKind;
		return (t & 1) != 0 && (k == COMMIT || k == AWAIT || k == SLEEP) && blocked == null
			&& Monitors.heldBy(this).isEmpty() ? t : 0;
	}

	/** Nothing wakes it from that wait any more, and it is not live. False: it has gone on. */
	public final boolean leave(int ticket) {
		if (!claim(ticket))
			return false;
		Waiter w = waiter;
		waiter = null;
		if (w != null)
			w.cancel();
		rt.ended(this);
		return true;
	}

	/** Starts what Freezer.read has filled, in the wait that it was saved in. */
	public final void arm(int kind, long nanos) {
		rt.started(this);
		int t = waitFor(kind, kind == COMMIT ? Long.MAX_VALUE : nanos);
		if (kind == COMMIT || kind == AWAIT && poked || kind == PARK && permit) {
			permit = false;
			if (claim(t))
				wake();
		}
		unwound();
	}

	/** The same for one that waits for a monitor. */
	public final void arm(int kind, long nanos, Object monitor, int count) {
		rt.started(this);
		Monitors.adoptWait(this, kind, monitor, count, nanos);
		unwound();
	}

	@Override
	void done(Throwable e) {
		try {
			ended(e);
		} finally {
			if (thread != null)
				super.done(null);
		}
	}

	/** Is t what this fiber's code sees as its thread? */
	public final boolean is(Object t) {
		return t != null && t == thread;
	}

	/** A daemon thread of the JVM, also where `new Thread` makes a pico thread. */
	public static Thread platform(String name, Runnable r) {
		return new RuntimeThread(r, name, 0, true);
	}
}
