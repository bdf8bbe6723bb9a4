// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

/*
 * Shrinks a failing schedule to the shortest one that fails in the same way (by an exception of
 * the same class). First it takes out turns: halves, quarters, ... single ones (Zeller's delta
 * debugging), until none can go. Then it tries all schedules with fewer preemptions, as far as
 * the runs suffice. If they suffice, the result is proven to have the fewest preemptions.
 */
final class Shrinker {
	private static final long MINUTE = 60_000_000_000L;

	private final Sim sim;
	private final Sim.Program program;
	private final int most;
	private final long begun = System.nanoTime();
	private int runs;
	private Sim.Outcome best;

	Shrinker(Sim sim, Sim.Outcome failed, Sim.Program program, int most) {
		this.sim = sim;
		this.program = program;
		this.most = most;
		best = failed;
	}

	Sim.Outcome shrink() throws Exception {
		Sim.Outcome o = tried(best.schedule);
		if (o == null)
			return best;
		best = o;
		take();
		boolean shortest = fewer();
		Sim.Outcome told = new Run(sim, best.seed, new Strategy.Follow(best.schedule), true,
			program.fresh()).go();
		return told.ok() ? best : told.shrunk(shortest, runs);
	}

	/** Returns the outcome if the schedule fails in the same way, otherwise null. */
	private Sim.Outcome tried(Schedule s) throws Exception {
		runs++;
		Sim.Outcome o = new Run(sim, best.seed, new Strategy.Follow(s), false,
			program.fresh()).go();
		return !o.ok() && o.failure.getClass() == best.failure.getClass() ? o : null;
	}

	/** Runs that fail by the number of steps take seconds each, so their time is limited, too. */
	private boolean isOver() {
		return runs >= most || best.failure instanceof Sim.LimitException
			&& System.nanoTime() - begun > MINUTE;
	}

	private void take() throws Exception {
		int size = Math.max(1, best.schedule.length() / 2);
		while (!isOver() && best.schedule.length() > 0) {
			boolean any = false;
			for (int at = 0; at < best.schedule.length() && !isOver();) {
				int to = Math.min(best.schedule.length(), at + size);
				Sim.Outcome o = tried(best.schedule.without(at, to));
				if (o != null && o.schedule.length() < best.schedule.length()) {
					best = o;
					any = true;
				} else {
					at = to;
				}
			}
			if (!any && size == 1)
				return;
			if (!any || size > best.schedule.length())
				size = Math.max(1, Math.min(size / 2, best.schedule.length()));
		}
	}

	/** Returns true if it is proven that no schedule with fewer preemptions fails in this way. */
	private boolean fewer() throws Exception {
		for (int bound = 0; bound < best.preemptions; bound++) {
			if (isOver())
				return false;
			Explorer e = new Explorer(sim, best.seed, program);
			e.all(bound, Math.max(0, most - runs), best.failure.getClass(), null);
			runs += e.runs;
			if (e.failed != null) {
				best = e.failed;
				take();
				return true;
			}
			if (!e.complete)
				return false;
		}
		return true;
	}
}
