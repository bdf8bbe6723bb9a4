// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * A suspension: the continuation that unwinds, and its frames so far. A translated handler
 * calls at(), which checks the call that the handler guards, and then push(), which makes the
 * frame.
 *
 * A new one is made now and then, so that it is young, like the frames. The same fields in
 * Capture, which is old, cost a fence of G1's for each store (down the stack, suspend and
 * return at depth 10: 217 ns, now 133; the parallel collector had 111). The methods are not in
 * Capture, either: C2 inlines no method of a Throwable's class.
 */
final class Pusher extends Pushes {
	/** The continuation that gets the frames. */
	Continuation from;
	/** Innermost first. */
	Frame first;
	Frame last;
	/** The method whose frame was pushed last, or the primitive that suspends. */
	MethodRef callee;

	/** Number of frames pushed. */
	int count;

	/** The resumed frame that runs now; its `next` is its callers. */
	Frame running;

	/** Number of suspensions that use the same Pusher. */
	static final int TIMES = 255;

	Pusher(Frame running) {
		this.running = running;
	}

	void begin(Continuation k, MethodRef primitive) {
		from = k;
		callee = primitive;
		count = 0;
	}

	/** Called when the frames were taken over or are lost. */
	void done() {
		from = null;
		first = null;
		last = null;
		callee = null;
		at = null;
	}

	/**
	 * The first half: checks that the suspension came out of the call of site s on that
	 * receiver. Hot: a few loads and stores.
	 */
	Pushes at(Capture c, Site s, Object on) {
		Site.Ok o = s.ok;
		if (o == null || o.callee != callee || (on != null && on.getClass() != o.type))
			s.check(c, callee, on);
		at = s;
		return this;
	}

	/**
	 * The second half: adds a frame with its values (`push`). Hand-made frames do their own
	 * check.
	 */
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

	/** Pushes a frame with more values than the largest shape. */
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
	 * Ends the suspension because there is no memory for a frame. The frames unwound so far go
	 * on here, with the error, on top of the method that cannot be unwound: their catch and
	 * finally blocks run and their locks are released. Then the error is thrown in this method,
	 * too, at its call.
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
