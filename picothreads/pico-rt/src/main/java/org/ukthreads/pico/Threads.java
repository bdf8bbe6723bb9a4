package org.ukthreads.pico;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * What calls of java.lang.Thread, LockSupport and friends become at the call site when
 * the method is static or final. The receiver is the first argument. Each works for a
 * PicoThread, for a platform thread, and when called from either.
 */
public final class Threads {
	private static final MethodRef JOIN =
		MethodRef.primitive(Threads.class, "join", "(Ljava/lang/Thread;)V");
	private static final MethodRef JOIN_MILLIS =
		MethodRef.primitive(Threads.class, "join", "(Ljava/lang/Thread;J)V");
	private static final MethodRef JOIN_NANOS =
		MethodRef.primitive(Threads.class, "join", "(Ljava/lang/Thread;JI)V");
	private static final MethodRef SLEEP =
		MethodRef.primitive(Threads.class, "sleep", "(J)V");
	private static final MethodRef SLEEP_NANOS =
		MethodRef.primitive(Threads.class, "sleep", "(JI)V");

	private Threads() {}

	public static Thread currentThread() {
		Fiber f = Context.get().fiber;
		return f == null ? Thread.currentThread() : PicoThread.of(f);
	}

	@Leaf
	public static void sleep(long millis) throws InterruptedException {
		if (millis < 0)
			throw new IllegalArgumentException("timeout value is negative");
		Fiber.sleep(nanos(millis), SLEEP);
	}

	@Leaf
	public static void sleep(long millis, int nanos) throws InterruptedException {
		if (millis < 0)
			throw new IllegalArgumentException("timeout value is negative");
		if (nanos < 0 || nanos > 999_999)
			throw new IllegalArgumentException("nanosecond timeout value out of range");
		Fiber.sleep(nanos(millis) + nanos, SLEEP_NANOS);
	}

	private static long nanos(long millis) {
		return millis > Long.MAX_VALUE / 4_000_000 ? Long.MAX_VALUE / 4
			: millis * 1_000_000;
	}

	@Leaf
	public static void join(Thread t) throws InterruptedException {
		join(t, 0, JOIN);
	}

	@Leaf
	public static void join(Thread t, long millis) throws InterruptedException {
		if (millis < 0)
			throw new IllegalArgumentException("timeout value is negative");
		join(t, nanos(millis), JOIN_MILLIS);
	}

	@Leaf
	public static void join(Thread t, long millis, int nanos) throws InterruptedException {
		if (millis < 0 || nanos < 0 || nanos > 999_999)
			throw new IllegalArgumentException("timeout");
		join(t, nanos(millis) + nanos, JOIN_NANOS);
	}

	private static void join(Thread t, long nanos, MethodRef as)
			throws InterruptedException {
		Fiber f = Fiber.current();
		f.throwIfInterrupted();
		if (!(t instanceof PicoThread)) {
			joinPlatform(f, t, nanos, as);
			return;
		}
		PicoThread p = (PicoThread) t;
		if (p.fiber.state == Fiber.NEW || !p.joinBegin(f, nanos))
			return;
		f.stop(as);
		f.takeV();
	}

	/** The thread is the JVM's: somebody who may block waits for it. */
	private static void joinPlatform(Fiber f, Thread t, long nanos, MethodRef as)
			throws InterruptedException {
		if (f.isForeign()) {
			if (nanos == 0)
				t.join();
			else
				t.join(nanos / 1_000_000, (int) (nanos % 1_000_000));
			return;
		}
		if (!t.isAlive())
			return;
		int ticket = f.begin(Fiber.W_JOIN, null);
		Blocking.execute(() -> {
			try {
				t.join(nanos / 1_000_000, (int) (nanos % 1_000_000));
			} catch (InterruptedException e) {
				/* Nobody interrupts a helper: woken early at worst. */
			}
			if (f.claim(ticket))
				f.wake();
		});
		f.stop(as);
		f.takeV();
	}

	public static boolean isAlive(Thread t) {
		return t instanceof PicoThread ? ((PicoThread) t).alive() : t.isAlive();
	}

	public static boolean interrupted() {
		return Fiber.current().testInterrupted();
	}

	public static boolean holdsLock(Object o) {
		return Monitors.holds(o);
	}

	public static Map<Thread, StackTraceElement[]> getAllStackTraces() {
		Map<Thread, StackTraceElement[]> m = PicoThread.traces();
		Thread.getAllStackTraces().forEach((k, v) -> {
			if (!(k instanceof CarrierThread))
				m.put(k, v);
		});
		return m;
	}

	/* Groups: the JVM's own know its threads only. */

	public static int activeCount() {
		return activeCount(currentThread().getThreadGroup());
	}

	public static int enumerate(Thread[] to) {
		return enumerate(currentThread().getThreadGroup(), to);
	}

	public static int activeCount(ThreadGroup g) {
		return in(g, true).size();
	}

	public static int enumerate(ThreadGroup g, Thread[] to) {
		return enumerate(g, to, true);
	}

	public static int enumerate(ThreadGroup g, Thread[] to, boolean below) {
		int n = 0;
		for (Thread t : in(g, below))
			if (n < to.length)
				to[n++] = t;
		return n;
	}

	public static void interrupt(ThreadGroup g) {
		in(g, true).forEach(Thread::interrupt);
	}

	private static List<Thread> in(ThreadGroup g, boolean below) {
		Thread[] os = new Thread[g.activeCount() + 16];
		int n;
		while ((n = g.enumerate(os, below)) == os.length)
			os = new Thread[2 * n];
		List<Thread> l = new ArrayList<>();
		for (int k = 0; k < n; k++)
			if (!(os[k] instanceof CarrierThread))
				l.add(os[k]);
		for (PicoThread t : PicoThread.all()) {
			ThreadGroup of = t.getThreadGroup();
			if (of != null && (of == g || below && g.parentOf(of)))
				l.add(t);
		}
		return l;
	}

	public static long nanoTime() {
		return PicoRuntime.main().clock.nanos();
	}

	public static long currentTimeMillis() {
		return PicoRuntime.main().clock.millis();
	}

	/* LockSupport */

	public static void unpark(Thread t) {
		if (t instanceof PicoThread)
			((PicoThread) t).fiber.unpark();
		else
			LockSupport.unpark(t);
	}

	private static final MethodRef PARK =
		MethodRef.primitive(Threads.class, "park", "(Ljava/lang/Object;)V");
	private static final MethodRef PARK_NANOS =
		MethodRef.primitive(Threads.class, "parkNanos", "(Ljava/lang/Object;J)V");
	private static final MethodRef PARK_UNTIL =
		MethodRef.primitive(Threads.class, "parkUntil", "(J)V");
	private static final MethodRef PARK_UNTIL_BY =
		MethodRef.primitive(Threads.class, "parkUntil", "(Ljava/lang/Object;J)V");

	@Leaf
	public static void park(Object blocker) {
		Fiber.park(0, PARK);
	}

	@Leaf
	public static void parkNanos(Object blocker, long nanos) {
		if (nanos > 0)
			Fiber.park(nanos, PARK_NANOS);
	}

	@Leaf
	public static void parkUntil(long deadline) {
		until(deadline, PARK_UNTIL);
	}

	@Leaf
	public static void parkUntil(Object blocker, long deadline) {
		until(deadline, PARK_UNTIL_BY);
	}

	private static void until(long deadline, MethodRef as) {
		long ms = deadline - currentTimeMillis();
		if (ms > 0)
			Fiber.park(nanos(ms), as);
	}
}
