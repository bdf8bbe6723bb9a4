// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse.flow;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;

/**
 * Variables, each with the set of classes that its objects may have, and edges along which
 * the sets flow; the least solution. Edges may be added while it is made, by listeners that
 * are told each class that arrives at a variable.
 *
 * <p>A large program has millions of edges, so sets are bare words and edges bare numbers.
 */
final class Solver {
	/** Words of sets, and edges: 8 bytes each, and the edges' some more. */
	private static final long MOST = 36_000_000;
	private static final long[] NONE = {};
	private final long budget;
	private long steps;
	private long size;
	private long[][] sets = new long[1024][];
	/** What has come since v was looked at; null: nothing. */
	private long[][] news = new long[1024][];
	/** What v can hold at all; null: anything. */
	private long[][] filters = new long[1024][];
	private final List<List<IntConsumer>> listeners = new ArrayList<>();
	private int[][] to = new int[1024][];
	private int[] count = new int[1024];
	private final Edges edges = new Edges();
	/** Variables with news, first in, first out; a ring. */
	private int[] work = new int[1024];
	private int first;
	private int waiting;
	private final Map<BitSet, long[]> words = new IdentityHashMap<>();

	Solver(long budget) {
		this.budget = budget;
	}

	long steps() {
		return steps;
	}

	/** Is there anything left of the budget, with so many steps taken elsewhere? */
	void check(long more) {
		if (steps + more > budget)
			throw new Flow.TooMuch(budget / 1_000_000 + " million steps");
		if (size > MOST)
			throw new Flow.TooMuch(8 * MOST / 1_000_000 + " MB of sets and edges");
	}

	/** A new variable; filter: what it can hold at all, null: anything. It is not changed. */
	int add(BitSet filter) {
		int v = listeners.size();
		listeners.add(null);
		if (v == to.length) {
			sets = Arrays.copyOf(sets, 2 * v);
			news = Arrays.copyOf(news, 2 * v);
			filters = Arrays.copyOf(filters, 2 * v);
			to = Arrays.copyOf(to, 2 * v);
			count = Arrays.copyOf(count, 2 * v);
		}
		sets[v] = NONE;
		if (filter != null)
			filters[v] = words.computeIfAbsent(filter, BitSet::toLongArray);
		return v;
	}

	boolean isEmpty(int v) {
		return sets[v].length == 0;
	}

	/** Is one of these classes in v? */
	boolean meets(int v, BitSet classes) {
		return classes.intersects(BitSet.valueOf(sets[v]));
	}

	void put(int v, int k) {
		long[] f = filters[v];
		int at = k >> 6;
		if (f == null || at < f.length && (f[at] & 1L << k) != 0)
			put(v, at, 1L << k, at + 1);
	}

	private void put(int v, long[] all) {
		long[] f = filters[v];
		int n = f == null ? all.length : Math.min(f.length, all.length);
		for (int k = 0; k < n; k++) {
			long w = f == null ? all[k] : all[k] & f[k];
			if (w != 0)
				put(v, k, w, n);
		}
	}

	/** A word of a set of n words. */
	private void put(int v, int k, long word, int n) {
		long[] s = sets[v];
		long w = k < s.length ? word & ~s[k] : word;
		if (w == 0)
			return;
		if (k >= s.length) {
			size += n - s.length;
			sets[v] = s = Arrays.copyOf(s, n);
		}
		s[k] |= w;
		if (news[v] == null) {
			news[v] = new long[n];
			later(v);
		} else if (k >= news[v].length) {
			news[v] = Arrays.copyOf(news[v], n);
		}
		news[v][k] |= w;
	}

	private void later(int v) {
		if (waiting == work.length) {
			int[] all = new int[2 * waiting];
			System.arraycopy(work, first, all, 0, waiting - first);
			System.arraycopy(work, 0, all, waiting - first, first);
			work = all;
			first = 0;
		}
		work[first + waiting++ & work.length - 1] = v;
	}

	void edge(int a, int b) {
		if (a == b || !edges.add((long) a << 32 | b))
			return;
		size += 3;
		if (to[a] == null)
			to[a] = new int[4];
		else if (count[a] == to[a].length)
			to[a] = Arrays.copyOf(to[a], 2 * count[a]);
		to[a][count[a]++] = b;
		put(b, sets[a]);
	}

	/** Tells what is in v, and whatever will be. */
	void listen(int v, IntConsumer l) {
		if (listeners.get(v) == null)
			listeners.set(v, new ArrayList<>(1));
		listeners.get(v).add(l);
		long[] told = sets[v].clone();
		/* What is still to be told to all of v's listeners is told then. */
		if (news[v] != null)
			for (int k = 0; k < Math.min(told.length, news[v].length); k++)
				told[k] &= ~news[v][k];
		each(told, l);
	}

	private static void each(long[] set, IntConsumer l) {
		for (int k = 0; k < set.length; k++)
			for (long w = set[k]; w != 0; w &= w - 1)
				l.accept(k << 6 | Long.numberOfTrailingZeros(w));
	}

	/** Follows the edges, some; true: to the end. */
	boolean run(int some) {
		long until = steps + some;
		while (waiting > 0) {
			if (steps > until)
				return false;
			int v = work[first];
			first = first + 1 & work.length - 1;
			waiting--;
			steps += 1 + count[v];
			long[] b = news[v];
			news[v] = null;
			for (int k = 0; k < count[v]; k++)
				put(to[v][k], b);
			List<IntConsumer> ls = listeners.get(v);
			if (ls != null)
				for (IntConsumer l : new ArrayList<>(ls))
					each(b, l);
		}
		return true;
	}

	/** A set of pairs. */
	private static final class Edges {
		/** 0: free. No edge is 0, for none goes from a variable to itself. */
		private long[] slots = new long[1 << 16];
		private int used;

		boolean add(long e) {
			if (!insert(e))
				return false;
			if (++used > slots.length / 2) {
				long[] old = slots;
				slots = new long[2 * old.length];
				for (long o : old)
					if (o != 0)
						insert(o);
			}
			return true;
		}

		private boolean insert(long e) {
			int k = (int) (e * 0x9e3779b97f4a7c15L >>> 32) & slots.length - 1;
			for (; slots[k] != 0; k = k + 1 & slots.length - 1)
				if (slots[k] == e)
					return false;
			slots[k] = e;
			return true;
		}
	}
}
