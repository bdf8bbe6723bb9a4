// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.locks.LockSupport;

/*
 * An OS thread that holds a carrier, blocks for a pinned fiber, or is spare. It can also run a
 * fiber without a carrier, after the fiber was stuck and the Watch handed its carrier to
 * another thread.
 *
 *   hold                                            which thread changes it
 *   OUT    looks for a fiber, is blocked, or spare  itself: slice() > SLICE
 *   SLICE  runs a fiber                             itself: keep() > BUSY, out() > OUT,
 *                                                   leave() > LOST; Watch: > LOST
 *   BUSY   runs one, and touches what belongs to    itself: release() > SLICE
 *          the carrier (queue, selector)
 *   LOST   runs one, without a carrier              itself: out() > OUT
 *
 * Changes from SLICE use compare-and-set; all others are plain, because only the thread itself
 * makes them. A thread that sets LOST takes the carrier before it unlocks rt.lost. The thread
 * itself leaves LOST under that lock.
 */
final class CarrierThread extends RuntimeThread {
	static final int OUT = 0, SLICE = 1, BUSY = 2, LOST = 3;

	final Context context = new Context();
	private final PicoRuntime rt;
	/**
	 * The carrier that it holds; null: it blocks for a pinned fiber, is spare, or has lost it.
	 */
	volatile Carrier carrier;
	volatile int hold;
	private static final AtomicIntegerFieldUpdater<CarrierThread> HOLD =
		AtomicIntegerFieldUpdater.newUpdater(CarrierThread.class, "hold");
	/** Number of slices begun. The Watch checks whether it changes. */
	volatile int slices;
	private static final AtomicIntegerFieldUpdater<CarrierThread> SLICES =
		AtomicIntegerFieldUpdater.newUpdater(CarrierThread.class, "slices");
	/** Where the OS shows its state, or null. Written by itself before its first slice. */
	String stat;
	/** The slice in which the Watch has seen it last. Written by the Watch. */
	volatile int seen;
	/**
	 * The JVM's lock that it gives up while it blocks for its fiber, or null. Written by itself,
	 * before its fiber can be made ready and after that has happened.
	 */
	private Object without;
	/** Depth of nested keep() calls. */
	private int kept;
	/**
	 * The fiber's interrupt was lent to this thread, for the JDK call in which the fiber is
	 * stuck.
	 */
	volatile boolean lent;
	/**
	 * The lent interrupt has had its effect: this thread's flag is to be ignored. Under
	 * rt.lost.
	 */
	boolean withdrawn;
	/** It computes and does not wait. Under rt.lost. */
	boolean hogs;
	/** The next thread without a carrier. Under rt.lost. */
	CarrierThread nextLost;
	/** It gave up its carrier itself (Pins.away) and is counted in rt.outside. */
	private boolean counted;

	CarrierThread(PicoRuntime rt, String name, Carrier carrier) {
		super(null, name, 0, true);
		this.rt = rt;
		this.carrier = carrier;
		if (carrier != null)
			carrier.holder = this;
	}

	@Override
	public void run() {
		try {
			look();
			carry();
		} finally {
			Carrier c = carrier;
			if (c != null)
				c.close();
		}
	}

	private void look() {
		try {
			stat = OsThread.self();
		} catch (Throwable e) {
			/* It is not Linux, or there is no memory. The thread does without. */
		}
	}

	/** Runs fibers until the runtime is shut down. */
	private void carry() {
		while (!rt.stopped()) {
			Carrier c = carrier;
			if (c == null) {
				LockSupport.park(rt);
				continue;
			}
			try {
				Fiber f = rt.next(c);
				if (f == null)
					return;
				rt.begin(c);
				if (f.blocked != null) {
					handOver(c, f);
					continue;
				}
				slice(f);
			} catch (Throwable e) {
				/* There is no memory, or a scheduler, clock or reactor threw. The carrier must
				 * survive it. */
				rt.uncaught(this, e);
				recover();
				rt.awake(c);
				LockSupport.parkNanos(1_000_000);
			}
			/* The carrier was handed off during the slice. */
			if (carrier == null)
				rt.spare(this);
		}
	}

	/** Resets the state, as at the end of a slice. */
	private void recover() {
		Fiber f = context.fiber;
		context.current = null;
		context.fiber = null;
		context.pins = 0;
		context.locks = null;
		kept = 0;
		inside();
		if (!HOLD.compareAndSet(this, SLICE, OUT)) {
			if (hold == LOST)
				rt.found(this, f);
			hold = OUT;
		}
	}

	/* --- which thread has the carrier --- */

