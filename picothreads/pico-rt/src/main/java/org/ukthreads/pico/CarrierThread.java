// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.locks.LockSupport;

/*
 * An OS thread that holds a carrier, waits for a pinned fiber, or is spare; or runs a fiber
 * without a carrier, because it was stuck and the Watch gave its carrier to another one.
 *
 *   hold                                            who moves it on
 *   OUT    looks for a fiber, is blocked, or spare  itself: slice() > SLICE
 *   SLICE  runs a fiber                             itself: keep() > BUSY, out() > OUT,
 *                                                   leave() > LOST; Watch: > LOST
 *   BUSY   runs one, and touches what belongs to    itself: release() > SLICE
 *          the carrier (queue, selector)
 *   LOST   runs one, without a carrier              itself: out() > OUT
 *
 * From SLICE by compare-and-set, all else is the thread's own. Who made LOST has taken the
 * carrier when rt.lost is unlocked; the thread leaves LOST under that lock.
 */
final class CarrierThread extends RuntimeThread {
	static final int OUT = 0, SLICE = 1, BUSY = 2, LOST = 3;

	final Context context = new Context();
	private final PicoRuntime rt;
	/** Held; null: blocked for a pinned fiber, spare, or lost. */
	volatile Carrier carrier;
	volatile int hold;
	private static final AtomicIntegerFieldUpdater<CarrierThread> HOLD =
		AtomicIntegerFieldUpdater.newUpdater(CarrierThread.class, "hold");
	/** Slices begun; the Watch looks whether it moves. */
	volatile int slices;
	private static final AtomicIntegerFieldUpdater<CarrierThread> SLICES =
		AtomicIntegerFieldUpdater.newUpdater(CarrierThread.class, "slices");
	/** keep() within keep(). */
	private int kept;
	/** The fiber's interrupt was made this thread's, for the call that it is stuck in. */
	volatile boolean lent;
	/** What was lent has had its effect: this thread's flag is to be ignored. Under rt.lost. */
	boolean withdrawn;
	/** It computes, it does not wait. Under rt.lost. */
	boolean hogs;
	/** Likewise: the next one that has none. */
	CarrierThread nextLost;
	/** rt counts it among those that run without a carrier of their own will. */
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
			carry();
		} finally {
			Carrier c = carrier;
			if (c != null)
				c.close();
		}
	}

	/** Until the runtime is shut down. */
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
				if (f.blocked != null) {
					handOver(c, f);
					continue;
				}
				slice(f);
			} catch (Throwable e) {
				/* No memory, or a scheduler, clock or reactor that throws: the carrier must
				 * not end with it. */
				rt.uncaught(this, e);
				recover();
				rt.awake(c);
				LockSupport.parkNanos(1_000_000);
			}
			/* Its fiber left the carrier to another thread. */
			if (carrier == null)
				rt.spare(this);
		}
	}

	/** As after a slice. */
	private void recover() {
		Fiber f = context.fiber;
		context.current = null;
		context.fiber = null;
		context.pins = 0;
		kept = 0;
		inside();
		if (!HOLD.compareAndSet(this, SLICE, OUT)) {
			if (hold == LOST)
				rt.found(this, f);
			hold = OUT;
		}
	}

	/* --- who has the carrier --- */

	/** The calling thread's carrier stays with it until release(); null: it has none. */
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

	/** Under rt.lost: its carrier, for another one; null: it is not stuck any more. */
	Carrier lose(boolean hogs) {
		if (!HOLD.compareAndSet(this, SLICE, LOST))
			return null;
		Carrier c = carrier;
		carrier = null;
		this.hogs = hogs;
		return c;
	}

	/** From here on nobody takes away what it has. */
	private void out(Fiber f) {
		if (HOLD.compareAndSet(this, SLICE, OUT)) {
			/* Code that is not translated has set it. */
			if (Thread.interrupted())
				f.interrupt();
		} else if (rt.found(this, f)) {
			f.deliver();
		}
	}

	/** Under rt.lost, by itself; true: its flag was up, because nobody saw what was lent. */
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
		x.current = f;
		x.fiber = f;
		boolean ended;
		try {
			ended = f.go(x);
		} catch (Throwable e) {
			f.died(x, e);
			ended = true;
		}
		x.away = false;
		x.current = null;
		x.fiber = null;
		Monitors.pay(x, f);
		if (ended) {
			Throwable e = f.thrown();
			/* Thread bookkeeping may call the program (handlers): still as this fiber. */
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
				/* No memory, perhaps. The frames are as they were: it can go on. */
				rt.uncaught(f, e);
			}
			f.unwound();
			inside();
		}
	}

	/** Gives the carrier to the OS thread that the fiber blocks; becomes spare. */
	private void handOver(Carrier c, Fiber f) {
		Thread t = f.blocked;
		if (t instanceof CarrierThread) {
			carrier = null;
			rt.spare(this);
			CarrierThread p = (CarrierThread) t;
			c.holder = p;
			p.carrier = c;
		}
		f.go = true;
		LockSupport.unpark(t);
	}

	/** This thread's fiber is about to block it; returns with a carrier again. */
	void blockFor(Fiber f) {
		Monitors.pay(context, f);
		out(f);
		Carrier c = carrier;
		carrier = null;
		f.go = false;
		f.blocked = this;
		if (c != null)
			rt.replace(c);
		f.unwound();
		inside();
		while (!f.go)
			LockSupport.park(f);
		f.blocked = null;
		f.state = Fiber.RUNNING;
		hold = SLICE;
		if (context.away)
			leave();
	}

	/** Runs on without a carrier. */
	void leave() {
		if (!counted)
			rt.outside(1);
		counted = true;
		rt.take(this, false);
	}

	/** Its fiber waits or has ended, and whoever looks for work finds that it does. */
	private void inside() {
		if (counted)
			rt.outside(-1);
		counted = false;
	}

	/** Waits for a carrier. */
	void back(Fiber f) {
		if (f.claim(f.begin(Fiber.W_NONE, null)))
			f.wake();
		blockFor(f);
	}
}
