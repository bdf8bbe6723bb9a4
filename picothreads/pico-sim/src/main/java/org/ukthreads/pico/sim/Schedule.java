// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Which way a run took: where it left the plain one, in which every thread runs until it
 * waits and then the next in turn goes on. A place is `thread.step`: the step-th decision that
 * was made where that thread stood, so that it means the same after others were taken out.
 *
 *   0.3:2+2.1:0     at its decision 3 thread 0 makes way for thread 2, which at its decision
 *                   1 makes way for thread 0; all else is the plain way
 *   t               in the place of a thread: the clock jumps to the next timer
 *
 * Immutable.
 */
public final class Schedule {
	/** The thread in whose place the clock moves on. */
	static final int CLOCK = -1;

	/** One deviation. */
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

	/** As toString() wrote it; empty: the plain way. IllegalArgumentException: it is none. */
	public static Schedule parse(String text) {
		List<Turn> l = new ArrayList<>();
		for (String s : text.split("\\+")) {
			if (s.isEmpty())
				continue;
			String[] w = s.split("[.:]");
			if (w.length != 3)
				throw new IllegalArgumentException("no schedule: " + text);
			l.add(new Turn(Integer.parseInt(w[0]), Integer.parseInt(w[1]),
				w[2].equals("t") ? CLOCK : Integer.parseInt(w[2])));
		}
		return new Schedule(l);
	}

	private static long key(int thread, int step) {
		return (long) thread << 32 | step & 0xffffffffL;
	}

	/** The deviation at that place; null: none. */
	Turn at(int thread, int step) {
		return at.get(key(thread, step));
	}

	List<Turn> turns() {
		return turns;
	}

	/** How often it leaves the plain way. */
	public int length() {
		return turns.size();
	}

	/** Without those from..to. */
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
