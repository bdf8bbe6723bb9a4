// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.work;

import org.ukthreads.pico.Continuation;

/** The recursion on a raw continuation, with suspend() at the leaf. Run it translated. */
public final class Raw implements Runnable {
	private final int depth;
	private final boolean repeat;
	private int sum;

	public Raw(int depth, boolean repeat) {
		this.depth = depth;
		this.repeat = repeat;
	}

	public static Continuation make(int depth, boolean repeat) {
		return new Continuation(new Raw(depth, repeat));
	}

	@Override
	public void run() {
		for (;;)
			sum += rec(depth, 1, null);
	}

	private int rec(int d, long a, Object o) {
		if (d == 0) {
			do
				Continuation.suspend();
			while (repeat);
			return 1;
		}
		long x = a * 31 + d;
		int r = rec(d - 1, x, o);
		return r + (int) x + (o == null ? d : 1);
	}
}
