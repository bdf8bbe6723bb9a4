// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * One suspended method: what it needs to go on, and where.
 *
 *   Continuation.top -> [leaf frame] -> [its caller] -> ... -> [outermost] -> null
 *                        next, site,      next, site
 *                        i0.. j0.. a0..
 *
 * Written once, at capture, by Pushes.push; read by the out-of-line
 * resume code. Frames are never written again by the program, so a copy of the chain may
 * be resumed again (fork). The accessors by index serve dumps, snapshots and forks; the
 * resume code reads the fields.
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

	/** The same for every thread, where it holds nothing and nothing is below it. */
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
