package org.ukthreads.pico.translate.analyse.flow;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntConsumer;

/**
 * Variables, each with the set of classes that its objects may have, and edges along which
 * the sets flow; the least solution. Edges may be added while it is made, by listeners that
 * are told each class that arrives at a variable.
 */
final class Solver {
	private final List<BitSet> sets = new ArrayList<>();
	private final List<BitSet> news = new ArrayList<>();
	private final List<BitSet> filters = new ArrayList<>();
	private final List<List<IntConsumer>> listeners = new ArrayList<>();
	private int[][] to = new int[1024][];
	private int[] count = new int[1024];
	private final Set<Long> edges = new HashSet<>();
	private final ArrayDeque<Integer> work = new ArrayDeque<>();

	/** A new variable; filter: what it can hold at all, null: anything. */
	int add(BitSet filter) {
		int v = sets.size();
		sets.add(new BitSet());
		news.add(null);
		filters.add(filter);
		listeners.add(null);
		if (v == to.length) {
			to = Arrays.copyOf(to, 2 * v);
			count = Arrays.copyOf(count, 2 * v);
		}
		return v;
	}

	BitSet get(int v) {
		return sets.get(v);
	}

	void put(int v, int k) {
		BitSet b = new BitSet();
		b.set(k);
		put(v, b);
	}

	void put(int v, BitSet all) {
		BitSet b = (BitSet) all.clone();
		if (filters.get(v) != null)
			b.and(filters.get(v));
		b.andNot(sets.get(v));
		if (b.isEmpty())
			return;
		sets.get(v).or(b);
		if (news.get(v) == null) {
			news.set(v, b);
			work.add(v);
		} else {
			news.get(v).or(b);
		}
	}

	void edge(int a, int b) {
		if (a == b || !edges.add((long) a << 32 | b))
			return;
		if (to[a] == null)
			to[a] = new int[4];
		else if (count[a] == to[a].length)
			to[a] = Arrays.copyOf(to[a], 2 * count[a]);
		to[a][count[a]++] = b;
		put(b, sets.get(a));
	}

	/** Tells what is in v, and whatever will be. */
	void listen(int v, IntConsumer l) {
		if (listeners.get(v) == null)
			listeners.set(v, new ArrayList<>(1));
		listeners.get(v).add(l);
		BitSet told = (BitSet) sets.get(v).clone();
		/* What is still to be told to all of v's listeners is told then. */
		if (news.get(v) != null)
			told.andNot(news.get(v));
		told.stream().forEach(l);
	}

	void run() {
		Integer v;
		while ((v = work.poll()) != null) {
			BitSet b = news.set(v, null);
			for (int k = 0; k < count[v]; k++)
				put(to[v][k], b);
			List<IntConsumer> ls = listeners.get(v);
			if (ls != null)
				for (IntConsumer l : new ArrayList<>(ls))
					b.stream().forEach(l);
		}
	}
}
