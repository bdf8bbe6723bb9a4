// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * The right to run fibers, one of N; an OS thread holds it (CarrierThread). When a fiber
 * blocks its OS thread, the carrier moves on to a spare one, so N fibers run at a time,
 * never more and never fewer.
 */
public final class Carrier {
	final PicoRuntime rt;
	public final int index;
	/** Who holds it; written by the giver before the taker is unparked. */
	volatile CarrierThread holder;
	private volatile Reactor reactor;
	/** No reactor is made any more. Under this. */
	private boolean closed;
	/** In the runtime's idle list: whoever removes it must wake it. Under rt.idle. */
	boolean idle;
	/** While it is idle: when it looks at the timers again by itself. Likewise. */
	long until;
	int slices;

	Carrier(PicoRuntime rt, int index) {
		this.rt = rt;
		this.index = index;
	}

	/** The carrier that the calling thread holds, or null. */
	static Carrier ofThread() {
		Thread t = Thread.currentThread();
		return t instanceof CarrierThread ? ((CarrierThread) t).carrier : null;
	}

	/**
	 * The calling thread's carrier, which stays with it until release(); null: it has none.
	 * Who is stuck loses its carrier at any other moment.
	 */
	public static Carrier keep() {
		Thread t = Thread.currentThread();
		return t instanceof CarrierThread ? ((CarrierThread) t).keep() : null;
	}

	/** On the thread that kept it. */
	public void release() {
		((CarrierThread) Thread.currentThread()).release();
	}

	/** The calling fiber's carrier, at this moment; IllegalStateException on a platform thread. */
	public static Carrier current() {
		Carrier c = ofThread();
		while (c == null && Pins.back())
			c = ofThread();
		if (c == null)
			throw new IllegalStateException(Thread.currentThread() + " has no carrier");
		return c;
	}

	public PicoRuntime runtime() {
		return rt;
	}

	/** Null: nobody has needed one here. */
	public Reactor reactor() {
		return reactor;
	}

	/**
	 * This carrier's reactor, made on first use; IllegalStateException: its runtime is down. Making one may take long, and so cost the
	 * caller its carrier, whose new holder then sleeps where no event comes: it looks again.
	 */
	public Reactor reactor(Supplier<? extends Reactor> make) {
		Reactor r = reactor;
		if (r == null) {
			synchronized (this) {
				r = reactor;
				if (r == null) {
					if (closed)
						throw new IllegalStateException("the runtime was shut down");
					r = make.get();
					reactor = r;
				}
			}
			CarrierThread t = holder;
			if (t != Thread.currentThread())
				LockSupport.unpark(t);
		}
		return r;
	}

	/** By who holds it, for the last time: the runtime has stopped. */
	void close() {
		synchronized (this) {
			closed = true;
		}
		Reactor r = reactor;
		if (r != null)
			r.close();
	}

	void poll() {
		Reactor r = reactor;
		if (r != null)
			r.poll(0);
	}

	void sleep(long nanos) {
		Reactor r = reactor;
		if (r != null)
			r.poll(nanos);
		else if (nanos == Long.MAX_VALUE)
			LockSupport.park(this);
		else
			LockSupport.parkNanos(this, nanos);
	}

	void wakeup() {
		Reactor r = reactor;
		if (r != null)
			r.wakeup();
		/* Also when there is one: it may have been made after the sleep began. */
		LockSupport.unpark(holder);
	}
}
