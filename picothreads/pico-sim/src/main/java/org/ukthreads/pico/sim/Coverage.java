// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.HashSet;
import java.util.Locale;
import java.util.Set;

/**
 * Counts what a number of runs have covered, so that "ok" says how much was tried: the different
 * schedules, and for each depth the probability with which a bug would have been found (see
 * Strategy: PCT). The depth of a bug is the number of orderings between two acts that it needs.
 * Most bugs need one or two.
 */
public final class Coverage {
	/** A search looks at the depths from 1 to this. */
	static final int DEPTHS = 4;

	private final Set<Long> schedules = new HashSet<>();
	private long runs;
	private int threads;
	private int decisions;
	private int preemptions;
	private long pinned;
	/** By depth: the runs that PCT drew for it, and the probability that all of them missed. */
	private final long[] pct = new long[DEPTHS + 1];
	private final double[] missed = {1, 1, 1, 1, 1};

	void add(Sim.Outcome o) {
		runs++;
		schedules.add(o.trace);
		threads = Math.max(threads, o.threads);
		decisions = Math.max(decisions, o.decisions);
		preemptions = Math.max(preemptions, o.preemptions);
		pinned += o.pinned;
		if (o.depth > 0 && o.decisions <= o.length) {
			pct[o.depth]++;
			missed[o.depth] *= 1 - 1 / (o.threads * Math.pow(o.length, o.depth - 1));
		}
	}

	public long runs() {
		return runs;
	}

	/** Returns how many different schedules these runs had. */
	public int distinct() {
		return schedules.size();
	}

	/** Returns the largest number of threads in a run. */
	public int threads() {
		return threads;
	}

	/** Returns the largest number of decisions in a run. */
	public int decisions() {
		return decisions;
	}

	/** Returns the largest number of preemptions in a run. */
	public int preemptions() {
		return preemptions;
	}

	/** Returns at how many points of all runs a thread could not make way (untranslated code). */
	public long pinned() {
		return pinned;
	}

	/**
	 * Returns the least probability with which these runs would have found a bug of this depth.
	 * Only those runs count that PCT drew for this depth and that had no more decisions than it
	 * assumed.
	 */
	public double met(int depth) {
		return depth > DEPTHS ? 0 : 1 - missed[depth];
	}

	@Override
	public String toString() {
		StringBuilder b = new StringBuilder();
		b.append(distinct()).append(" different schedules in ").append(runs)
			.append(" runs, of up to ").append(threads).append(" threads, ")
			.append(decisions).append(" decisions and ").append(preemptions)
			.append(" preemptions");
		for (int d = 1; d <= DEPTHS; d++)
			if (pct[d] > 0)
				b.append(String.format(Locale.ROOT, "; a bug of depth %d met with p >= %.3g",
					d, met(d)));
		if (pinned > 0)
			b.append("; ").append(pinned)
				.append(" points below untranslated code, where the thread could not make way");
		return b.toString();
	}
}
