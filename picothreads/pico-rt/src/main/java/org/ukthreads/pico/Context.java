// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * What an OS thread is doing for us: the innermost continuation that runs on it, the
 * fiber below (null on a platform thread outside the runtime), and its Capture.
 * Only its own thread touches it.
 */
final class Context {
	Continuation current;
	Fiber fiber;
	final Capture capture = new Capture(this);
	/** The fiber that stands for a platform thread that blocks in translated code. */
	Fiber foreign;
	/**
	 * How many methods that untranslated code may call were entered since the trampoline
	 * was; not above 0: no frame but ours is on the stack, without a look.
	 */
	long entered;
	/** Brackets (Pins) that are open above the innermost trampoline. */
	int pins;
	/** The fiber runs without a carrier: see Pins.away. */
	boolean away;
	/** An object whose monitor its fiber has still to leave, and the same again; or null. */
	Object[] owed;
	/** A free one, or null: Monitors. */
	Monitors.Monitor monitor;
	/** Has a raw continuation run outside the carriers? Then their entries count, too. */
	static boolean others;

	private static final ThreadLocal<Context> OTHERS = new ThreadLocal<Context>() {
		@Override
		protected Context initialValue() {
			return new Context();
		}
	};

	static Context get() {
		Thread t = Thread.currentThread();
		if (t instanceof CarrierThread)
			return ((CarrierThread) t).context;
		return OTHERS.get();
	}

	/** The frames that wait for what runs; null: none, or all are on the stack. */
	Frame callers() {
		Frame f = capture.pusher.running;
		return f == null ? null : f.next;
	}

	/** Is a frame on the stack, above the innermost trampoline, that cannot be captured? */
	boolean pinned() {
		return pins > 0 || entered > 0 && Walk.meetsForeign();
	}

	/** Of a primitive that was called with c (its twin), or with null. */
	static Context of(Capture c) {
		return c != null ? c.context : get();
	}

	/** Unwinds `k` from a primitive: throws, or returns from the twin that c is for. */
	void unwind(Continuation k, MethodRef primitive, Capture c) {
		capture(k, primitive);
		if (c == null)
			Continuation.<RuntimeException>sneak(capture);
		Twins.leave(c);
	}

	private void capture(Continuation k, MethodRef primitive) {
		Capture c = capture;
		if (c.active)
			throw c.lost("the primitive " + primitive, null);
		c.active = true;
		c.young().begin(k, primitive);
		if (Profile.ON)
			Profile.suspension();
	}
}
