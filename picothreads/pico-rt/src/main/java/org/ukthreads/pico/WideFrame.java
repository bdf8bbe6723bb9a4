// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/** A frame with more values than the largest shape of Frames, in arrays. Rare. */
@Internal
public final class WideFrame extends Frame {
	public int[] i;
	public long[] j;
	public Object[] a;

	WideFrame(int[] i, long[] j, Object[] a) {
		this.i = i;
		this.j = j;
		this.a = a;
	}

	@Override
	int shape() { return shape(i.length, j.length, a.length); }

	@Override
	int getI(int k) { return i[k]; }

	@Override
	long getJ(int k) { return j[k]; }

	@Override
	Object getA(int k) { return a[k]; }

	@Override
	void setI(int k, int v) { i[k] = v; }

	@Override
	void setJ(int k, long v) { j[k] = v; }

	@Override
	void setA(int k, Object v) { a[k] = v; }

	@Override
	protected Object clone() throws CloneNotSupportedException {
		WideFrame f = (WideFrame) super.clone();
		f.i = i.clone();
		f.j = j.clone();
		f.a = a.clone();
		return f;
	}
}
