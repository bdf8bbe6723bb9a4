// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.HashSet;
import java.util.Locale;
import java.util.Set;

/**
 * What a number of runs have covered, so that "ok" says something: different schedules, and for
 * each depth with what probability a bug would have been met (see Strategy: PCT). A bug's depth
 * is how many orderings between two acts must hold for it to happen; most need one or two.
 */
public final class Coverage {
	/** Depths that a search looks at: 1 to this. */
	static final int DEPTHS = 4;

	private final Set<Long> schedules = new HashSet<>();
	private long runs;
	private int threads;
	private int decisions;
	private int preemptions;
	private long pinned;
	/** Of each depth: runs that PCT has drawn for it, and how likely all of them missed. */
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

	/** Different ones among them. */
	public int distinct() {
		return schedules.size();
	}

	/** Most threads in a run. */
	public int threads() {
		return threads;
	}

	/** Most decisions in a run. */
	public int decisions() {
		return decisions;
	}

	/** Most preemptions in a run. */
	public int preemptions() {
		return preemptions;
	}

	/** Points in all runs at which a thread could not lose its turn (untranslated code). */
	public long pinned() {
		return pinned;
	}

	/**
	 * Probability, at least, with which these runs would have met a bug of this depth: by
	 * those that PCT has drawn for it, in no more decisions than it had reckoned with.
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
				.append(" points below untranslated code, where nobody could go on");
		return b.toString();
	}
}
