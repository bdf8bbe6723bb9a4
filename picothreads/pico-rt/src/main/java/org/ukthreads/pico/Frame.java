// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * One suspended method: the values that it needs to go on, and the site at which it stopped.
 *
 *   Continuation.top -> [leaf frame] -> [its caller] -> ... -> [outermost] -> null
 *                        next, site,      next, site
 *                        i0.. j0.. a0..
 *
 * Pushes.push writes it once, at the capture, and the out-of-line resume code reads it. The
 * program never writes a frame again, so a copy of the chain can be resumed again (fork). The
 * accessors by index serve dumps, snapshots and forks; the resume code reads the fields.
 */
@Internal
public abstract class Frame implements Cloneable {
	Frame next;
	Site site;

	Frame() {}

	/** A frame without values. */
	static Frame end(Site s) {
		Frame f = new Frames.F0_0_0();
		f.site = s;
		return f;
	}

	/**
	 * The frame that all threads share in place of this one, if it has no values and no caller;
	 * otherwise this.
	 */
	final Frame shared() {
		if (next != null || site == null || shape() != 0)
			return this;
		Frame f = site.end;
		if (f == null)
			site.end = f = this;
		return f;
	}

	static int shape(int i, int j, int a) {
		return i << 20 | j << 10 | a;
	}

	/** Counts of ints, longs and references, ten bits each. */
	abstract int shape();

	final int ints() { return shape() >>> 20; }

	final int longs() { return shape() >>> 10 & 1023; }

	final int refs() { return shape() & 1023; }

	int getI(int k) { throw new IndexOutOfBoundsException(); }

	long getJ(int k) { throw new IndexOutOfBoundsException(); }

	Object getA(int k) { throw new IndexOutOfBoundsException(); }

	void setI(int k, int v) { throw new IndexOutOfBoundsException(); }

	void setJ(int k, long v) { throw new IndexOutOfBoundsException(); }

	void setA(int k, Object v) { throw new IndexOutOfBoundsException(); }

	final Frame copy() {
		try {
			return (Frame) clone();
		} catch (CloneNotSupportedException e) {
			throw new AssertionError(e);
		}
	}
}
