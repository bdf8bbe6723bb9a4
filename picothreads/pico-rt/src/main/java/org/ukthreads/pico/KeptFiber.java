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
 * stopped() must not block its carrier for long. It only writes the bytes of the snapshot;
 * another thread stores them and calls committed().
 */
@Internal
public abstract class KeptFiber extends Fiber {
	/** It waits for committed(). */
	public static final int COMMIT = 16;
	/** It waits for poke() or for a time. */
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

	/**
	 * Called when it has stopped in a wait of this kind.
	 *
	 * @param nanos until it goes on by itself; Long.MAX_VALUE: never
	 */
	protected abstract void stopped(int kind, long nanos);

	/** Called when its code has ended. e: the exception that ended it, or null. */
	protected abstract void ended(Throwable e);

	/** The stopped fiber whose transaction this OS thread runs. No other thread sees it. */
	private static final ThreadLocal<KeptFiber> TRANSACTS = new ThreadLocal<>();

	/** From now on this OS thread runs the transaction of that stopped fiber; null: of none. */
	protected static void transacts(KeptFiber f) {
		if (f != null)
			TRANSACTS.set(f);
		else
			TRANSACTS.remove();
	}

	/** True: the calling code is in the transaction of a stopped fiber. */
	protected static boolean transacts() {
		return TRANSACTS.get() != null;
	}

	/** Throws if the calling code is in a transaction, where what it calls would have no effect. */
	public static void outside(String what) {
		if (transacts())
			throw new IllegalStateException(what
				+ " inside Durable.transaction(): call it before or after");
	}

	/**
	 * The kept fiber that runs the calling code, or whose transaction it is. Throws
	 * IllegalStateException if there is none.
	 */
	public static KeptFiber running() {
		Fiber f = Context.get().fiber;
		if (f == null)
			f = TRANSACTS.get();
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

	/** Waits for poke(), or for that many nanoseconds. It may return early. */
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

	/**
	 * The duration of the present SLEEP. The fiber's own code writes it before it stops, and
	 * the thread that holds the stopped fiber reads it.
	 */
	private long asked;

	@Override
	final void sleeps(long nanos) {
		asked = nanos;
	}

	/**
	 * The whole duration of the present SLEEP, of which some has passed when stopped() is
	 * called.
	 */
	protected final long asked() {
		return asked;
	}

	/** Started and not ended; for dumps. */
	static final Set<KeptFiber> LIVE = ConcurrentHashMap.newKeySet();

	private volatile boolean poked;
	/* For keep(): the ticket that was seen, since when, and the ticket for which it called
	 * stopped(). */
	private int seen;
	private long since;
	private int told;
	/**
	 * By how much System.nanoTime in its code is ahead of the clock, so that it goes on from
	 * where it was saved.
	 */
	private long ahead;
	/** True: some fiber has an `ahead` that is not 0. */
	static volatile boolean anyAhead;

	private static KeptFiber stoppable(String what) {
		outside("Durable." + what);
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
	 * Calls stopped() if the fiber has been in the same wait for that long and stopped() was
	 * not called for this wait. Only one thread may call this, and not a thread of the runtime.
	 * The fiber cannot go on meanwhile: it is STOPPING, so a waker only sets WOKEN, and
	 * unwound() then queues it.
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

	/** True: it blocks an OS thread, so its frames are not complete. */
	public final boolean isPinned() {
		return blocked != null;
	}

	/** The object whose monitor it waits for; null: it waits for none. */
	public final Object monitor() {
		return Monitors.awaited(waiter);
	}

	/** The number of holds that it will then have. */
	public final int monitorCount() {
		return Monitors.count(waiter);
	}

	/** System.nanoTime as its code sees it. */
	public final long nanoTime() {
		return rt.clock.nanos() + ahead;
	}

	/** Lets System.nanoTime in its code go on from there. */
	public final void nanoTime(long now) {
		ahead = now - rt.clock.nanos();
		anyAhead |= ahead != 0;
	}

	/** By how much System.nanoTime of the calling code is ahead of the clock. */
	static long aheadNow() {
		Fiber f = Context.get().fiber;
		return f instanceof KeptFiber ? ((KeptFiber) f).ahead : 0;
	}

	/**
	 * Ends the wait in commit(). Called from any thread, once per stopped(COMMIT). e: what
	 * commit() throws, or null.
	 */
	public final void committed(Throwable e) {
		int t = wait;
		if (waitKind == COMMIT && claim(t)) {
			fail(e);
			wake();
		}
	}

	/** Ends the present await(), or else the next one. From any thread. */
	public final void poke() {
		poked = true;
		int t = wait;
		if ((t & 1) != 0 && waitKind == AWAIT && claim(t)) {
			poked = false;
			wake();
		}
	}

	/**
	 * The ticket of its open wait, if it can leave in that wait: a commit, an await or a sleep,
	 * with complete frames and no monitor held. 0: it cannot.
	 */
	public final int leavable() {
		int t = wait;
		int k = waitKind;
		return (t & 1) != 0 && (k == COMMIT || k == AWAIT || k == SLEEP) && blocked == null
			&& Monitors.heldBy(this).isEmpty() ? t : 0;
	}

	/**
	 * Takes it out of that wait for good: nothing wakes it any more, and it is not live. False:
	 * it has gone on.
	 */
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

	/** Starts a fiber that Freezer.read has filled, in the wait in which it was saved. */
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

	/** The same for a fiber that waits for a monitor. */
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

	/** True: t is the thread that this fiber's code sees. */
	public final boolean is(Object t) {
		return t != null && t == thread;
	}

	/** Makes a daemon thread of the JVM, also where `new Thread` makes a pico thread. */
	public static Thread platform(String name, Runnable r) {
		return new RuntimeThread(r, name, 0, true);
	}
}
