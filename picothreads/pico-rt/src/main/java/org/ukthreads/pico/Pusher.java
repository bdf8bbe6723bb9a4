// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * A suspension: who unwinds, and the frames so far. What a translated handler does with it:
 * at() checks the call that the handler stands behind, push() makes the frame.
 *
 * There is a new one now and then, so it is young, as the frames are. The same fields in
 * Capture, which is old, cost a fence of G1's for each store (217 ns down, suspend and return at
 * depth 10, now 133; the parallel collector had 111). Nor is it Capture's code: C2 inlines no
 * method of a Throwable's class.
 */
final class Pusher extends Pushes {
	/** The frames go to it. */
	Continuation from;
	/** Innermost first. */
	Frame first;
	Frame last;
	/** The method whose frame was pushed last, or the primitive that suspends. */
	MethodRef callee;

	/** Frames pushed. */
	int count;

	/** From here until the next: the frame that runs, resumed; its next are its callers. */
	Frame running;

	/** So many suspensions have the same one. */
	static final int TIMES = 255;

	Pusher(Frame running) {
		this.running = running;
	}

	void begin(Continuation k, MethodRef primitive) {
		from = k;
		callee = primitive;
		count = 0;
	}

	/** The frames are where they belong, or lost. */
	void done() {
		from = null;
		first = null;
		last = null;
		callee = null;
		at = null;
	}

	/**
	 * The first half: the call of site s, on that receiver, must be what the suspension came
	 * out of. Hot: a few loads and stores.
	 */
	Pushes at(Capture c, Site s, Object on) {
		Site.Ok o = s.ok;
		if (o == null || o.callee != callee || (on != null && on.getClass() != o.type))
			s.check(c, callee, on);
		at = s;
		return this;
	}

	/** The second: a frame with the values (`push`). Hand-made frames do their own check. */
	@Override
	void add(Frame f, Site s) {
		f.site = s;
		Frame l = last;
		if (l == null)
			first = f;
		else
			l.next = f;
		last = f;
		count++;
		done(s);
	}

	private void done(Site s) {
		callee = s.method;
		if (Profile.ON)
			Profile.pushed(s.method);
	}

	/** Of a frame with more values than the largest shape. */
	@Override
	public void push(int[] i, long[] j, Object[] a) {
		WideFrame f;
		try {
			f = new WideFrame(i, j, a);
		} catch (OutOfMemoryError e) {
			throw failed(e);
		}
		add(f, at);
	}

	/**
	 * What was unwound goes on here, with the error, above the method that cannot be: its
	 * catch and finally blocks run, its locks are released, and then the error is thrown in
	 * this method, too, at its call.
	 */
	@Override
	RuntimeException failed(OutOfMemoryError e) {
		Continuation k = from;
		Frame frames = first;
		Context x = Context.get();
		x.capture.clear();
		if (k instanceof Fiber)
			((Fiber) k).abandon();
		Throwable t = k.unwound(x, frames, e);
		Continuation.<RuntimeException>sneak(t);
		return null;
	}

	@Override
	public void pass() {
		done(at);
	}
}
