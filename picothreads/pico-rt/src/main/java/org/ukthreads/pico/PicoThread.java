// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/*
 * The java.lang.Thread of a translated program: the same type with another implementation.
 *
 * `new Thread(...)` becomes `new PicoThread(...)`, and a class that extends Thread extends this
 * one; signatures, casts and JDK interfaces (ThreadFactory, handlers) stay. The JVM's own
 * thread is never started: start() is overridden, and calls of what is final in Thread (join,
 * isAlive) become calls of Threads. The name, daemon flag, priority, group, context class
 * loader and handlers are plain data and are inherited.
 */
/**
 * The java.lang.Thread of a fiber: what {@code new Thread} makes in translated code. Its
 * methods do and throw what the JDK's documentation says.
 */
public class PicoThread extends Thread {
	final Fiber fiber;
	private final Runnable target;
	/** The result of Thread.isVirtual(). */
	final boolean virtual;
	/** The group that all virtual threads report, although it does not list them. */
	static volatile ThreadGroup virtualGroup;
	private volatile boolean ended;
	/** ThreadLocal values. Only the thread itself uses them. */
	Map<ThreadLocal<?>, Object> locals;
	/** The threads that wait in join(). Under this list. */
	private final List<Joiner> joiners = new ArrayList<>(0);

	private static final Set<PicoThread> LIVE = ConcurrentHashMap.newKeySet();
	private static final AtomicInteger NON_DAEMON = new AtomicInteger();
	/**
	 * For ThreadBean: how many of LIVE are not virtual, how many of these have lived at once, and
	 * how many were started. The thread that starts one counts it before it can run; the one
	 * that ends discounts itself before `ended` is set.
	 */
	private static final AtomicInteger COUNT = new AtomicInteger();
	private static final AtomicInteger PEAK = new AtomicInteger();
	private static final AtomicLong STARTED = new AtomicLong();

	private static final Code RUN_CODE = new Code(PicoThread.class,
		"run\n()V\njava/lang/Runnable\n\nM\t0\t1\t0\nS\t0\ti\t2\t0\t1") {
		@Override
		protected boolean resume(Continuation t, int at, Frame f) {
			t.takeV();
			return true;
		}
	};
	private static final Site[] RUN = RUN_CODE.sites();

	public PicoThread() {
		this(null, (Runnable) null);
	}

	public PicoThread(Runnable target) {
		this(null, target);
	}

	public PicoThread(ThreadGroup group, Runnable target) {
		super(group != null ? group : home(), (Runnable) null);
		this.target = target;
		virtual = false;
		fiber = new Of(this);
		inherit(true);
	}

	public PicoThread(String name) {
		this(null, null, name);
	}

	public PicoThread(ThreadGroup group, String name) {
		this(group, null, name);
	}

	public PicoThread(Runnable target, String name) {
		this(null, target, name);
	}

	public PicoThread(ThreadGroup group, Runnable target, String name) {
		this(group, target, name, 0);
	}

	public PicoThread(ThreadGroup group, Runnable target, String name, long stackSize) {
		this(group, target, name, stackSize, true);
	}

	public PicoThread(ThreadGroup group, Runnable target, String name, long stackSize,
			boolean inheritLocals) {
		super(group != null ? group : home(), null, name, stackSize);
		this.target = target;
		virtual = false;
		fiber = new Of(this);
		inherit(inheritLocals);
	}

	/** A thread like one that the JVM's own builders made. */
	PicoThread(Thread like, Runnable target, boolean virtual, boolean inheritLocals) {
		super(virtual ? null : like.getThreadGroup(), null, like.getName(), 0);
		this.target = target;
		this.virtual = virtual;
		fiber = new Of(this);
		inherit(inheritLocals);
		if (virtual)
			virtualGroup = like.getThreadGroup();
		setDaemon(like.isDaemon());
		if (like.getPriority() != getPriority())
			setPriority(like.getPriority());
		UncaughtExceptionHandler h = like.getUncaughtExceptionHandler();
		if (h != like.getThreadGroup())
			setUncaughtExceptionHandler(h);
	}

	/** The thread of a bare fiber, when its code asks for Thread.currentThread(). */
	private PicoThread(Fiber f) {
		super((ThreadGroup) null, null, "fiber-" + Integer.toHexString(f.hashCode()), 0);
		target = null;
		virtual = false;
		fiber = f;
		setDaemon(true);
	}

	/** The group of the calling pico thread; null, which lets the JVM choose: there is none. */
	private static ThreadGroup home() {
		Fiber f = Context.get().fiber;
		return f == null ? null : of(f).group();
	}

	/** The thread's group, even when it has ended. */
	ThreadGroup group() {
		return virtual ? virtualGroup : getThreadGroup();
	}

	static PicoThread of(Fiber f) {
		PicoThread t = f.thread;
		if (t == null) {
			synchronized (f) {
				t = f.thread;
				if (t == null) {
					t = new PicoThread(f);
					f.thread = t;
				}
			}
		}
		return t;
	}

