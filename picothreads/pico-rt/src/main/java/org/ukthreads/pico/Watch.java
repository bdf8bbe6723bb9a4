// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.locks.LockSupport;

/*
 * Takes carriers from stuck threads, so that ready fibers do not wait for them. A fiber may
 * call code that blocks its OS thread without telling the runtime: a read of a pipe or of the
 * console, a lock of the JDK, HttpClient.send. This thread looks at the carriers. When one has
 * been in the same slice for a while
 *
 *   - in a wait or at a monitor, as the JVM says,
 *   - asleep, as the OS says (the JVM says of a thread that waits for a class which another
 *     thread initialises that it runs),
 *   - in a native method (reads and the like),
 *   - or computing for long (the longer the more such threads there are),
 *
 * it hands the carrier to another OS thread (CarrierThread, LOST). The stuck thread goes on
 * without one. When its fiber stops, it is spare.
 *
 * The next fiber may get stuck for the same reason, and behind a crowd of them there may be the
 * one that they all wait for. So after it has taken a carrier from a thread that waits, this
 * thread looks at shorter intervals for a while.
 *
 * A fiber that it sees running, at looks 5 ms apart, has probably a long slice, and gives way
 * to others when it is ready again (Fiber.rank). It also reminds the carriers of their timers
 * and reactors.
 *
 * It sleeps while all carriers do. A carrier that is taken without need costs one thread
 * switch.
 */
final class Watch implements Runnable {
	/** Time in the same slice before anything is done, ms. */
	private static final int STUCK = 5;
	/** The same for a thread that computes, ms. */
	private static final int HOG = 10;
	/** Time between two looks while a crowd gets stuck, ns, and their number. */
	private static final long QUICK = 100_000;
	private static final int QUICK_LOOKS = 100;
	/** With more threads without a carrier, there are no such looks: each is an OS thread. */
	private static final int CROWD = 256;
	/**
	 * With more threads that compute without a carrier, each an OS thread, a thread keeps its
	 * carrier longer, but not for ever: one of them may spin until a ready fiber has run.
	 */
	private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();
	private static final int HOGS = 32 * PROCESSORS;

	private final PicoRuntime rt;
	private final Carrier[] carriers;
	/** What was seen of each carrier: its thread, in which slice, since when. */
	private final CarrierThread[] who;
	private final int[] slice;
	private final long[] since;
	private volatile Thread thread;
	private volatile boolean asleep;
	/** Number of looks until the intervals are long again. This thread's own. */
	private int quick;

	private Watch(PicoRuntime rt, Carrier[] carriers) {
		this.rt = rt;
		this.carriers = carriers;
		who = new CarrierThread[carriers.length];
		slice = new int[carriers.length];
		since = new long[carriers.length];
	}

	/** Null: it is switched off. */
	static Watch of(PicoRuntime rt, Carrier[] carriers) {
		return STUCK > 0 ? new Watch(rt, carriers) : null;
	}

	void start(String name) {
		Thread t = new RuntimeThread(this, name + "-watch", 65536, true);
		thread = t;
		t.start();
	}

	/** Called when a carrier has something to do again. */
	void stir() {
		if (asleep)
			LockSupport.unpark(thread);
	}

	@Override
	public void run() {
		while (!rt.stopped()) {
			asleep = true;
			if (rt.sleeps())
				LockSupport.parkNanos(this, 1_000_000_000L);
			asleep = false;
			if (quick > 0)
				quick = rt.lost() > CROWD ? 0 : quick - 1;
			LockSupport.parkNanos(this, quick > 0 ? QUICK : STUCK * 1_000_000L);
			try {
				rt.adopt();
				rt.look();
				boolean alone = rt.live() <= 1;
				for (int k = 0; k < carriers.length; k++)
					look(k, alone);
			} catch (OutOfMemoryError e) {
				/* The next round may have memory. Others report that there was none. */
			} catch (Throwable e) {
				rt.uncaught(Thread.currentThread(), e);
			}
		}
	}

	/** Looks at carrier k. alone: no other fiber could use it. */
	private void look(int k, boolean alone) {
		CarrierThread t = carriers[k].holder;
		if (t == null)
			return;
		carriers[k].due = true;
		int n = t.slices;
		long now = System.nanoTime();
		if (t != who[k] || n != slice[k] || t.hold == CarrierThread.OUT) {
			who[k] = t;
			slice[k] = n;
			since[k] = now;
			t.seen = n;
			return;
		}
		long ms = (now - since[k]) / 1_000_000;
		if (ms < STUCK && quick == 0)
			return;
		if (alone) {
			/* Then the thread keeps it, unless its call is to be interrupted. */
			Fiber f = t.context.fiber;
			if (f == null || !f.interrupted)
				return;
		}
		StackTraceElement[] stack = null;
		boolean waits = waits(t);
		boolean hogs = false;
		if (waits) {
			stack = t.getStackTrace();
			/* If the JVM had stopped it, with all others, it runs by now. */
			if (!waits(t))
				return;
		} else {
			if (ms < 2 * STUCK)
				return;
			int others = rt.hogs();
			/* The stack of a thread that computes is known only when it has the processor. */
			if (t.stat == null || others < PROCESSORS)
				stack = t.getStackTrace();
			hogs = stack == null || stack.length == 0 || !stack[0].isNativeMethod();
			if (hogs && ms < HOG * (1L + others / HOGS))
				return;
		}
		if (t.slices == n && rt.take(t, hogs)) {
			Pins.taken(stack);
			if (waits)
				quick = QUICK_LOOKS;
		}
	}

	private static boolean waits(CarrierThread t) {
		switch (t.getState()) {
		case WAITING:
		case TIMED_WAITING:
		case BLOCKED:
			return true;
		default:
			return OsThread.sleeps(t.stat);
		}
	}
}
