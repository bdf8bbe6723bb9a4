// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The turns of a run: where it left the default schedule, in which each thread runs until it
 * waits, and then the next one in the order of ids goes on. A place is `thread.step`: the step-th
 * decision that was made while that thread was the last to run. So a place keeps its meaning when
 * other turns are taken out.
 *
 *   0.3:2+2.1:0     at its decision 3 thread 0 makes way for thread 2, which at its decision 1
 *                   makes way for thread 0; the rest is the default schedule
 *   t               instead of a thread: the clock jumps to the next timer
 *
 * Immutable.
 */
public final class Schedule {
	/** In place of a thread: the clock moves on. */
	static final int CLOCK = -1;

	/** One place where the run leaves the default schedule. */
	static final class Turn {
		final int thread;
		final int step;
		final int to;

		Turn(int thread, int step, int to) {
			this.thread = thread;
			this.step = step;
			this.to = to;
		}

		@Override
		public String toString() {
			return thread + "." + step + ":" + (to == CLOCK ? "t" : "" + to);
		}
	}

	private final List<Turn> turns;
	private final Map<Long, Turn> at = new LinkedHashMap<>();

	Schedule(List<Turn> turns) {
		this.turns = new ArrayList<>(turns);
		for (Turn t : turns)
			at.put(key(t.thread, t.step), t);
	}

	/**
	 * Parses the text of a schedule; an empty one is the default schedule.
	 *
	 * @throws IllegalArgumentException if text is not a schedule
	 */
	public static Schedule parse(String text) {
		List<Turn> l = new ArrayList<>();
		for (String s : text.split("\\+")) {
			if (s.isEmpty())
				continue;
			String[] w = s.split("[.:]");
			if (w.length != 3)
				throw new IllegalArgumentException("not a schedule: " + text);
			l.add(new Turn(Integer.parseInt(w[0]), Integer.parseInt(w[1]),
				w[2].equals("t") ? CLOCK : Integer.parseInt(w[2])));
		}
		return new Schedule(l);
	}

	private static long key(int thread, int step) {
		return (long) thread << 32 | step & 0xffffffffL;
	}

	/** Returns the turn at that place; null: there is none. */
	Turn at(int thread, int step) {
		return at.get(key(thread, step));
	}

	/** Returns how often the run leaves the default schedule. */
	public int length() {
		return turns.size();
	}

	/** Returns this schedule without its turns from..to - 1. */
	Schedule without(int from, int to) {
		List<Turn> l = new ArrayList<>(turns.subList(0, from));
		l.addAll(turns.subList(to, turns.size()));
		return new Schedule(l);
	}

	@Override
	public String toString() {
		StringBuilder b = new StringBuilder();
		for (Turn t : turns)
			b.append(b.length() == 0 ? "" : "+").append(t);
		return b.toString();
	}
}
