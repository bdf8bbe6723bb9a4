// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/*
 * Waits for the end of a run, in real time: says now and then how far it is, and ends it where a
 * single step (from one point or wait to the next) takes too long: a loop without a point, a
 * read of the console. Where there are steps, their number is the limit (Sim.maxSteps).
 *
 * Who was stopped itself (the whole machine, a debugger) has seen nothing: it counts its own
 * looks, a second each, and not the time between them.
 */
final class Patience {
	private static final int TELLS = 10;

	private final Run run;
	private final long most;
	private final Consumer<String> to;

	/** most: seconds, 0 for ever; to: null where nobody listens. */
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
		return "seed " + run.seed() + " runs for " + looks + " s: " + run.steps() + " steps, "
			+ run.now() / 1e9 + " s on its clock"
			+ (same > 0 ? ", in one step for " + same + " s" : "")
			+ (at == null ? "" : ", at " + at);
	}
}
