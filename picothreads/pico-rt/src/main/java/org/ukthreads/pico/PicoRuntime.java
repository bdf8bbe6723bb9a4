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
 * A carrier that finds nothing puts itself in `idle` *before* it looks a last time; a
 * ready() that comes later finds it there and wakes it. The order (list, look) against
 * (queue, list) is what makes a lost wake-up impossible; both go through the idle lock.
 *
 * While one sleeps, no timer is late: of the carriers in `idle` one at least sleeps no longer
 * than until the first is due (the keeper). So wakeOne() takes the one that sleeps longest,
 * and who leaves with work, or adds a timer that is the first, sees to it that one of the
 * others looks again (guard).
 *
 * Lock order: monitor stripe > idle > (scheduler's own, timers, lost). None is held when
 * program code runs.
 */
/**
 * Carriers, a scheduler, timers and a clock: what pico threads run on. A program needs only
 * {@link #main}; a test may make its own. Times are nanoseconds.
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
	/** Carriers for which no OS thread could be made; likewise under spares. */
	private final ArrayDeque<Carrier> orphans = new ArrayDeque<>();
	private final Object idle = new Object();
	private final Lost lost = new Lost();
	private final Watch watch;
	/** Carriers that sleep or are about to; written under idle. */
	private volatile int sleepers;
	/** When the first of those that sleep looks at the timers again; likewise. */
	private volatile long keeps = Timers.NONE;
	private volatile boolean stopped;
	private boolean running;

	private static final class Main {
		static final PicoRuntime RT = new PicoRuntime("pico",
			Integer.getInteger("pico.carriers", 1), null, Clock.REAL);
	}

	/** The default one: -Dpico.carriers=N, one unless told. */
	public static PicoRuntime main() {
		PicoRuntime r = installed;
		return r != null ? r : Main.RT;
	}

	private static volatile PicoRuntime installed;

	/** Makes r the default; for simulations and tests, before any thread is made. */
	public static void install(PicoRuntime r) {
		installed = r;
	}

	/** scheduler null: round-robin. */
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

	/** A light thread without a java.lang.Thread (one is made if its code asks). */
	public Fiber fiber(Runnable task) {
		return new Fiber(this, task);
	}

	public Clock clock() {
		return clock;
	}

	public int carriers() {
		return carriers.length;
	}

	/** Fibers started and not ended. */
	public long live() {
		return live.get();
	}

	/** Ends the carriers; fibers that are left never run again. */
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
	 * Shuts down and waits until no carrier runs a fiber; the threads that are left are
	 * forgotten: they are not among PicoThread.all() and do not keep the JVM up. For
	 * simulations, from a platform thread. A thread that its fiber blocks, or that computes
	 * without a carrier, is not waited for.
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

	/** f may run. From any thread. */
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

	/** A timer became the first: a carrier that sleeps too long must look again. */
	void deadlineMoved() {
		if (!running)
			startCarriers();
		if (Carrier.ofThread() == null || sleepers == carriers.length)
			wakeOne();
		else
			guard();
	}

	/** With several carriers: one of those that sleep must not sleep beyond the first timer. */
	private void guard() {
		if (sleepers > 0 && Timers.before(timers.first(), keeps))
			wakeOne();
	}

	/** Under idle: c is in it, and looks at the timers at `until`. */
	private void idle(Carrier c, long until) {
		if (!c.idle)
			sleepers++;
		c.idle = true;
		c.until = until;
		kept();
	}

	/** Under idle: c is not in it any more. */
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
			/* Without it nothing works, and the caller hears of it. */
			starter.accept(first);
			running = true;
			for (int k = 1; k < carriers.length; k++)
				replace(carriers[k]);
			if (watch != null)
				watch.start(name);
		}
	}

	private String threadName() {
		return name + "-carrier-" + threads.getAndIncrement();
	}

	/** The carrier's next fiber; waits for one. Null: the runtime has stopped. */
	Fiber next(Carrier c) {
		if ((++c.slices & 63) == 0) {
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
			/* The first one has changed: whoever did that may have looked before we slept. */
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

	/** c sleeps no more. */
	void awake(Carrier c) {
		synchronized (idle) {
			if (c.idle)
				busy(c);
		}
	}

	/** No carrier has anything to do. */
	boolean sleeps() {
		return sleepers == carriers.length;
	}

	/** Above so many live threads, those that wait have their frames packed; -1: always. */
	private final long crowd = Long.getLong("pico.crowd", 10_000);

	boolean packs(Fiber f) {
		return live.get() > crowd && (f.waitKind != Fiber.W_NONE || crowd < 0);
	}

	/* --- pins --- */

	void blockPinned(Fiber f, CarrierThread t) {
		Pins.count(f);
		t.blockFor(f);
	}

	/** c needs another OS thread. */
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

	/** Tests may let it fail. */
	static volatile java.util.function.Consumer<Thread> starter = Thread::start;

	/** A thread for c, or c is an orphan; not null: one has become spare meanwhile. */
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

	/** A carrier without an OS thread, because none could be made: once more. */
	void adopt() {
		Carrier c;
		synchronized (spares) {
			c = orphans.pollFirst();
		}
		if (c != null)
			replace(c);
	}

	/** Another thread gets t's carrier; false: t is not stuck any more. */
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
	 * By t, which ran f and takes no part without a carrier any more. True: its flag is up,
	 * is f's from now on, and f's wait may have to end.
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

	/** Who runs without a carrier because it gave it up (Pins.away). */
	private final AtomicInteger outside = new AtomicInteger();

	void outside(int more) {
		outside.addAndGet(more);
	}

	/**
	 * May a thread that gave its carrier up, for a parallel stream, make others ready? For
	 * clocks; who finds nothing to run after this was false will find nothing.
	 */
	public boolean isOutside() {
		return outside.get() > 0;
	}

	/**
	 * Takes the carriers from the threads that hold them and do not come back. For simulations,
	 * before {@link #abandon}: those fibers go on as they are, until they wait.
	 */
	public void unseat() {
		for (Carrier c : carriers) {
			CarrierThread t = c.holder;
			if (t != null)
				take(t, true);
		}
	}

	/** Threads that compute without a carrier. */
	int hogs() {
		int n = 0;
		synchronized (lost) {
			for (CarrierThread t = lost.first; t != null; t = t.nextLost)
				if (t.hogs)
					n++;
		}
		return n;
	}

	/** What has changed of those without a carrier: interrupts, and who computes no more. */
	void look() {
		synchronized (lost) {
			for (CarrierThread t = lost.first; t != null; t = t.nextLost) {
				lend(t, t.context.fiber);
				if (t.hogs && t.getState() != Thread.State.RUNNABLE)
					t.hogs = false;
			}
		}
	}

	/** f may be stuck in a call of the JDK that an interrupt ends. */
	void interruptOutside(Fiber f) {
		synchronized (lost) {
			CarrierThread t = withoutCarrier(f);
			if (t != null)
				lend(t, f);
		}
	}

	/**
	 * Under lost: f's interrupt, if it has not seen it yet, becomes its OS thread's. Not while
	 * a wait is open: who opened it looks, or who interrupts ends it.
	 */
	private static void lend(CarrierThread t, Fiber f) {
		if (f == null || !f.interrupted || (f.wait & 1) != 0)
			return;
		f.interrupted = false;
		t.lent = true;
		t.interrupt();
	}

	/** f's flag, wherever it is, comes down; true: it was up. On t, which f runs on. */
	boolean takeBack(Fiber f, CarrierThread t) {
		synchronized (lost) {
			boolean i = f.interrupted;
			if (i) /* else one that comes now would be lost */
				f.interrupted = false;
			return t.lent && Thread.interrupted() || i;
		}
	}

	/** An interrupt has ended f's wait: it is down, wherever it is. */
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

	/** Is f's interrupt its OS thread's, and not seen yet? For other threads. */
	boolean hasLent(Fiber f) {
		synchronized (lost) {
			CarrierThread t = withoutCarrier(f);
			return f.interrupted || t != null && t.lent && t.isInterrupted();
		}
	}

	/** Under lost. */
	private CarrierThread withoutCarrier(Fiber f) {
		for (CarrierThread t = lost.first; t != null; t = t.nextLost)
			if (t.context.fiber == f)
				return t;
		return null;
	}

	/** t has nothing to do: the next one that is needed, or at once an orphan's. By t. */
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

	/** OS threads that wait for the next pin. */
	public int spares() {
		synchronized (spares) {
			return spares.size();
		}
	}

	/** The OS thread that runs f now, or blocks for it; null: f is in its frames. */
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

	/** OS threads made so far: carriers and spares. */
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

	/** It throws nothing itself. */
	void uncaught(Object in, Throwable e) {
		try {
			System.err.print("Exception in " + in + " ");
			e.printStackTrace();
		} catch (Throwable again) {
			/* No memory, or a getMessage of the program's. */
		}
	}
}
