// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.management.ManagementFactory;
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
 *   - where the OS is not asked, without any CPU for long, while the machine is not slow,
 *   - or computing for long (the longer the more such threads there are),
 *
 * it hands the carrier to another OS thread (CarrierThread, LOST). The stuck thread goes on
 * without one. When its fiber stops, it is spare.
 *
 * The next fiber may get stuck for the same reason, and behind a crowd of them there may be the
 * one that they all wait for. So after it has taken a carrier from a thread that waits, this
 * thread looks at shorter intervals for a while.
 *
 * It sleeps while all carriers do. A carrier that is taken without need costs one thread
 * switch.
 */
final class Watch implements Runnable {
	/** Time in the same slice before anything is done, ms; 0: never. */
	private static final int STUCK = Integer.getInteger("pico.stuck", 5);
	/** The same for a thread that computes, ms; 0: never. */
	private static final int HOG = Integer.getInteger("pico.hog", 100);
	/** Time between two looks while a crowd gets stuck, ns, and their number. */
	private static final long QUICK = 100_000;
	private static final int QUICK_LOOKS = 100;
	/** With more threads without a carrier, there are no such looks: each is an OS thread. */
	private static final int CROWD = 256;
	private static final int HOGS = Runtime.getRuntime().availableProcessors();

	private final PicoRuntime rt;
	private final Carrier[] carriers;
	/** What was seen of each carrier: its thread, in which slice, since when. */
	private final CarrierThread[] who;
	private final int[] slice;
	private final long[] since;
	/** Its CPU time when it had computed for long; -1: not measured yet. */
	private final long[] used;
	/** Its CPU time at the last look, and since when it has not changed. */
	private final long[] seen;
	private final long[] idle;
	/**
	 * When this thread was last late itself: the machine is slow, and no thread is known to
	 * wait.
	 */
	private long late = System.nanoTime();
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
		used = new long[carriers.length];
		seen = new long[carriers.length];
		idle = new long[carriers.length];
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
			long then = System.nanoTime();
			LockSupport.parkNanos(this, quick > 0 ? QUICK : STUCK * 1_000_000L);
			if (System.nanoTime() - then > 4 * STUCK * 1_000_000L)
				late = System.nanoTime();
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

	/** Notes the CPU time that t has used; false: the JVM does not tell. */
	private boolean measure(int k, Thread t, long now) {
		long cpu;
		try {
			cpu = ManagementFactory.getThreadMXBean().getThreadCpuTime(t.getId());
		} catch (LinkageError | UnsupportedOperationException e) {
			/* The module is missing, or the JVM cannot tell. */
			return false;
		}
		if (used[k] < 0)
			used[k] = cpu;
		if (seen[k] != cpu) {
			seen[k] = cpu;
			idle[k] = now;
		}
		return cpu >= 0;
	}

	/** Looks at carrier k. alone: no other fiber could use it. */
	private void look(int k, boolean alone) {
		CarrierThread t = carriers[k].holder;
		if (t == null)
			return;
		int n = t.slices;
		long now = System.nanoTime();
		if (t != who[k] || n != slice[k] || t.hold == CarrierThread.OUT) {
			who[k] = t;
			slice[k] = n;
			since[k] = now;
			used[k] = -1;
			idle[k] = now;
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
		if (!waits) {
			if (ms < 2 * STUCK)
				return;
			stack = t.getStackTrace();
			if (stack.length == 0 || !stack[0].isNativeMethod()) {
				if (HOG == 0 || ms < HOG)
					return;
				boolean told = measure(k, t, now);
				hogs = !told || now - Math.max(idle[k], late) < HOG * 1_000_000L;
				/* With more hogs for each processor each keeps its carrier longer, but not for
				 * ever: one of them may spin until a ready fiber has run. A thread that has used
				 * too little CPU time keeps it, because the machine is slow; one that has used
				 * none for long does not. */
				if (hogs && (ms < HOG * (1L + rt.hogs() / HOGS) || told
						&& seen[k] - used[k] < HOG * 1_000_000L / 2
						&& now - idle[k] < 2 * HOG * 1_000_000L))
					return;
			}
		}
		if (stack == null) {
			stack = t.getStackTrace();
			/* If the JVM had stopped it, with all others, it runs by now. */
			if (!waits(t))
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