	/** Takes over what a new thread inherits from the thread that makes it. */
	private void inherit(boolean locals) {
		if (!virtual && getThreadGroup() instanceof PicoThreadGroup)
			((PicoThreadGroup) getThreadGroup()).made();
		Fiber parent = Context.get().fiber;
		if (parent == null) {
			setDaemon(Thread.currentThread().isDaemon()
				&& !(Thread.currentThread() instanceof CarrierThread));
			Map<ThreadLocal<?>, Object> m = locals ? Fiber.noted(false) : null;
			if (m != null)
				this.locals = PicoInheritableThreadLocal.childValues(m);
			return;
		}
		PicoThread p = of(parent);
		setDaemon(p.isDaemon());
		if (p.getPriority() != getPriority())
			setPriority(p.getPriority());
		ClassLoader l = p.getContextClassLoader();
		if (l != getContextClassLoader())
			setContextClassLoader(l);
		PicoThread maker = parent.thread;
		if (locals && maker != null && maker.locals != null)
			this.locals = PicoInheritableThreadLocal.childValues(maker.locals);
	}

	/** The fiber of a thread object: runs what a JVM thread would run. */
	private static final class Of extends Fiber {
		Of(PicoThread t) {
			super(PicoRuntime.main(), null);
			thread = t;
		}

		@Override
		Runnable entry() {
			PicoThread t = thread;
			return t.runsTask() ? t.target : t;
		}
	}

	/** True: the JDK's Thread.run would call the task; false: the thread is one of its own. */
	boolean runsTask() {
		return getClass() == PicoThread.class && target != null;
	}

	/** True: the first method of this thread is in that class, and is not a task. */
	boolean isOwn(String type) {
		if (runsTask())
			return false;
		for (Class<?> c = getClass(); c != PicoThread.class; c = c.getSuperclass())
			if (c.getName().equals(type))
				return true;
		return target == null && getClass() == PicoThread.class
			|| type.equals(PicoThread.class.getName());
	}

	@Override
	public void start() {
		if (fiber.state != Fiber.NEW)
			throw new IllegalThreadStateException();
		/* Another thread may start it at the same time. */
		if (!enlist())
			throw new IllegalThreadStateException();
		if (!isDaemon() && NON_DAEMON.getAndIncrement() == 0)
			Keeper.hold();
		boolean ok = false;
		try {
			fiber.start();
			ok = true;
		} finally {
			if (!ok && delist() && !virtual)
				STARTED.decrementAndGet();
		}
	}

	/** False: another thread starts it, too. */
	private boolean enlist() {
		if (!LIVE.add(this))
			return false;
		if (virtual)
			return true;
		STARTED.incrementAndGet();
		int n = COUNT.incrementAndGet();
		for (int p; n > (p = PEAK.get()) && !PEAK.compareAndSet(p, n);) {
			/* Another thread has set the peak meanwhile. */
		}
		return true;
	}

	private boolean delist() {
		if (!LIVE.remove(this))
			return false;
		if (!virtual)
			COUNT.decrementAndGet();
		return true;
	}

	/* The numbers of the threads that are not virtual. */

	static int count() {
		return COUNT.get();
	}

	static int peak() {
		return PEAK.get();
	}

	static void resetPeak() {
		PEAK.set(COUNT.get());
	}

	static long started() {
		return STARTED.get();
	}

	/** Also called by subclasses, from anywhere, and by programs that do not start the thread. */
	@Pico
	@Override
	public void run() {
		Runnable r = target;
		if (r == null)
			return;
		try {
			r.run();
		} catch (Throwable e) {
			if (e instanceof Capture)
				((Capture) e).pusher.at((Capture) e, RUN[0], r).push();
			Continuation.<RuntimeException>sneak(e);
		}
	}

	/** Called on the carrier, as this thread, when its code has ended. */
	void ended(Throwable e) {
		try {
			if (e != null)
				Traces.uncaught(e, fiber);
			if (e != null)
				getUncaughtExceptionHandler().uncaughtException(this, e);
		} catch (Throwable again) {
			/* Ignored, as in the JVM. */
		}
		/* Before `ended` is set: a thread that sees its end must not find it in its group any
		 * more. */
		delist();
		leave();
		synchronized (joiners) {
			ended = true;
		}
		/* This allocates nothing, because there may be no memory. */
		for (Joiner j; (j = joiner()) != null;)
			if (j.fiber.claim(j.ticket)) {
				j.fiber.retJ = 1;
				j.fiber.wake();
			}
		Monitors.ended(this);
		if (!isDaemon() && NON_DAEMON.decrementAndGet() == 0)
			Keeper.release();
	}

	private void leave() {
		try {
			if (!virtual && getThreadGroup() instanceof PicoThreadGroup)
				((PicoThreadGroup) getThreadGroup()).ended();
		} catch (OutOfMemoryError | StackOverflowError e) {
			/* The group stays. */
		}
	}

	private Joiner joiner() {
		synchronized (joiners) {
			return joiners.isEmpty() ? null : joiners.remove(0);
		}
	}

	private static final class Joiner extends Timers.Entry {
		private final PicoThread of;

