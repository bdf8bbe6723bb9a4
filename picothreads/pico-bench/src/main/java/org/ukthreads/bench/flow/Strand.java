// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.flow;

import co.paralleluniverse.fibers.Fiber;
import co.paralleluniverse.fibers.FiberExecutorScheduler;
import co.paralleluniverse.fibers.SuspendExecution;
import co.paralleluniverse.strands.SuspendableRunnable;

/**
 * The recursion of Raw for Quasar, which instruments methods that throw SuspendExecution. Its
 * scheduler runs a fiber on the thread that unparks it, until the fiber parks again.
 */
public final class Strand implements SuspendableRunnable {
	private static final long serialVersionUID = 1;
	private final int depth;
	private final boolean repeat;
	private int sum;

	private Strand(int depth, boolean repeat) {
		this.depth = depth;
		this.repeat = repeat;
	}

	public static Runnable make(int depth, boolean repeat) {
		Fiber<Void> f = new Fiber<>("bench", new FiberExecutorScheduler("bench", Runnable::run),
			new Strand(depth, repeat));
		f.start();
		return f::unpark;
	}

	@Override
	public void run() throws SuspendExecution {
		for (;;)
			sum += rec(depth, 1, null);
	}

	private int rec(int d, long a, Object o) throws SuspendExecution {
		if (d == 0) {
			do
				Fiber.park();
			while (repeat);
			return 1;
		}
		long x = a * 31 + d;
		int r = rec(d - 1, x, o);
		return r + (int) x + (o == null ? d : 1);
	}
}
