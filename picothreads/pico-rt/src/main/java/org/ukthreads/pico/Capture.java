// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * The throwable that unwinds a suspending thread, and the mark of one that returns.
 *
 *   primitive --throw--> handler in m3 --throw--> handler in m2 --throw--> ... trampoline
 *                        push frame m3            push frame m2            splice
 *
 *   primitive --return-> m3 looks      --return-> m2 looks      --throw--> ...
 *
 * A throw costs 30 to 45 ns for each frame that it leaves, a return that the caller looks
 * at 10. So a method that suspends often has a second entry, its twin: the same body with
 * this object as one more argument, which suspends by returning any value with `returned`
 * set. Nobody but translated code that looks calls twins: no other knows of them.
 * `returned` is set from the return of a twin to the look of its caller, and at no other
 * time: what untranslated code swallowed in flight is not taken for a return.
 *
 * There is one per OS thread (see Context), reused, without a stack trace and without
 * suppression, so a throw allocates nothing. While it is under way `active` is set; who
 * catches it without being a translated handler (a catch (Throwable) in code that is not
 * translated) leaves `active` set, and the next primitive or the trampoline finds out.
 * It extends Throwable and neither Exception nor Error, so that fewer handlers match.
 */
@Internal
public final class Capture extends Throwable {
	/** Between the throw and the trampoline. */
	boolean active;
	/** Between the return of a twin and its caller's look. */
	boolean returned;
	/** Whose it is. */
	final Context context;
	/** Of the suspension that is under way, or was the last. */
	Pusher pusher = new Pusher(null);
	/** Suspensions until the next one. */
	private int fresh;

	Capture(Context context) {
		super("a suspending pico thread (untranslated code must not catch this)", null, false,
			false);
		this.context = context;
	}

	/** A Pusher that no collection has made old. */
	Pusher young() {
		if (--fresh < 0) {
			fresh = Pusher.TIMES;
			try {
				pusher = new Pusher(pusher.running);
			} catch (OutOfMemoryError e) {
				/* The old one does, too, only slower. */
			}
		}
		return pusher;
	}

	/**
	 * First instruction of every `catch (Throwable)` of the program: a Capture that
	 * arrives there came out of a call that nobody translated, and goes on as a
	 * PinnedException.
	 */
	public static Throwable guard(Throwable t) {
		return t instanceof Capture ? ((Capture) t).lost("a catch of the program", null) : t;
	}

	/** Ends the capture as a failure: the frames so far are dropped, loudly. */
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
