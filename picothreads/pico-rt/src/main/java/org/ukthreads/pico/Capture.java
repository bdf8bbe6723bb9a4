// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * The throwable that unwinds a suspending thread, and the mark of a method that suspends by
 * returning.
 *
 *   primitive --throw--> handler in m3 --throw--> handler in m2 --throw--> ... trampoline
 *                        push frame m3            push frame m2            splice
 *
 *   primitive --return-> m3 checks     --return-> m2 checks     --throw--> ...
 *
 * A throw costs 30 to 45 ns for each frame that it leaves, a return that the caller checks 10.
 * So a method that suspends often has a second entry, its twin: the same body with this object
 * as an additional argument. The twin suspends by returning any value with `returned` set. Only
 * translated code that checks `returned` calls twins; no other code knows them. `returned` is
 * set only from the return of a twin until its caller's check, so a capture that untranslated
 * code swallowed is never taken for a return.
 *
 * There is one Capture per OS thread (see Context). It is reused and has neither a stack trace
 * nor suppressed exceptions, so a throw allocates nothing. `active` is set while a capture is
 * under way. If code other than a translated handler catches it (a catch (Throwable) in
 * untranslated code), `active` stays set, and the next primitive or the trampoline detects
 * that. It extends Throwable and neither Exception nor Error, so that fewer handlers match.
 */
@Internal
public final class Capture extends Throwable {
	/** Set between the throw and the trampoline. */
	boolean active;
	/** Set between the return of a twin and its caller's check. */
	boolean returned;
	/** The context that it belongs to. */
	final Context context;
	/** The suspension under way, or else the last one. */
	Pusher pusher = new Pusher(null);
	/** Suspensions until the next Pusher is made. */
	private int fresh;

	Capture(Context context) {
		super("a suspending pico thread (untranslated code must not catch this)", null, false,
			false);
		this.context = context;
	}

	/** Returns a Pusher that no garbage collection has made old. */
	Pusher young() {
		if (--fresh < 0) {
			fresh = Pusher.TIMES;
			try {
				pusher = new Pusher(pusher.running);
			} catch (OutOfMemoryError e) {
				/* The old one works, too, only more slowly. */
			}
		}
		return pusher;
	}

	/**
	 * The first instruction of every `catch (Throwable)` of the program. A Capture that arrives
	 * there came out of an untranslated call and becomes a PinnedException.
	 */
	public static Throwable guard(Throwable t) {
		return t instanceof Capture ? ((Capture) t).lost("a catch of the program", null) : t;
	}

	/**
	 * Ends the capture as a failure: drops the frames so far and returns the exception to
	 * throw.
	 */
	PinnedException lost(String where, Site at) {
		StringBuilder b = new StringBuilder("lost frame: ");
		b.append(where);
		if (at != null)
			b.append(" at ").append(at);
		Pusher p = pusher;
		b.append(" saw a suspension that came from ")
			.append(p.callee == null ? "nowhere" : p.callee.toString())
			.append("; a method between the two is not translated");
		Continuation f = p.from;
		clear();
		if (f instanceof Fiber)
			((Fiber) f).abandon();
		Pins.lost();
		return new PinnedException(b.toString());
	}

	void clear() {
		pusher.done();
		active = false;
		returned = false;
	}
}