		Joiner(Fiber f, PicoThread of) {
			super(f.rt.timers, f, f.nextTicket());
			this.of = of;
		}

		@Override
		void expired() {
			drop();
			if (fiber.claim(ticket)) {
				fiber.retJ = 0;
				fiber.wake();
			}
		}

		@Override
		void cancel() {
			super.cancel();
			drop();
		}

		private void drop() {
			synchronized (of.joiners) {
				of.joiners.remove(this);
			}
		}
	}

	/** The thread for whose end w waits, or null. */
	static PicoThread joined(Waiter w) {
		return w instanceof Joiner ? ((Joiner) w).of : null;
	}

	/** Opens a wait of f for the end of this thread; false: it has ended. */
	boolean joinBegin(Fiber f, long nanos) {
		Joiner j = new Joiner(f, this);
		synchronized (joiners) {
			if (ended)
				return false;
			f.begin(Fiber.W_JOIN, j, nanos > 0);
			joiners.add(j);
		}
		if (nanos > 0)
			f.expireIn(j, nanos);
		return true;
	}

	boolean alive() {
		return fiber.state != Fiber.NEW && !ended;
	}

	@Override
	public void interrupt() {
		fiber.interrupt();
	}

	@Override
	public boolean isInterrupted() {
		return fiber.isInterrupted();
	}

	@Override
	public String toString() {
		if (!virtual) {
			String s = super.toString();
			String in = "," + getThreadGroup().getName() + "]";
			/* A thread that has ended is in no group. */
			return getState() == State.TERMINATED && s.endsWith(in)
				? s.substring(0, s.length() - in.length()) + ",]" : s;
		}
		Carrier c = Context.get().fiber == fiber ? Carrier.current() : null;
		return "VirtualThread[#" + getId() + (getName().isEmpty() ? "" : "," + getName()) + "]/"
			+ getState().toString().toLowerCase(java.util.Locale.ROOT)
			+ (c != null ? "@" + Thread.currentThread().getName() : "");
	}

	/** Returns the light thread below it, for schedulers, park and unpark. */
	public Fiber fiber() {
		return fiber;
	}

	@Override
	public Thread.State getState() {
		return seenState();
	}

	/** The same. The program cannot override it. */
	final State seenState() {
		State s = ended ? State.TERMINATED : state(fiber);
		return (s == State.WAITING || s == State.TIMED_WAITING) && !virtual
			&& fiber.isAtDevice() ? State.RUNNABLE : s;
	}

	/**
	 * STOPPING is RUNNABLE: a thread that sees this one wait must be able to see all its
	 * frames.
	 */
	static Thread.State state(Fiber fiber) {
		switch (fiber.state) {
		case Fiber.NEW:
			return State.NEW;
		case Fiber.PARKED:
			if (Monitors.isBlocked(fiber))
				return State.BLOCKED;
			return fiber.timed ? State.TIMED_WAITING : State.WAITING;
		case Fiber.DONE:
			return State.TERMINATED;
		case Fiber.RUNNING:
			return Dump.isBlocked(fiber) ? State.BLOCKED : State.RUNNABLE;
		default:
			return State.RUNNABLE;
		}
	}

	/** Null if the thread has ended. */
	@Override
	public UncaughtExceptionHandler getUncaughtExceptionHandler() {
		return ended ? null : super.getUncaughtExceptionHandler();
	}

	@Override
	public StackTraceElement[] getStackTrace() {
		if (Context.get().fiber == fiber)
			return Traces.here();
		/* It may have ended while its carrier still wakes the threads that joined it. */
		return alive() ? Dump.trace(fiber) : new StackTraceElement[0];
	}

	/** Returns the threads that were started and have not ended. */
	public static Set<PicoThread> all() {
		return new java.util.HashSet<>(LIVE);
	}

	/**
	 * Forgets the threads of a runtime that was shut down: they never run again, so the JVM
	 * must not wait for them.
	 */
	static void forget(PicoRuntime rt) {
		for (PicoThread t : LIVE)
			if (t.fiber.rt == rt && t.delist() && !t.isDaemon()
					&& NON_DAEMON.decrementAndGet() == 0)
				Keeper.release();
	}

	static Map<Thread, StackTraceElement[]> traces() {
		Map<Thread, StackTraceElement[]> m = new HashMap<>();
		for (PicoThread t : LIVE)
			if (!t.virtual)
				m.put(t, t.getStackTrace());
		return m;
	}

	/** A platform thread that keeps the JVM running while a non-daemon pico thread lives. */
	private static final class Keeper implements Runnable {
		private static Thread keeper;

		static synchronized void hold() {
			if (keeper != null)
				return;
			keeper = new RuntimeThread(new Keeper(), "pico-keeper", 65536, false);
			keeper.start();
		}

		static void release() {
			synchronized (Keeper.class) {
				Keeper.class.notifyAll();
			}
		}

		@Override
		public void run() {
			synchronized (Keeper.class) {
				while (NON_DAEMON.get() > 0) {
					try {
						Keeper.class.wait();
					} catch (InterruptedException e) {
						continue;
					}
				}
				keeper = null;
			}
		}
	}
}
