package org.ukthreads.pico;

/*
 * The throwable that unwinds a suspending thread.
 *
 *   primitive --throw--> handler in m3 --throw--> handler in m2 --throw--> ... trampoline
 *                        push frame m3            push frame m2            splice
 *
 * There is one per OS thread (see Context), reused, without a stack trace and without
 * suppression, so a throw allocates nothing. While it is under way `active` is set; who
 * catches it without being a translated handler (a catch (Throwable) in code that is not
 * translated) leaves `active` set, and the next primitive or the trampoline finds out.
 * It extends Throwable and neither Exception nor Error, so that fewer handlers match.
 */
public final class Capture extends Throwable {
	/** Who unwinds; the frames go to it. */
	Continuation from;
	/** Frames pushed so far: innermost first. */
	Frame first;
	Frame last;
	/** The method whose frame was pushed last, or the primitive that threw. */
	MethodRef callee;
	/** Between the throw and the trampoline. */
	boolean active;

	Capture() {
		super("a suspending pico thread (untranslated code must not catch this)",
			null, false, false);
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
		b.append(" saw a suspension that came from ")
			.append(callee == null ? "nowhere" : callee.toString())
			.append("; a method between the two is not translated");
		Continuation f = from;
		clear();
		if (f instanceof Fiber)
			((Fiber) f).abandon();
		Pins.lost();
		return new PinnedException(b.toString());
	}

	void clear() {
		first = null;
		last = null;
		callee = null;
		from = null;
		active = false;
	}
}
