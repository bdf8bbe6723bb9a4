// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/*
 * Decides which thread goes on if more than one can. `current` is at a point and could go on
 * (null: it waits, has ended, or has yielded). `ready` are the others, in the order of their ids.
 * `plain` is what the default schedule picks. The answer is one of them.
 *
 *   Uniform   each thread with the same probability, at each decision
 *   Pct       the thread with the highest priority; d - 1 times in a run the running thread falls
 *             below all others. Burckhardt, Kothari, Musuvathi, Nagarakatte: "A randomized
 *             scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010: with n threads
 *             and k decisions a run finds a bug of depth d with a probability of at least
 *             1 / (n k^(d-1)).
 *   Follow    the one that a Schedule names
 *   Prefix    choices by number, then the default schedule: for Explorer
 */
abstract class Strategy {
	abstract Task pick(Task current, List<Task> ready, Task plain, Task at);

	/** Called when a thread is started. */
	void started(Task t) {}

	/** Called when a thread spins or has yielded, so that the others get their turn. */
	void demote(Task t) {}

	/** Returns the depth that the run's guarantee is for; 0: none. */
	int depth() {
		return 0;
	}

	/** Returns how many decisions it assumes. */
	int length() {
		return 0;
	}

	/** True if it draws, so that the jumps of the clock may be drawn, too. */
	boolean isRandom() {
		return false;
	}

	/** Returns the name that the report of a run shows. */
	abstract String name();

	static final class Uniform extends Strategy {
		private final Random draw;

		Uniform(Random draw) {
			this.draw = draw;
		}

		@Override
		Task pick(Task current, List<Task> ready, Task plain, Task at) {
			int n = ready.size();
			int k = draw.nextInt(current == null ? n : n + 1);
			return k == n ? current : ready.get(k);
		}

		@Override
		boolean isRandom() {
			return true;
		}

		@Override
		String name() {
			return "uniform";
		}
	}

	static final class Pct extends Strategy {
		private final Random draw;
		private final int depth;
		private final int length;
		/** The decisions at which the running thread falls, ascending. */
		private final int[] falls;
		private int next;
		private int decision;
		/** The lowest priority of demoted threads, which are below all that have fallen. */
		private double low;

		Pct(Random draw, int depth, int length) {
			this.draw = draw;
			this.depth = depth;
			this.length = length;
			falls = new int[depth - 1];
			for (int k = 0; k < falls.length; k++)
				falls[k] = draw.nextInt(Math.max(1, length));
			Arrays.sort(falls);
		}

		@Override
		void started(Task t) {
			t.priority = 1 + draw.nextDouble();
		}

		@Override
		void demote(Task t) {
			t.priority = --low;
		}

		@Override
		Task pick(Task current, List<Task> ready, Task plain, Task at) {
			while (next < falls.length && falls[next] <= decision) {
				/* The first thread to fall stays above the second. */
				if (at != null)
					at.priority = 1 - (next + 1.0) / depth;
				next++;
			}
			decision++;
			Task best = current;
			for (int k = 0; k < ready.size(); k++)
				if (best == null || ready.get(k).priority > best.priority)
					best = ready.get(k);
			return best;
		}

		@Override
		int depth() {
			return depth;
		}

		@Override
		boolean isRandom() {
			return true;
		}

		@Override
		int length() {
			return length;
		}

		@Override
		String name() {
			return "pct " + depth;
		}
	}

	static final class Follow extends Strategy {
		private final Schedule schedule;

		Follow(Schedule schedule) {
			this.schedule = schedule;
		}

		@Override
		Task pick(Task current, List<Task> ready, Task plain, Task at) {
			Schedule.Turn t = at == null ? null : schedule.at(at.id, at.steps);
			if (t == null)
				return plain;
			if (t.to == Schedule.CLOCK)
				return Task.CLOCK;
			if (current != null && current.id == t.to)
				return current;
			for (Task r : ready)
				if (r.id == t.to)
					return r;
			return plain;
		}

		@Override
		String name() {
			return "schedule";
		}
	}

	/** Notes at each decision how many choices there were; the default one is number 0. */
	static final class Prefix extends Strategy {
		/** The number of the choice to take at each decision. */
		final List<Integer> choices;
		/**
		 * By decision: how many choices there were, and whether not to take number 0 is a
		 * preemption.
		 */
		final List<Integer> ways = new ArrayList<>();
		final List<Boolean> preempts = new ArrayList<>();

		Prefix(List<Integer> choices) {
			this.choices = choices;
		}

		@Override
		Task pick(Task current, List<Task> ready, Task plain, Task at) {
			int d = ways.size();
			ways.add(ready.size() + (current == null ? 0 : 1));
			preempts.add(current != null && plain == current);
			int c = d < choices.size() ? choices.get(d) : 0;
			if (c == 0)
				return plain;
			/* The others, in the order of their ids. */
			for (Task r : ready)
				if (r != plain && --c == 0)
					return r;
			return current != null && current != plain && --c == 0 ? current : plain;
		}

		@Override
		String name() {
			return "bound";
		}
	}
}
