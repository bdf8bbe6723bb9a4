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
 * Variables, each with the set of classes that its objects may have, and edges along which the sets
 * flow. Finds the smallest solution. Edges may be added meanwhile, by listeners that are called for
 * each class that arrives at a variable.
 *
 * <p>A large program has millions of edges, so sets are {@link Words}, and edges are plain numbers.
 */
final class Solver {
	/** Limit of bytes for sets and edges; bytes per word of a set and per edge. */
	private static final long MOST = 300_000_000;
	private static final int WORD = 12;
	private static final int EDGE = 24;
	private static final Words NONE = new Words(0);
	private final long budget;
	private long steps;
	private long size;
	private Words[] sets = new Words[1024];
	/** The classes that came since v was last processed; null if none. */
	private Words[] news = new Words[1024];
	/** The classes that v can hold; null: any. */
	private Words[] filters = new Words[1024];
	/** The new classes of a put; empty between puts. */
	private final Words fresh = new Words(16);
	private final Words one = new Words(1);
	private final List<List<IntConsumer>> listeners = new ArrayList<>();
	private int[][] to = new int[1024][];
	private int[] count = new int[1024];
	private final Edges edges = new Edges();
	/** Variables with news, first in, first out; a ring. */
	private int[] work = new int[1024];
	private int first;
	private int waiting;
	private final Map<BitSet, Words> words = new IdentityHashMap<>();

	Solver(long budget) {
		this.budget = budget;
	}

	long steps() {
		return steps;
	}

	/** Throws TooMuch if the budget is exceeded; more: steps taken elsewhere. */
	void check(long more) {
		if (steps + more > budget)
			throw new Flow.TooMuch(budget / 1_000_000 + " million steps");
		if (size > MOST)
			throw new Flow.TooMuch(MOST / 1_000_000 + " MB of sets and edges");
	}

	/**
	 * Adds a variable; filter: the classes that it can hold, null: any. The filter is not changed.
	 */
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
			filters[v] = words.computeIfAbsent(filter, Words::of);
		return v;
	}

	boolean isEmpty(int v) {
		return sets[v].size() == 0;
	}

	/** True if one of these classes is in v. */
	boolean meets(int v, BitSet classes) {
		return sets[v].meets(classes);
	}

	void put(int v, int k) {
		one.becomes(k);
		put(v, one);
	}

	private void put(int v, Words all) {
		fresh.becomes(all, filters[v], sets[v]);
		if (fresh.size() == 0)
			return;
		if (sets[v] == NONE)
			sets[v] = new Words(fresh.size());
		size -= WORD * sets[v].size();
		sets[v].add(fresh);
		size += WORD * sets[v].size();
		if (news[v] == null) {
			news[v] = fresh.copy();
			later(v);
		} else {
			news[v].add(fresh);
		}
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
		size += EDGE;
		if (to[a] == null)
			to[a] = new int[4];
		else if (count[a] == to[a].length)
			to[a] = Arrays.copyOf(to[a], 2 * count[a]);
		to[a][count[a]++] = b;
		put(b, sets[a]);
	}

	/** Calls l for each class in v, and for each that arrives. */
	void listen(int v, IntConsumer l) {
		if (listeners.get(v) == null)
			listeners.set(v, new ArrayList<>(1));
		listeners.get(v).add(l);
		/* The news of v will reach all its listeners later, including l. */
		Words told = new Words(0);
		told.becomes(sets[v], null, news[v] == null ? NONE : news[v]);
		told.each(l);
	}

	/** Follows edges for so many steps; true when all is done. */
	boolean run(int some) {
		long until = steps + some;
		while (waiting > 0) {
			if (steps > until)
				return false;
			int v = work[first];
			first = first + 1 & work.length - 1;
			waiting--;
			steps += 1 + count[v];
			Words b = news[v];
			news[v] = null;
			for (int k = 0; k < count[v]; k++)
				put(to[v][k], b);
			List<IntConsumer> ls = listeners.get(v);
			if (ls != null)
				for (IntConsumer l : new ArrayList<>(ls))
					b.each(l);
		}
		return true;
	}

	/** A set of pairs. */
	private static final class Edges {
		/** 0: free. No edge is 0, because none goes from a variable to itself. */
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
