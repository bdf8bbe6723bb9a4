// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.ArrayList;
import java.util.List;

/*
 * Runs all schedules with at most so many preemptions, one after the other (iterative context
 * bounding: Musuvathi, Qadeer, PLDI 2007). It compares no states, so runs may meet equal states.
 *
 *   a run makes the given choices, then follows the default schedule; it notes what could be chosen
 *   at each decision
 *   the next run's choices end at the last decision that has an alternative not yet taken
 *
 * The choice of the next thread after a wait is no preemption, so all of them are tried.
 */
final class Explorer {
	private final Sim sim;
	private final long seed;
	private final Sim.Program program;
	/** The run that failed; null: none so far. */
	Sim.Outcome failed;
	/** All schedules within the bound were run. */
	boolean complete;
	int runs;

	Explorer(Sim sim, long seed, Sim.Program program) {
		this.sim = sim;
		this.seed = seed;
		this.program = program;
	}

	/**
	 * Runs schedules with at most bound preemptions, in at most `most` runs. Returns false if a
	 * run fails, or if there are more schedules.
	 */
	boolean all(int bound, int most, Class<?> failure, Coverage to) throws Exception {
		List<Integer> choices = new ArrayList<>();
		complete = false;
		while (choices != null) {
			if (runs++ >= most)
				return false;
			Strategy.Prefix p = new Strategy.Prefix(choices);
			Sim.Outcome o = new Run(sim, seed, p, false, program.fresh()).go();
			if (to != null)
				to.add(o);
			if (!o.ok() && (failure == null || failure == o.failure.getClass())) {
				failed = o;
				return false;
			}
			choices = next(p, bound);
		}
		complete = true;
		return true;
	}

	/** Returns the next run's choices; null: there are no more. */
	private static List<Integer> next(Strategy.Prefix p, int bound) {
		int n = p.ways.size();
		int[] spent = new int[n + 1];
		for (int d = 0; d < n; d++)
			spent[d + 1] = spent[d] + (choice(p, d) > 0 && p.preempts.get(d) ? 1 : 0);
		for (int d = n - 1; d >= 0; d--) {
			int c = choice(p, d) + 1;
			if (c >= p.ways.get(d) || spent[d] + (p.preempts.get(d) ? 1 : 0) > bound)
				continue;
			List<Integer> l = new ArrayList<>();
			for (int k = 0; k < d; k++)
				l.add(choice(p, k));
			l.add(c);
			return l;
		}
		return null;
	}

	private static int choice(Strategy.Prefix p, int d) {
		return d < p.choices.size() ? p.choices.get(d) : 0;
	}
}
