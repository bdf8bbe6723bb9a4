// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.flow;

import org.apache.commons.javaflow.api.Continuation;
import org.apache.commons.javaflow.api.continuable;

/** The recursion of Raw for Javaflow, which instruments annotated methods. */
public final class Flow implements Runnable {
	private final int depth;
	private final boolean repeat;
	private int sum;

	private Flow(int depth, boolean repeat) {
		this.depth = depth;
		this.repeat = repeat;
	}

	public static Continuation make(int depth, boolean repeat) {
		return Continuation.startSuspendedWith(new Flow(depth, repeat), true);
	}

	@Override
	public @continuable void run() {
		for (;;)
			sum += rec(depth, 1, null);
	}

	private @continuable int rec(int d, long a, Object o) {
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
