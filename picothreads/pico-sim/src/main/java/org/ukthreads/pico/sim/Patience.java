// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/*
 * Waits for the end of a run, in real time. It reports the progress every ten seconds. It ends
 * the run if a single step (from one point or wait to the next) takes too long, for example a
 * loop without a point, or a read of the console. A loop with points ends at the limit of steps
 * (Sim.maxSteps).
 *
 * It measures by counting its own looks, a second each. So time in which the whole process was
 * stopped (the machine slept, a debugger held it) does not count.
 */
final class Patience {
	private static final int TELLS = 10;

	private final Run run;
	private final long most;
	private final Consumer<String> to;

	/** most: seconds, 0: no limit. to: null if nobody wants the reports. */
	Patience(Run run, long most, Consumer<String> to) {
		this.run = run;
		this.most = most;
		this.to = to;
	}

	void await(CountDownLatch over) throws InterruptedException {
		long seen = -1;
		long same = 0;
		for (long looks = 1; !over.await(1, TimeUnit.SECONDS); looks++) {
			long steps = run.steps() + run.now();
			same = steps == seen ? same + 1 : 0;
			seen = steps;
			if (to != null && looks % TELLS == 0)
				to.accept(told(looks, same));
			if (most > 0 && same >= most)
				run.stuck(most);
		}
	}

	private String told(long looks, long same) {
		StackTraceElement at = Story.line(run.stack());
		return "seed " + run.seed() + " has run for " + looks + " s: " + run.steps() + " steps, "
			+ run.now() / 1e9 + " s of simulated time"
			+ (same > 0 ? ", in the same step for " + same + " s" : "")
			+ (at == null ? "" : ", at " + at);
	}
}
