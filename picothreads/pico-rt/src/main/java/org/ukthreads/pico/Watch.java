// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;

/*
 * Nothing that is ready waits for a thread that is stuck. A fiber may call what blocks its OS
 * thread without anybody of ours being told: a read of a pipe or of the console, a lock of
 * the JDK's, HttpClient.send. This thread looks at the carriers, and when one has been in the
 * same slice for a while
 *
 *   - in a wait or at a monitor, as the JVM says,
 *   - in a native method (reads and their like),
 *   - without any CPU for long, while the machine is not slow: the JVM says of who waits for a
 *     class that another thread initialises that it runs,
 *   - or computing, for long (the longer the more of those there are)
 *
 * it gives the carrier to another OS thread (CarrierThread, LOST). The stuck one goes on
 * without; when its fiber stops, it is spare.
 *
 * It sleeps while all carriers do. A carrier taken without need costs a thread's switch.
 */
final class Watch implements Runnable {
	/** In the same slice for so long before anything is done, ms; 0: never. */
	private static final int STUCK = Integer.getInteger("pico.stuck", 5);
	/** For so long where it computes, ms; 0: never. */
	private static final int HOG = Integer.getInteger("pico.hog", 100);
	private static final int HOGS = Runtime.getRuntime().availableProcessors();

	private final PicoRuntime rt;
	private final Carrier[] carriers;
	/** What was seen of each: who, in which slice, since when. */
	private final CarrierThread[] who;
	private final int[] slice;
	private final long[] since;
	/** Its CPU time when it had computed for long; -1: not yet. */
	private final long[] used;
	/** Its CPU time as last seen, and since when it has been that. */
	private final long[] seen;
	private final long[] idle;
	/** When this thread was last late itself: a slow machine, nobody is known to wait. */
	private long late = System.nanoTime();
	private volatile Thread thread;
	private volatile boolean asleep;

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

	/** Null: it was switched off. */
	static Watch of(PicoRuntime rt, Carrier[] carriers) {
		return STUCK > 0 ? new Watch(rt, carriers) : null;
	}

	void start(String name) {
		Thread t = new RuntimeThread(this, name + "-watch", 65536, true);
		thread = t;
		t.start();
	}

	/** A carrier has something to do again. */
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
			long then = System.nanoTime();
			LockSupport.parkNanos(this, STUCK * 1_000_000L);
			if (System.nanoTime() - then > 4 * STUCK * 1_000_000L)
				late = System.nanoTime();
			try {
				rt.adopt();
				rt.look();
				boolean alone = rt.live() <= 1;
				for (int k = 0; k < carriers.length; k++)
					look(k, alone);
			} catch (OutOfMemoryError e) {
				/* The next round may have some. Whose memory it is is told by others. */
			} catch (Throwable e) {
				rt.uncaught(Thread.currentThread(), e);
			}
		}
	}

	/** Notes the CPU time that it has used; false: the JVM does not tell. */
	private boolean measure(int k, Thread t, long now) {
		long cpu;
		try {
			cpu = ManagementFactory.getThreadMXBean().getThreadCpuTime(t.getId());
		} catch (LinkageError | UnsupportedOperationException e) {
			/* No such module, or JVM. */
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

	/** alone: there is nobody who could use the carrier. */
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
		if (ms < STUCK)
			return;
		if (alone) {
			/* Then it keeps it, unless the call is to be interrupted. */
			Fiber f = t.context.fiber;
			if (f == null || !f.interrupted)
				return;
		}
		StackTraceElement[] stack = null;
		boolean hogs = false;
		switch (t.getState()) {
		case WAITING:
		case TIMED_WAITING:
		case BLOCKED:
			break;
		default:
			if (ms < 2 * STUCK)
				return;
			stack = t.getStackTrace();
			if (stack.length > 0 && stack[0].isNativeMethod())
				break;
			if (HOG == 0 || ms < HOG)
				return;
			boolean told = measure(k, t, now);
			/* It waits, and the JVM does not say so: for a class that another thread
			 * initialises. */
			if (told && now - Math.max(idle[k], late) >= HOG * 1_000_000L)
				break;
			hogs = true;
			/* Beyond the number of processors later and later, but not never: one of them
			 * may spin until a fiber that is ready has run. Has it had as much CPU as it
			 * takes (or none at all), or was it the machine that was slow? */
			if (ms < HOG * (1L + rt.hogs() / HOGS) || told
					&& seen[k] - used[k] < HOG * 1_000_000L / 2
					&& now - idle[k] < 2 * HOG * 1_000_000L)
				return;
		}
		if (stack == null)
			stack = t.getStackTrace();
		if (t.slices == n && rt.take(t, hogs))
			Pins.taken(stack);
	}
}
