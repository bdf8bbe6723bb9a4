package org.ukthreads.pico;

/** What a translated handler does: checks the call that it stands behind, pushes a frame. */
final class Pusher extends Pushes {
	private final Capture c;

	Pusher(Capture c) {
		this.c = c;
	}

	/**
	 * The first half: the call of site s, on that receiver, must be what the suspension came
	 * out of. Hot: a few loads and stores.
	 */
	Pushes at(Site s, Object on) {
		Site.Ok o = s.ok;
		if (o == null || o.callee != c.callee || (on != null && on.getClass() != o.type))
			s.check(c, on);
		at = s;
		return this;
	}

	/** The second: a frame with the values (`push`). Hand-made frames do their own check. */
	@Override
	void add(Frame f, Site s) {
		f.site = s;
		Frame l = c.last;
		if (l == null)
			c.first = f;
		else
			l.next = f;
		c.last = f;
		done(s);
	}

	private void done(Site s) {
		c.callee = s.method;
		if (Profile.ON)
			Profile.pushed(s.method);
	}

	/** Of a frame with more values than the largest shape. */
	@Override
	public void push(int[] i, long[] j, Object[] a) {
		add(new WideFrame(i, j, a), at);
	}

	@Override
	public void pass() {
		done(at);
	}
}
