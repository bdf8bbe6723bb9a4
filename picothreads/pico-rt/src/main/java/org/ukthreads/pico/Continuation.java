// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * A computation that can stop and go on: its frames, and the trampoline that runs them.
 *
 *   run() -- first --> body --+-- ends -----------------------------> true
 *                             +-- Capture: frames f1 (leaf) .. fn --> false
 *   run() -- again --> resume f1 with the value of the call it stopped at
 *                        f1 ends: its value goes to f2, and so on to fn
 *                        f1 suspends: its new frames go in front of f2 .. fn
 *
 * Resuming never makes the stack grow: the trampoline calls the out-of-line code of each frame.
 * So a thread that stops often pays for the frames it touches and not for its depth. Values
 * travel in retJ (int, long; float and double as bits) and retA.
 *
 * Without a scheduler it serves generators and search (suspend() stops the innermost one);
 * Fiber adds scheduling. A fiber that blocks inside a raw continuation pins, because its own
 * Java frames are below run().
 *
 * Rejected: re-entering every frame from the outermost one on (141 ns at depth 10 and 720 at
 * 50, against 18), a value object for each result (boxing), and a young object between an old
 * continuation and its frames (G1's barriers cost the same).
 */
/**
 * A computation that stops and goes on: {@link #run} it until it ends or calls
 * {@link #suspend}. Only one thread may run it at a time. A suspension below untranslated code
 * throws a {@link PinnedException}.
 */
public class Continuation {
	/** Frames to resume, innermost first; null before the start, while it runs and at the end. */
	Frame top;
	/**
	 * The last reference result, or the exception if threw is set; before the start, the task.
	 */
	Object retA;
	long retJ;
	boolean threw;
	private static final byte NEW = 0, RUNNING = 1, STOPPED = 2, ENDED = 3;
	private byte phase;
	/** Frames that were added since the last count, minus those removed; at most GROWN. */
	private char grown;

	private static final MethodRef SUSPEND =
		MethodRef.primitive(Continuation.class, "suspend", "()V");
	private static final Site START = new Site(null, null, 0, 0, 0, 'i',
		"java/lang/Runnable", "run", "()V", new String[0], new String[0]);

	public Continuation(Runnable task) {
		retA = task;
	}

	/**
	 * Runs it until its next suspend() or its end, and throws what it throws. Throws
	 * IllegalStateException if it is running or has ended.
	 *
	 * @return true: the computation has ended
	 */
	public final boolean run() {
		if (phase == RUNNING || phase == ENDED)
			throw new IllegalStateException(phase == ENDED ? "the continuation has ended"
				: "the continuation is running");
		Context x = Context.get();
		Continuation outer = x.current;
		long entered = x.entered;
		int pins = x.pins;
		Frame running = x.capture.pusher.running;
		if (!(Thread.currentThread() instanceof CarrierThread))
			Context.others = true;
		x.current = this;
		x.pins = 0;
		try {
			boolean ended = go(x);
			if (ended)
				takeV();
			return ended;
		} finally {
			x.current = outer;
			x.entered = entered;
			x.pins = pins;
			x.capture.pusher.running = running;
		}
	}

	/**
	 * Stops the innermost continuation; returns when it is run again. Throws
	 * IllegalStateException outside of a continuation.
	 */
	@Leaf
	public static void suspend() {
		suspend(null);
	}

	/** The twin of suspend(). */
	public static void suspend(Capture c) {
		Context x = Context.of(c);
		Continuation k = x.current;
		if (k == null || k == x.fiber)
			throw new IllegalStateException("not in a continuation");
		if (x.pinned())
			throw new PinnedException("suspend() below a frame that cannot be captured");
		x.unwind(k, SUSPEND, c);
	}

	/**
	 * Makes a second continuation that goes on from the same point. Both share the objects in
	 * the frames. Throws IllegalStateException if this one is not suspended.
	 */
	public final Continuation fork() {
		if (phase != STOPPED)
			throw new IllegalStateException("fork() of a continuation that is not suspended");
		Continuation k = new Continuation(null);
		k.phase = STOPPED;
		Frame tail = null;
		for (Frame f : Packed.frames(top)) {
			Frame g = f.copy();
			g.next = null;
			if (tail == null)
				k.top = g;
			else
				tail.next = g;
			tail = g;
		}
		return k;
	}

	/** Takes frames from elsewhere (a snapshot), with which run() goes on. */
	final void adopt(Frame f) {
		phase = STOPPED;
		top = f;
	}

	public final boolean ended() {
		return phase == ENDED;
	}

	/* --- stack overflow --- */

	/** More frames than this are a stack overflow. */
	private static final int DEEPEST = Integer.getInteger("pico.stack", 100_000);
	/** The frames are counted, by a walk over all of them, when this many were added. */
	private static final int GROWN = Math.min(20_000, Math.max(1, DEEPEST / 4));

	/**
	 * True after a suspension: there are too many frames. Without this check a recursion could
	 * take gigabytes of heap.
	 */
	private boolean isTooDeep(int more) {
		int g = Math.max(0, grown + more);
		if (g <= GROWN) {
			grown = (char) g;
			return false;
		}
		grown = 0;
		int n = 0;
		for (Frame f = top; f != null; f = f.next)
			n += f.site == null ? Packed.MOST : 1;
		return n > DEEPEST;
	}

	/**
	 * Abandons the wait and makes the call at which it stopped throw a StackOverflowError.
	 * Returns its frames, to be run.
	 */
	private Frame overflow() {
		Frame f = top;
		top = null;
		if (this instanceof Fiber)
			((Fiber) this).abandon();
		Throwable e = new StackOverflowError();
		Traces.made(e, f);
		fail(e);
		return f;
	}

	/**
	 * Runs the frames f, the innermost of which throws e. They may block but not suspend.
	 *
	 * @return what the outermost one throws, or e
	 */
	final Throwable unwound(Context x, Frame f, Throwable e) {
		Frame running = x.capture.pusher.running;
		x.pins++;
		fail(e);
		try {
			while (f != null) {
				Frame rest = f.next;
				x.capture.pusher.running = f;
				try {
					f.site.code.resume(this, f.site.at, f);
				} catch (Throwable t) {
					fail(t);
				}
				f = rest;
			}
			Throwable t = thrown();
			return t != null ? t : e;
		} finally {
			x.pins--;
			x.capture.pusher.running = running;
		}
	}

	/** The trampoline. Called with x.current == this. True: it has ended; threw says how. */
	final boolean go(Context x) {
		Frame f = top;
		top = null;
		int gone = 0;
		boolean first = phase == NEW;
		phase = RUNNING;
		if (first && !begin(x)) {
			phase = STOPPED;
			return false;
		}
		if (threw && f != null)
			Traces.told((Throwable) retA, f);
		Capture c = x.capture;
		while (f != null) {
			if (f.site == null)
				f = ((Packed) f).open();
			Frame rest = f.next;
			gone++;
			c.pusher.running = f;
			Site s = f.site;
			x.entered = 0;
			try {
				if (!s.code.resume(this, s.at, f)) {
					c.pusher.last.next = rest;
					top = c.pusher.first;
					boolean deep = isTooDeep(c.pusher.count - gone);
					c.clear();
					c.pusher.running = null;
					if (!deep) {
						phase = STOPPED;
						return false;
					}
					rest = overflow();
					gone = 0;
				} else if (c.active) {
					throw c.lost("the end of " + s.method, null);
				}
			} catch (Throwable e) {
				fail(leaving(c, e, s, f));
			}
			f = rest;
		}
		c.pusher.running = null;
		phase = ENDED;
		return true;
	}

	/** The exception that the caller of f gets. Without memory its trace stays incomplete. */
	private static Throwable leaving(Capture c, Throwable e, Site s, Frame f) {
		Throwable t = e instanceof Capture ? ((Capture) e).lost("the trampoline", s)
			: left(c, e);
		try {
			return Traces.left(t, f);
		} catch (VirtualMachineError x) {
			return t;
		}
	}

	/** go() itself has failed for lack of memory: the frames are lost. */
	final void died(Context x, Throwable e) {
		x.capture.clear();
		x.capture.pusher.running = null;
		top = null;
		phase = ENDED;
		fail(e);
	}

	/** Runs the task for the first time. True: it ended without suspending. */
	private boolean begin(Context x) {
		Capture c = x.capture;
		Runnable r = entry();
		retA = null;
		try {
			/* This entry does not count, because the runtime itself calls run(). */
			x.entered = Walk.counts(r.getClass()) ? -1 : 0;
			r.run();
			if (c.active)
				throw c.lost("the end of the thread", null);
			return true;
		} catch (Throwable e) {
			if (e instanceof Capture)
				return !began((Capture) e, r);
			fail(left(c, e));
			return true;
		}
	}

	/**
	 * If a capture is still under way, code that is not ours has caught it and thrown e
	 * instead.
	 */
	private static Throwable left(Capture c, Throwable e) {
		return c.active && !(e instanceof VirtualMachineError)
			? c.lost("the code that threw " + e, null).initCause(e) : e;
	}

	private boolean began(Capture c, Runnable r) {
		try {
			Site.Ok o = START.ok;
			if (o == null || o.callee != c.pusher.callee || r.getClass() != o.type)
				START.check(c, c.pusher.callee, r);
		} catch (PinnedException e) {
			fail(e);
			return false;
		}
		/* Methods that end with the call leave no frame. If there were only such methods, a
		 * frame that ends at once takes their place. */
		top = c.pusher.first != null ? c.pusher.first : Frame.end(END[0]);
		c.clear();
		shareOutermost();
		return true;
	}

	/**
	 * Replaces an outermost frame without values by one that all threads share. This is safe
	 * because no code writes an outermost frame again.
	 */
	private void shareOutermost() {
		Frame f = top;
		if (f.next == null) {
			top = f.shared();
			return;
		}
		while (f.next.next != null)
			f = f.next;
		f.next = f.next.shared();
	}

	private static final Site[] END = new Code(Continuation.class,
		"end\n()V\n\nM\t0\t1\t0\nS\t0\ts\t0\t0\t1") {
		@Override
		protected boolean resume(Continuation t, int at, Frame f) {
			t.takeV();
			return true;
		}
	}.sites();

	/** What the first run calls; its run() is the outermost frame. */
	Runnable entry() {
		return (Runnable) retA;
	}

	/* The resume code reads the value of the call at which it stopped, or throws what the call
	 * threw. */

	public final void takeV() {
		if (threw)
			raise();
	}

	public final int takeI() {
		if (threw)
			raise();
		return (int) retJ;
	}

	public final long takeJ() {
		if (threw)
			raise();
		return retJ;
	}

	public final float takeF() {
		if (threw)
			raise();
		return Float.intBitsToFloat((int) retJ);
	}

	public final double takeD() {
		if (threw)
			raise();
		return Double.longBitsToDouble(retJ);
	}

	public final Object takeA() {
		if (threw)
			raise();
		Object o = retA;
		retA = null;
		return o;
	}

	private void raise() {
		Continuation.<RuntimeException>sneak(thrown());
	}

	/** Makes the call at which it stopped throw e; null: it does not throw. */
	final void fail(Throwable e) {
		retA = e;
		threw = e != null;
	}

	/** Takes the exception that was thrown, or null. */
	final Throwable thrown() {
		Throwable e = threw ? (Throwable) retA : null;
		threw = false;
		retA = null;
		return e;
	}

	@SuppressWarnings("unchecked")
	static <T extends Throwable> void sneak(Throwable e) throws T {
		throw (T) e;
	}

	/* The resume code stores its own result by these methods: its `return`. */

	public final boolean ret() {
		return true;
	}

	public final boolean ret(int v) {
		retJ = v;
		return true;
	}

	public final boolean ret(long v) {
		retJ = v;
		return true;
	}

	public final boolean ret(float v) {
		retJ = Float.floatToRawIntBits(v);
		return true;
	}

	public final boolean ret(double v) {
		retJ = Double.doubleToRawLongBits(v);
		return true;
	}

	public final boolean ret(Object v) {
		retA = v;
		return true;
	}
}
