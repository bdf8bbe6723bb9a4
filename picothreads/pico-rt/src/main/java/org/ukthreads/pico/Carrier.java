// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * The right to run fibers. A runtime has N carriers, each of which an OS thread holds
 * (CarrierThread). When a fiber blocks its OS thread, the carrier is handed off to a spare one,
 * so N fibers can still run at a time.
 */
public final class Carrier {
	final PicoRuntime rt;
	public final int index;
	/**
	 * The thread that holds it. Written by the thread that hands it off, before that unparks
	 * the new holder. Null: it has no OS thread.
	 */
	volatile CarrierThread holder;
	private volatile Reactor reactor;
	/** No reactor can be made any more. Under this. */
	private boolean closed;
	/**
	 * True: it is in the runtime's idle list. A thread that removes it must wake it. Under
	 * rt.idle.
	 */
	boolean idle;
	/** While it is idle: when it looks at the timers again without being woken. Under rt.idle. */
	long until;
	int slices;
	/** Its timers and reactor have not been looked at for long. Set by the Watch. */
	volatile boolean due;

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
	 * Returns the calling thread's carrier, which stays with the thread until release(); null:
	 * it has none. At any other moment a stuck thread may lose its carrier.
	 */
	public static Carrier keep() {
		Thread t = Thread.currentThread();
		return t instanceof CarrierThread ? ((CarrierThread) t).keep() : null;
	}

	/** Ends keep(). Called on the same thread. */
	public void release() {
		((CarrierThread) Thread.currentThread()).release();
	}

	/**
	 * Returns the carrier that the calling fiber has at this moment. Throws
	 * IllegalStateException on a platform thread.
	 */
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

	/** Returns this carrier's reactor; null: none has been made. */
	public Reactor reactor() {
		return reactor;
	}

	/**
	 * Returns this carrier's reactor, which is made on first use. Throws IllegalStateException
	 * if the runtime was shut down. Making a reactor may take long and cost the caller its
	 * carrier; the new holder then sleeps without the reactor, so it is unparked to look again.
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

	/**
	 * Closes the reactor. Called once, when the runtime has stopped, by the holder or, if there
	 * is none, by shutdown().
	 */
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
		/* Also if there is a reactor: it may have been made after the sleep began. */
		LockSupport.unpark(holder);
	}
}
