// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * The JVM's lock of an object that untranslated code locks, too (SelfLocked): a fiber that
 * enters our monitor of such an object gets the JVM's lock of it as well. The JVM ties a lock
 * to a frame of the stack, so the fiber runs in a trampoline within that frame:
 *
 *   enter   has our monitor, wants = o, unwinds --> run(): synchronized (o) { it goes on }
 *   exit    of its last hold: wants = LEAVE,
 *           unwinds                             --> out of that; then our monitor is exited
 *   wait    if it has no other lock of this
 *           kind: wants = o, unwinds            --> out of that, parked; in again when notified
 *
 * In the block the fiber is pinned: if it waits, it blocks its OS thread. The order is always our
 * monitor, then the JVM's lock. A thread that has only the JVM's lock, because untranslated code
 * that holds it calls the program, takes no other.
 *
 * Where the fiber cannot unwind (below untranslated code, and on a platform thread), it has our
 * monitor alone. SelfLocked says so once for each class.
 */
final class JvmLock {
	private static final MethodRef EXIT =
		MethodRef.primitive(Monitors.class, "exitBoth", "(Ljava/lang/Object;)V");

	/** In Fiber.wants: it leaves the innermost of these locks. */
	private static final Object LEAVE = new Object();

	private final Object key;
	private final JvmLock outer;
	/** How many there are, with this. */
	private final int depth;

	private JvmLock(Object key, JvmLock outer) {
		this.key = key;
		this.outer = outer;
		depth = outer == null ? 1 : outer.depth + 1;
	}

	/** Runs f until it ends (true) or stops. */
	static boolean run(Fiber f, Context x) {
		boolean ended;
		do
			ended = f.wants == null ? f.go(x) : hold(f, x);
		while (!ended && f.state == Fiber.RUNNING && f.wants != LEAVE);
		return ended;
	}

	private static boolean hold(Fiber f, Context x) {
		Object o = f.wants;
		JvmLock outer = x.locks;
		JvmLock l = new JvmLock(o, outer);
		f.wants = null;
		boolean ended;
		synchronized (o) {
			x.locks = l;
			x.pins++;
			try {
				ended = run(f, x);
			} finally {
				x.pins--;
				x.locks = outer;
			}
		}
		if (f.wants == LEAVE) {
			f.wants = null;
			Monitors.exit(o);
		}
		return ended;
	}

	/** True: at most locks of this kind pin x's fiber. */
	private static boolean isFree(Context x) {
		return x.fiber != null && x.current == x.fiber
			&& !x.pinned(x.locks == null ? 0 : x.locks.depth);
	}

	/** True: o's JVM lock is the thread's, but our monitor is not: untranslated code entered it. */
	static boolean isForeign(Object o, Fiber f) {
		return Monitors.owner(o) != f && Thread.holdsLock(o);
	}

	/** Enters our monitor of o, which locks itself, and the JVM's lock if f has neither. */
	static void enter(Object o, Context x, Fiber f) {
		if (isForeign(o, f))
			return;
		boolean first = Monitors.owner(o) != f;
		boolean both = first && isFree(x);
		if (first && !both)
			SelfLocked.alone(o);
		Fiber.room();
		if (both)
			f.wants = o;
		try {
			Monitors.enter(o, Monitors.ENTER_BOTH);
		} catch (RuntimeException | Error e) {
			f.wants = null;
			throw e;
		}
		if (both) {
			f.wants = o;
			x.unwind(f, Monitors.ENTER_BOTH, null);
		}
	}

	/** Unwinds f if this is its last hold of o; else nothing has changed. */
	static void exit(Object o, Context x, Fiber f) {
		if (x.locks.key == o && Monitors.isLast(o, f) && isFree(x)) {
			f.wants = LEAVE;
			x.unwind(f, EXIT, null);
		}
	}

	/** f cannot unwind after it has entered our monitor, or to leave. */
	static void failed(Object wants, boolean entered) {
		if (entered && wants != null && wants != LEAVE)
			Monitors.exit(wants);
	}

	/** The thread of x has the JVM's lock of o for its fiber. */
	static boolean has(Object o, Context x) {
		for (JvmLock l = x.locks; l != null; l = l.outer)
			if (l.key == o)
				return true;
		return false;
	}

	/** The object at which f waits for a notify and whose lock the thread of x has; or null. */
	static Object awaited(Context x, Fiber f) {
		Object o = x.locks == null || f.waitKind != Fiber.W_MONITOR ? null
			: Monitors.awaited(f.waiter);
		return o != null && has(o, x) ? o : null;
	}

	/** True: to wait for a notify at o, x's fiber can unwind. */
	static boolean canLeave(Object o, Context x) {
		return x.locks.depth == 1 && x.locks.key == o && isFree(x);
	}

	/**
	 * Blocks this thread until f may go on. f waits for a notify at o, so the thread must not keep
	 * the JVM's lock of it.
	 */
	static void await(Fiber f, Object o) {
		boolean interrupted = false;
		while (!f.go)
			try {
				o.wait();
			} catch (InterruptedException e) {
				interrupted = true;
			}
		if (interrupted)
			Thread.currentThread().interrupt();
	}

	/** Called when f.go is set: await() has seen it, or waits. */
	static void wake(Object o) {
		synchronized (o) {
			o.notifyAll();
		}
	}
}