	/** Keeps the carrier with this thread until release(); null: it has none. */
	Carrier keep() {
		Carrier c = carrier;
		if (c == null)
			return null;
		int h = hold;
		if (h == LOST || h == SLICE && !HOLD.compareAndSet(this, SLICE, BUSY))
			return null;
		kept++;
		return c;
	}

	void release() {
		if (--kept == 0 && hold == BUSY)
			HOLD.lazySet(this, SLICE);
	}

	/** Takes its carrier away and returns it; null: it is not stuck any more. Under rt.lost. */
	Carrier lose(boolean hogs) {
		if (!HOLD.compareAndSet(this, SLICE, LOST))
			return null;
		Carrier c = carrier;
		carrier = null;
		this.hogs = hogs;
		return c;
	}

	/** Ends the slice: from here on no thread takes its carrier away. */
	private void out(Fiber f) {
		if (HOLD.compareAndSet(this, SLICE, OUT)) {
			/* Untranslated code has set the flag. */
			if (Thread.interrupted())
				f.interrupt();
		} else if (rt.found(this, f)) {
			f.deliver();
		}
	}

	/**
	 * Leaves LOST. Called by the thread itself under rt.lost. True: its flag was still set,
	 * because nothing has seen the lent interrupt.
	 */
	boolean found() {
		hold = OUT;
		boolean up = Thread.interrupted() && !withdrawn;
		lent = false;
		withdrawn = false;
		return up;
	}

	private void slice(Fiber f) {
		Context x = context;
		SLICES.lazySet(this, slices + 1);
		HOLD.lazySet(this, SLICE);
		f.state = Fiber.RUNNING;
		f.rank = Fiber.SHORT;
		x.current = f;
		x.fiber = f;
		boolean ended;
		try {
			ended = JvmLock.run(f, x);
		} catch (Throwable e) {
			f.died(x, e);
			ended = true;
		}
		f.sampled(seen == slices);
		x.away = false;
		x.current = null;
		x.fiber = null;
		Monitors.pay(x, f);
		if (ended) {
			Throwable e = f.thrown();
			/* The bookkeeping may call the program (handlers), so it still runs as this fiber. */
			x.fiber = f;
			x.pins = 1;
			try {
				f.done(e);
			} catch (Throwable again) {
				rt.uncaught(f, again);
			} finally {
				x.fiber = null;
				x.pins = 0;
				out(f);
				f.state = Fiber.DONE;
				rt.ended(f);
				inside();
			}
		} else {
			out(f);
			try {
				f.parking();
				if (rt.packs(f))
					f.pack();
			} catch (Throwable e) {
				/* Perhaps there is no memory. The frames are unchanged, so the fiber can go on. */
				rt.uncaught(f, e);
			}
			f.unwound();
			inside();
		}
	}

	/** Hands the carrier to the OS thread that the fiber blocks. This thread becomes spare. */
	private void handOver(Carrier c, Fiber f) {
		Thread t = f.blocked;
		Object lock = null;
		if (t instanceof CarrierThread) {
			CarrierThread p = (CarrierThread) t;
			lock = p.without;
			carrier = null;
			if (lock == null)
				rt.spare(this);
			c.holder = p;
			p.carrier = c;
		}
		f.go = true;
		LockSupport.unpark(t);
		if (lock != null) {
			/* May have to wait for untranslated code, so this thread is not spare yet. */
			JvmLock.wake(lock);
			rt.spare(this);
		}
	}

	/**
	 * Blocks this thread for its fiber, which is about to wait, and hands its carrier off.
	 * Returns when it has a carrier again.
	 */
	void blockFor(Fiber f) {
		Monitors.pay(context, f);
		out(f);
		Carrier c = carrier;
		carrier = null;
		f.go = false;
		f.blocked = this;
		without = JvmLock.awaited(context, f);
		if (c != null)
			rt.replace(c);
		f.unwound();
		inside();
		if (without != null)
			JvmLock.await(f, without);
		while (!f.go)
			LockSupport.park(f);
		without = null;
		f.blocked = null;
		f.state = Fiber.RUNNING;
		hold = SLICE;
		if (context.away)
			leave();
	}

	/** Gives up the carrier; the fiber runs on without one (Pins.away). */
	void leave() {
		if (!counted)
			rt.outside(1);
		counted = true;
		rt.take(this, false);
	}

	/**
	 * Ends the count of leave(). Called when the fiber has stopped or ended, after other
	 * threads can see that.
	 */
	private void inside() {
		if (counted)
			rt.outside(-1);
		counted = false;
	}

	/** Waits for a carrier, for a fiber that has none. */
	void back(Fiber f) {
		if (f.claim(f.begin(Fiber.W_NONE, null)))
			f.wake();
		blockFor(f);
	}
}
