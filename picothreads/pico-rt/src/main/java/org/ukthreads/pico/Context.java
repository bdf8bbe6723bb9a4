// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * The state of one OS thread: the innermost continuation that runs on it, the fiber below that
 * (null on a platform thread outside the runtime), and its Capture. Only the thread itself
 * writes it; the Watch and dumps read it.
 */
final class Context {
	Continuation current;
	Fiber fiber;
	final Capture capture = new Capture(this);
	/** The fiber that represents this platform thread when it blocks in translated code. */
	Fiber foreign;
	/**
	 * Number of entries, since the trampoline called the running frame, into methods that
	 * untranslated code may call. 0 or less: only our frames are on the stack, so it need not
	 * be looked at.
	 */
	long entered;
	/** Number of brackets (Pins) that are open above the innermost trampoline. */
	int pins;
	/** The JVM's locks that the thread holds for its fiber, innermost first; or null. */
	JvmLock locks;
	/** The fiber runs without a carrier: see Pins.away. */
	boolean away;
	/** Monitor exits that its fiber still owes: {object, the rest of the list}; or null. */
	Object[] owed;
	/** A free Monitor to be used again, or null. See Monitors. */
	Monitors.Monitor monitor;
	/**
	 * True: a raw continuation has run outside the carriers, so that entries on other threads
	 * count, too.
	 */
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

	/**
	 * The frames of the callers of the resumed frame that runs; null: there are none, or all
	 * are on the stack.
	 */
	Frame callers() {
		Frame f = capture.pusher.running;
		return f == null ? null : f.next;
	}

	/** True: above the innermost trampoline a frame is on the stack that cannot be captured. */
	boolean pinned() {
		return pinned(0);
	}

	/** The same, if that many of the brackets do not count. */
	boolean pinned(int free) {
		return pins > free || (entered > 0 || Walk.strangers) && Walk.meetsForeign();
	}

	/** The context for a primitive that was called with c (its twin), or with null. */
	static Context of(Capture c) {
		return c != null ? c.context : get();
	}

	/**
	 * Begins to unwind k from a primitive: throws or, if c is not null, marks c so that the
	 * twin can return.
	 */
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
