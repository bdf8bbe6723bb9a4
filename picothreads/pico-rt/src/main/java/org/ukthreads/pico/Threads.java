// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * Replaces calls of static and final methods of java.lang.Thread, LockSupport and the like. The
 * receiver is the first argument. Each method works for a PicoThread and for a platform thread,
 * and can be called from either.
 */
@Internal
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
		sleep(millis, null);
	}

	/* With a Capture: the twins (see Capture) of the methods in which programs wait most. */

	public static void sleep(long millis, Capture c) throws InterruptedException {
		if (millis < 0)
			throw new IllegalArgumentException("timeout value is negative");
		Fiber.sleep(nanos(millis), SLEEP, c);
	}

	@Leaf
	public static void sleep(long millis, int nanos) throws InterruptedException {
		if (millis < 0)
			throw new IllegalArgumentException("timeout value is negative");
		if (nanos < 0 || nanos > 999_999)
			throw new IllegalArgumentException("nanosecond timeout value out of range");
		Fiber.sleep(nanos(millis) + nanos, SLEEP_NANOS, null);
	}

	private static long nanos(long millis) {
		return millis > Long.MAX_VALUE / 4_000_000 ? Long.MAX_VALUE / 4
			: millis * 1_000_000;
	}

	private static final MethodRef SLEEP_FOR =
		MethodRef.primitive(Threads.class, "sleep", "(Ljava/time/Duration;)V");

	/** Replaces Thread.sleep(Duration), Java 19. */
	@Leaf
	public static void sleep(Duration d) throws InterruptedException {
		Fiber.sleep(Math.max(0, nanos(d)), SLEEP_FOR, null);
	}

	private static long nanos(Duration d) {
		return d.getSeconds() > Long.MAX_VALUE / 4_000_000_000L ? Long.MAX_VALUE / 4
			: d.toNanos();
	}

	@Leaf
	public static void join(Thread t) throws InterruptedException {
		join(t, 0, JOIN, null);
	}

	public static void join(Thread t, Capture c) throws InterruptedException {
		join(t, 0, JOIN, c);
	}

	@Leaf
	public static void join(Thread t, long millis) throws InterruptedException {
		if (millis < 0)
			throw new IllegalArgumentException("timeout value is negative");
		join(t, nanos(millis), JOIN_MILLIS, null);
	}

	@Leaf
	public static void join(Thread t, long millis, int nanos) throws InterruptedException {
		if (millis < 0 || nanos < 0 || nanos > 999_999)
			throw new IllegalArgumentException("timeout");
		join(t, nanos(millis) + nanos, JOIN_NANOS, null);
	}

	private static final MethodRef JOIN_FOR = MethodRef.primitive(Threads.class, "join",
		"(Ljava/lang/Thread;Ljava/time/Duration;)Z");

	/** Replaces Thread.join(Duration), Java 19. True: t has ended. */
	@Leaf
	public static boolean join(Thread t, Duration d) throws InterruptedException {
		Fiber f = Fiber.current();
		if (t.getState() == Thread.State.NEW)
			throw new IllegalThreadStateException("Thread not started");
		f.throwIfInterrupted();
		long ns = nanos(d);
		if (!isAlive(t) || ns <= 0)
			return !isAlive(t);
		/* The result depends on how the wait ends, so the waker stores it. */
		int ticket;
		if (t instanceof PicoThread) {
			if (!((PicoThread) t).joinBegin(f, ns))
				return true;
		} else {
			ticket = f.begin(Fiber.W_JOIN, null, true);
			Blocking.execute(f, () -> joined(f, ticket, t, ns));
		}
		f.stop(JOIN_FOR);
		return f.takeI() != 0;
	}

	private static void joined(Fiber f, int ticket, Thread t, long nanos) {
		boolean ended = false;
		try {
			t.join(nanos / 1_000_000, (int) (nanos % 1_000_000));
			ended = !t.isAlive();
		} catch (InterruptedException e) {
			/* No code interrupts a helper thread. At worst the wait ends early. */
		}
		if (f.claim(ticket)) {
			f.retJ = ended ? 1 : 0;
			f.wake();
		}
	}

	private static void join(Thread t, long nanos, MethodRef as, Capture c)
			throws InterruptedException {
		if (!isAlive(t))
			return;
		Fiber f = Fiber.current();
		f.throwIfInterrupted();
		if (!(t instanceof PicoThread)) {
			joinPlatform(f, t, nanos, as, c);
			return;
		}
		if (!((PicoThread) t).joinBegin(f, nanos))
			return;
		if (!f.stop(as, c))
			f.takeV();
	}

	/**
	 * Joins a platform thread. A fiber lets a helper thread wait for it; a platform thread
	 * waits itself.
	 */
	private static void joinPlatform(Fiber f, Thread t, long nanos, MethodRef as,
			Capture c) throws InterruptedException {
		if (f.isForeign()) {
			if (nanos == 0)
				t.join();
			else
				t.join(nanos / 1_000_000, (int) (nanos % 1_000_000));
			return;
		}
		if (!t.isAlive())
			return;
		int ticket = f.begin(Fiber.W_JOIN, null, nanos > 0);
		Blocking.execute(f, () -> joined(f, ticket, t, nanos));
		if (!f.stop(as, c))
			f.takeV();
	}

	public static boolean isAlive(Thread t) {
		return t instanceof PicoThread ? ((PicoThread) t).alive() : t.isAlive();
	}

	public static boolean isVirtual(Thread t) {
		return t instanceof PicoThread && ((PicoThread) t).virtual;
	}

	public static void setDaemon(Thread t, boolean on) {
		if (t instanceof PicoThread && ((PicoThread) t).alive())
			throw new IllegalThreadStateException();
		if (isVirtual(t) && !on)
			throw new IllegalArgumentException("'false' not legal for virtual threads");
		t.setDaemon(on);
	}

	/** The priority of a virtual thread does not change. */
	public static void setPriority(Thread t, int to) {
		if (to < Thread.MIN_PRIORITY || to > Thread.MAX_PRIORITY)
			throw new IllegalArgumentException();
		if (!isVirtual(t))
			t.setPriority(to);
	}

	/** Null if t has ended. */
	public static ThreadGroup getThreadGroup(Thread t) {
		if (t instanceof PicoThread && t.getState() == Thread.State.TERMINATED)
			return null;
		return t instanceof PicoThread ? ((PicoThread) t).group() : t.getThreadGroup();
	}

	/** stop, suspend and resume of Thread and ThreadGroup: not supported. */
	public static void stop(Thread t) {
		throw new UnsupportedOperationException();
	}

	public static void stop(ThreadGroup g) {
		throw new UnsupportedOperationException();
	}

	public static boolean interrupted() {
		return Fiber.current().testInterrupted();
	}

	/**
	 * True: the caller holds o's monitor, ours or the JVM's. The translator decides which one
	 * an object has.
	 */
	public static boolean holdsLock(Object o) {
		return Monitors.holds(o) || Thread.holdsLock(o);
	}

	public static Map<Thread, StackTraceElement[]> getAllStackTraces() {
		Map<Thread, StackTraceElement[]> m = PicoThread.traces();
		Thread.getAllStackTraces().forEach((k, v) -> {
			if (RuntimeThread.isVisible(k))
				m.put(k, v);
		});
		return m;
	}

	/** Called by the thread that waits for the program and is no part of it. */
	public static void host() {
		RuntimeThread.host(Thread.currentThread());
	}

	/* Groups: the JVM's groups know only the JVM's threads. */

	public static int activeCount() {
		return activeCount(getThreadGroup(currentThread()));
	}

	public static int enumerate(Thread[] to) {
		return enumerate(getThreadGroup(currentThread()), to);
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

	public static void list(ThreadGroup g) {
		list(g, "");
	}

	private static void list(ThreadGroup g, String indent) {
		System.out.println(indent + g);
		String deeper = indent + "    ";
		for (Thread t : in(g, false))
			System.out.println(deeper + t);
		ThreadGroup[] below = new ThreadGroup[g.activeGroupCount() + 16];
		int n = g.enumerate(below, false);
		for (int k = 0; k < n; k++)
			list(below[k], deeper);
	}

	/** Java 19 made it do nothing. */
	public static void destroy(ThreadGroup g) {
		if (PicoThreadGroup.DESTROYED && !in(g, true).isEmpty())
			throw new IllegalThreadStateException();
		g.destroy();
		PicoThreadGroup.left(g.getParent());
	}

	private static List<Thread> in(ThreadGroup g, boolean below) {
		Thread[] os = new Thread[g.activeCount() + 16];
		int n;
		while ((n = g.enumerate(os, below)) == os.length)
			os = new Thread[2 * n];
		List<Thread> l = new ArrayList<>();
		for (int k = 0; k < n; k++)
			if (RuntimeThread.isVisible(os[k]))
				l.add(os[k]);
		List<PicoThread> ours = new ArrayList<>(PicoThread.all());
		/* The JVM lists threads in the order in which they began. */
		ours.sort(Comparator.comparingLong(Thread::getId));
		for (PicoThread t : ours) {
			ThreadGroup of = t.getThreadGroup();
			if (!t.virtual && of != null && (of == g || below && g.parentOf(of)))
				l.add(t);
		}
		return l;
	}

	public static long nanoTime() {
		long n = PicoRuntime.main().clock.nanos();
		return KeptFiber.anyAhead ? n + KeptFiber.aheadNow() : n;
	}

	public static long currentTimeMillis() {
		return PicoRuntime.main().clock.millis();
	}

	/* Shutdown hooks: the JVM starts threads of its own and waits for them. */

	private static final class Hook extends RuntimeThread {
		private final PicoThread of;

		Hook(PicoThread of) {
			super(null, of.getName(), 0, false);
			this.of = of;
		}

		@Override
		public void run() {
			of.start();
			try {
				Threads.join(of);
			} catch (InterruptedException e) {
				/* Something wants the JVM to end at once. */
			}
		}
	}

	private static final Map<Thread, Hook> HOOKS = new IdentityHashMap<>();

	public static void addShutdownHook(Runtime rt, Thread t) {
		if (!(t instanceof PicoThread)) {
			rt.addShutdownHook(t);
			return;
		}
		synchronized (HOOKS) {
			if (HOOKS.containsKey(t))
				throw new IllegalArgumentException("Hook previously registered");
			if (t.getState() != Thread.State.NEW)
				throw new IllegalArgumentException("Hook already running");
			Hook h = new Hook((PicoThread) t);
			rt.addShutdownHook(h);
			HOOKS.put(t, h);
		}
	}

	public static boolean removeShutdownHook(Runtime rt, Thread t) {
		synchronized (HOOKS) {
			Hook h = HOOKS.get(t);
			if (!rt.removeShutdownHook(h != null ? h : t))
				return false;
			HOOKS.remove(t);
			return true;
		}
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
		Fiber.park(blocker, 0, PARK, null);
	}

	public static void park(Object blocker, Capture c) {
		Fiber.park(blocker, 0, PARK, c);
	}

	@Leaf
	public static void parkNanos(Object blocker, long nanos) {
		parkNanos(blocker, nanos, null);
	}

	public static void parkNanos(Object blocker, long nanos, Capture c) {
		if (nanos > 0)
			Fiber.park(blocker, nanos, PARK_NANOS, c);
	}

	@Leaf
	public static void parkUntil(long deadline) {
		until(null, deadline, PARK_UNTIL);
	}

	@Leaf
	public static void parkUntil(Object blocker, long deadline) {
		until(blocker, deadline, PARK_UNTIL_BY);
	}

	private static void until(Object blocker, long deadline, MethodRef as) {
		long ms = deadline - currentTimeMillis();
		if (ms > 0)
			Fiber.park(blocker, nanos(ms), as, null);
	}

	/** Replaces LockSupport.getBlocker. */
	public static Object getBlocker(Thread t) {
		if (!(t instanceof PicoThread))
			return LockSupport.getBlocker(t);
		Object b = ((PicoThread) t).fiber.blocker;
		return b instanceof Device ? null : b;
	}

	/**
	 * Replaces LockSupport.setCurrentBlocker (Java 14). It lasts until the thread's next wait
	 * is over.
	 */
	public static void setCurrentBlocker(Object blocker) {
		Fiber.current().blocker = blocker;
	}
}
