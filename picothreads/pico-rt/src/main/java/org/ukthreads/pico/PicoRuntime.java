// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/*
 * Carriers, a scheduler, timers and a clock.
 *
 *   fiber ready --> scheduler --next--> carrier (held by an OS thread) --slice--> fiber
 *        ^                                  | nothing ready: expire timers,
 *        |                                  | then wait in its reactor
 *        +--- timers, reactor, other fibers, platform threads (rt.ready)
 *
 * A carrier that finds nothing puts itself in `idle` *before* it looks a last time; a ready()
 * that comes later finds it there and wakes it. The order (list, look) against (queue, list)
 * makes a lost wake-up impossible. The carrier counts itself in the volatile `sleepers` under
 * the idle lock; ready() takes that lock only if it reads a count that is not 0.
 *
 * No timer is late while a carrier sleeps: at least one of the carriers in `idle` (the keeper)
 * sleeps no longer than until the first timer is due. So wakeOne() takes the carrier that
 * sleeps longest. A carrier that leaves with work, and a thread that adds a timer which is the
 * first, make another carrier look again if that is necessary (guard).
 *
 * Lock order: monitor stripe > idle > (scheduler's own, timers, lost). None is held when
 * program code runs.
 */
/**
 * The carriers, scheduler, timers and clock on which pico threads run. A program needs only
 * {@link #main}; a test may make a runtime of its own. Times are in nanoseconds. Thread-safe.
 */
public final class PicoRuntime {
	final Timers timers = new Timers(this);
	final Clock clock;
	private final Scheduler scheduler;
	private final Carrier[] carriers;
	private final String name;
	private final AtomicInteger threads = new AtomicInteger();
	private final AtomicLong live = new AtomicLong();
	private final ArrayDeque<CarrierThread> spares = new ArrayDeque<>();
	/** Carriers for which no OS thread could be made. Also under spares. */
	private final ArrayDeque<Carrier> orphans = new ArrayDeque<>();
	private final Object idle = new Object();
	private final Lost lost = new Lost();
	private final Watch watch;
	/** Number of carriers that sleep or are about to. Written under idle. */
	private volatile int sleepers;
	/** The earliest time at which one of them looks at the timers again. Written under idle. */
	private volatile long keeps = Timers.NONE;
	/** Carriers with an OS thread: one more than have had a fiber. Written under idle. */
	private volatile int begun;
	private volatile boolean stopped;
	private boolean running;

	private static final class Main {
		static final PicoRuntime RT = new PicoRuntime("pico",
			Integer.getInteger("pico.carriers", Runtime.getRuntime().availableProcessors()),
			null, Clock.REAL);
	}

	/** Returns the default runtime. It has as many carriers as processors (-Dpico.carriers=N). */
	public static PicoRuntime main() {
		PicoRuntime r = installed;
		return r != null ? r : Main.RT;
	}

	private static volatile PicoRuntime installed;

	/**
	 * Makes r the default runtime, for simulations and tests. Called before any thread is made.
	 */
	public static void install(PicoRuntime r) {
		installed = r;
	}

	/**
	 * Makes a runtime. scheduler null: round-robin. Throws IllegalArgumentException if carriers
	 * is less than 1.
	 */
	public PicoRuntime(String name, int carriers, Scheduler scheduler, Clock clock) {
		if (carriers < 1)
			throw new IllegalArgumentException("carriers: " + carriers);
		this.name = name;
		this.clock = clock;
		this.scheduler = scheduler != null ? scheduler : new RoundRobin(carriers);
		this.carriers = new Carrier[carriers];
		for (int k = 0; k < carriers; k++)
			this.carriers[k] = new Carrier(this, k);
		watch = clock == Clock.REAL ? Watch.of(this, this.carriers) : null;
	}

	/**
	 * Makes a light thread without a java.lang.Thread (one is made if its code asks for it).
	 * The caller starts it.
	 */
	public Fiber fiber(Runnable task) {
		return new Fiber(this, task);
	}

	public Clock clock() {
		return clock;
	}

	public int carriers() {
		return carriers.length;
	}

	/** Returns the number of fibers that were started and have not ended. */
	public long live() {
		return live.get();
	}

	/** Ends the carriers. Fibers that have not ended never run again. */
	public void shutdown() {
		stopped = true;
		synchronized (idle) {
			for (Carrier c : carriers)
				if (c.holder != null)
					c.wakeup();
				else
					c.close();
		}
		synchronized (spares) {
			spares.forEach(java.util.concurrent.locks.LockSupport::unpark);
		}
	}

	/**
	 * Shuts down, waits until no carrier runs a fiber, and forgets the threads that are left:
	 * they are not among PicoThread.all() and do not keep the JVM running. For simulations,
	 * called on a platform thread. It does not wait for an OS thread that its fiber blocks or
	 * that computes without a carrier.
	 */
	public void abandon() throws InterruptedException {
		shutdown();
		for (Carrier c : carriers) {
			CarrierThread t = c.holder;
			while (t != null && t == c.holder && t.isAlive())
				t.join(10);
		}
		PicoThread.forget(this);
	}

	boolean stopped() {
		return stopped;
	}

	/** Makes f ready. From any thread. */
	void ready(Fiber f) {
		if (f.isForeign()) {
			Thread t = f.blocked;
			f.go = true;
			java.util.concurrent.locks.LockSupport.unpark(t);
			return;
		}
		if (!running)
			startCarriers();
		scheduler.ready(f);
		wakeOne();
	}

	private void wakeOne() {
		if (sleepers == 0)
			return;
		Carrier w = null;
		synchronized (idle) {
			for (Carrier c : carriers)
				if (c.idle && (w == null || Timers.before(w.until, c.until)))
					w = c;
			if (w != null)
				busy(w);
		}
		if (w != null)
			w.wakeup();
	}

	/**
	 * Called when a new timer is the first one: a carrier that would sleep too long must look
	 * again.
	 */
	void deadlineMoved() {
		if (!running)
			startCarriers();
		if (Carrier.ofThread() == null || sleeps())
			wakeOne();
		else
			guard();
	}

	/** With several carriers: wakes one if all that sleep would sleep beyond the first timer. */
	private void guard() {
		if (sleepers > 0 && Timers.before(timers.first(), keeps))
			wakeOne();
	}

	/** Under idle: puts c in; it looks at the timers again at `until`. */
	private void idle(Carrier c, long until) {
		if (!c.idle)
			sleepers++;
		c.idle = true;
		c.until = until;
		kept();
	}

	/** Under idle: takes c out. */
	private void busy(Carrier c) {
		c.idle = false;
		sleepers--;
		kept();
	}

	private void kept() {
		long first = Timers.NONE;
		for (Carrier c : carriers)
			if (c.idle && Timers.before(c.until, first))
				first = c.until;
		keeps = first;
	}

	private void startCarriers() {
		synchronized (idle) {
			if (running)
				return;
			CarrierThread first = new CarrierThread(this, threadName(), carriers[0]);
			/* Without it nothing works, so the caller gets the error. */
			starter.accept(first);
			begun = 1;
			running = true;
			if (watch != null)
				watch.start(name);
		}
	}

	/** Called by c's holder when c has a fiber to run: begins the next carrier, if c is the last. */
	void begin(Carrier c) {
		int n = c.index + 1;
		if (n != begun || n == carriers.length)
			return;
		synchronized (idle) {
			begun++;
		}
		replace(carriers[n]);
	}

	private String threadName() {
		return name + "-carrier-" + threads.getAndIncrement();
	}

	/**
	 * Returns the carrier's next fiber and waits for one if necessary. Null: the runtime has
	 * stopped.
	 */
	Fiber next(Carrier c) {
		if ((++c.slices & 63) == 0 || c.due) {
			c.due = false;
			timers.expire();
			c.poll();
		}
		for (;;) {
			Fiber f = scheduler.next(c);
			if (f != null) {
				guard();
				return f;
			}
			if (stopped)
				return null;
			if (timers.expire())
				continue;
			c.poll();
			long first = timers.first();
			synchronized (idle) {
				idle(c, first);
			}
			f = scheduler.next(c);
			long nap = f == null ? timers.untilNext() : 0;
			/* There is a new first timer: the thread that added it may have looked before we
			 * were in `idle`. */
			if (Timers.before(timers.first(), first))
				nap = 0;
			if (nap > 0 && !stopped && !clock.idle(nap))
				c.sleep(nap);
			awake(c);
			if (watch != null)
				watch.stir();
			if (f != null) {
				guard();
				return f;
			}
		}
	}

	/** Takes c out of `idle` if it is there. */
	void awake(Carrier c) {
		synchronized (idle) {
			if (c.idle)
				busy(c);
		}
	}

	/** True: all carriers sleep or are about to. */
	boolean sleeps() {
		return sleepers == begun;
	}

	/** Above this number of live fibers, the frames of those that wait are packed; -1: always. */
	private final long crowd = Long.getLong("pico.crowd", 10_000);

	boolean packs(Fiber f) {
		return live.get() > crowd && (f.waitKind != Fiber.W_NONE || crowd < 0);
	}

	/* --- pins --- */

	void blockPinned(Fiber f, CarrierThread t) {
		Pins.count(f);
		t.blockFor(f);
	}

	/** Hands c to another OS thread: a spare one or a new one. */
	void replace(Carrier c) {
		CarrierThread t;
		synchronized (spares) {
			t = spares.pollFirst();
		}
		if (t == null)
			t = make(c);
		if (t == null)
			return;
		give(c, t);
		java.util.concurrent.locks.LockSupport.unpark(t);
	}

	private static void give(Carrier c, CarrierThread t) {
		c.holder = t;
		t.carrier = c;
	}

	/** Starts a new OS thread. Tests let it fail. */
	static volatile java.util.function.Consumer<Thread> starter = Thread::start;

	/**
	 * Makes an OS thread for c and returns null. If that fails, returns a thread that has
	 * become spare meanwhile; if there is none, c is an orphan from now on, and null is
	 * returned.
	 */
	private CarrierThread make(Carrier c) {
		try {
			starter.accept(new CarrierThread(this, threadName(), c));
			return null;
		} catch (Throwable e) {
			c.holder = null;
			synchronized (spares) {
				CarrierThread t = spares.pollFirst();
				if (t == null)
					orphans.add(c);
				return t;
			}
		}
	}

	/** Tries again to find an OS thread for an orphan. */
	void adopt() {
		Carrier c;
		synchronized (spares) {
			c = orphans.pollFirst();
		}
		if (c != null)
			replace(c);
	}

	/** Hands t's carrier to another thread; false: t is not stuck any more. */
	boolean take(CarrierThread t, boolean hogs) {
		Carrier c;
		synchronized (lost) {
			c = t.lose(hogs);
			if (c == null)
				return false;
			lost.add(t);
			lend(t, t.context.fiber);
		}
		replace(c);
		return true;
	}

	/**
	 * Called by t, which has run f without a carrier, when it stops doing so. True: t's
	 * interrupt flag was set; it is f's from now on and may have to end f's wait.
	 */
	boolean found(CarrierThread t, Fiber f) {
		synchronized (lost) {
			lost.remove(t);
			if (!t.found() || f == null)
				return false;
			f.interrupted = true;
			return true;
		}
	}

	/** Number of threads that run without a carrier because they gave it up (Pins.away). */
	private final AtomicInteger outside = new AtomicInteger();

	void outside(int more) {
		outside.addAndGet(more);
	}

	/**
	 * True: a thread that gave up its carrier for a parallel stream may still make fibers
	 * ready. For clocks: if this was false and there is nothing to run afterwards, no such
	 * thread will change that.
	 */
	public boolean isOutside() {
		return outside.get() > 0;
	}

	/**
	 * Takes the carriers from threads that hold them and do not come back. For simulations,
	 * before {@link #abandon}. The fibers on these threads go on without a carrier until they
	 * wait.
	 */
	public void unseat() {
		for (Carrier c : carriers) {
			CarrierThread t = c.holder;
			if (t != null)
				take(t, true);
		}
	}

	/** Number of threads that compute without a carrier. */
	int hogs() {
		int n = 0;
		synchronized (lost) {
			for (CarrierThread t = lost.first; t != null; t = t.nextLost)
				if (t.hogs)
					n++;
		}
		return n;
	}

	/** Number of threads that run a fiber without a carrier. */
	int lost() {
		int n = 0;
		synchronized (lost) {
			for (CarrierThread t = lost.first; t != null; t = t.nextLost)
				n++;
		}
		return n;
	}

	/**
	 * Updates the threads without a carrier: lends them interrupts, and notes which of them
	 * compute no more.
	 */
	void look() {
		synchronized (lost) {
			for (CarrierThread t = lost.first; t != null; t = t.nextLost) {
				lend(t, t.context.fiber);
				if (t.hogs && t.getState() != Thread.State.RUNNABLE)
					t.hogs = false;
			}
		}
	}

	/**
	 * Lends f's interrupt if f has no carrier: f may be stuck in a JDK call that an interrupt
	 * ends.
	 */
	void interruptOutside(Fiber f) {
		synchronized (lost) {
			CarrierThread t = withoutCarrier(f);
			if (t != null)
				lend(t, f);
		}
	}

	/**
	 * Under lost: moves f's interrupt, if f has not seen it yet, to its OS thread. Not while a
	 * wait is open: then the thread that opened it looks at the flag, or the interrupting
	 * thread ends the wait.
	 */
	private static void lend(CarrierThread t, Fiber f) {
		if (f == null || !f.interrupted || (f.wait & 1) != 0)
			return;
		f.interrupted = false;
		t.lent = true;
		t.interrupt();
	}

	/**
	 * Clears f's interrupt wherever it is; true: it was set. Called on t, the thread that runs
	 * f.
	 */
	boolean takeBack(Fiber f, CarrierThread t) {
		synchronized (lost) {
			boolean i = f.interrupted;
			if (i) /* cleared unconditionally, a new one could be lost */
				f.interrupted = false;
			return t.lent && Thread.interrupted() || i;
		}
	}

	/** Clears f's interrupt wherever it is, because it has ended f's wait. */
	void withdraw(Fiber f) {
		synchronized (lost) {
			f.interrupted = false;
			CarrierThread t = withoutCarrier(f);
			if (t != null && t.lent) {
				t.lent = false;
				t.withdrawn = true;
			}
		}
	}

	/**
	 * True: f is interrupted; its flag may be lent to its OS thread, where nothing has seen it
	 * yet. For other threads.
	 */
	boolean hasLent(Fiber f) {
		synchronized (lost) {
			CarrierThread t = withoutCarrier(f);
			return f.interrupted || t != null && t.lent && t.isInterrupted();
		}
	}

	/** Under lost: the thread that runs f without a carrier, or null. */
	private CarrierThread withoutCarrier(Fiber f) {
		for (CarrierThread t = lost.first; t != null; t = t.nextLost)
			if (t.context.fiber == f)
				return t;
		return null;
	}

	/** Makes t spare, or gives it an orphan at once. Called by t. */
	void spare(CarrierThread t) {
		Carrier c;
		synchronized (spares) {
			c = orphans.pollFirst();
			if (c == null) {
				spares.addFirst(t);
				return;
			}
		}
		give(c, t);
	}

	/** Returns the number of spare OS threads, which wait for the next pin. */
	public int spares() {
		synchronized (spares) {
			return spares.size();
		}
	}

	/** The OS thread that runs f now or blocks for it; null: f is only in its frames. */
	Thread carrying(Fiber f) {
		Thread t = f.blocked;
		if (t != null)
			return t;
		for (Carrier c : carriers) {
			CarrierThread h = c.holder;
			if (h != null && h != Thread.currentThread() && h.context.fiber == f)
				return h;
		}
		synchronized (lost) {
			return withoutCarrier(f);
		}
	}

	/** Returns the number of OS threads that were made for carriers and as spares. */
	public int osThreads() {
		return threads.get();
	}

	void started(Fiber f) {
		live.incrementAndGet();
		if (f instanceof KeptFiber)
			KeptFiber.LIVE.add((KeptFiber) f);
	}

	void ended(Fiber f) {
		live.decrementAndGet();
		if (f instanceof KeptFiber)
			KeptFiber.LIVE.remove(f);
	}

	/** Prints e. It throws nothing itself. */
	void uncaught(Object in, Throwable e) {
		try {
			System.err.print("Exception in " + in + " ");
			e.printStackTrace();
		} catch (Throwable again) {
			/* There is no memory, or the program's getMessage() has thrown. */
		}
	}
}
