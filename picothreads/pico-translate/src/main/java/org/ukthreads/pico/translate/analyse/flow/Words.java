// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse.flow;

import java.util.Arrays;
import java.util.BitSet;
import java.util.function.IntConsumer;

/*
 * A set of small numbers: those of its 64-bit words that are not 0, in order.
 *
 *   {1, 3, 200}    at 0 3    bits 1010 100000000
 *
 * Of 20,000 classes most variables hold one or a few. Rejected: all words up to the largest
 * number; the sets of such a program took 340 MB, 1.5 KB each, before any was followed. Also
 * rejected: steps that double in becomes(), a quarter of the main thread's samples; no difference.
 */
final class Words {
	private int[] at;
	private long[] bits;
	private int n;

	Words(int room) {
		at = new int[room];
		bits = new long[room];
	}

	static Words of(BitSet s) {
		long[] all = s.toLongArray();
		int n = 0;
		for (long w : all)
			n += w != 0 ? 1 : 0;
		Words x = new Words(n);
		for (int k = 0; k < all.length; k++)
			x.append(k, all[k]);
		return x;
	}

	Words copy() {
		Words x = new Words(0);
		x.at = Arrays.copyOf(at, n);
		x.bits = Arrays.copyOf(bits, n);
		x.n = n;
		return x;
	}

	/** The number of words. */
	int size() {
		return n;
	}

	boolean meets(BitSet s) {
		for (int k = 0; k < n; k++)
			for (long w = bits[k]; w != 0; w &= w - 1)
				if (s.get(at[k] << 6 | Long.numberOfTrailingZeros(w)))
					return true;
		return false;
	}

	/** l must not change this set. */
	void each(IntConsumer l) {
		for (int k = 0; k < n; k++)
			for (long w = bits[k]; w != 0; w &= w - 1)
				l.accept(at[k] << 6 | Long.numberOfTrailingZeros(w));
	}

	void becomes(int number) {
		n = 0;
		append(number >> 6, 1L << number);
	}

	/** Becomes what filter (null: any) lets through of `all` and is not in `but`. */
	void becomes(Words all, Words filter, Words but) {
		n = 0;
		if (all.n == 0)
			return;
		int f = filter == null ? 0 : filter.from(all.at[0]);
		int b = but.from(all.at[0]);
		for (int k = 0; k < all.n; k++) {
			int a = all.at[k];
			long w = all.bits[k];
			if (filter != null) {
				while (f < filter.n && filter.at[f] < a)
					f++;
				if (f == filter.n)
					return;
				w = filter.at[f] == a ? w & filter.bits[f] : 0;
			}
			while (b < but.n && but.at[b] < a)
				b++;
			append(a, b < but.n && but.at[b] == a ? w & ~but.bits[b] : w);
		}
	}

	/** Adds a word behind all others. */
	private void append(int a, long w) {
		if (w == 0)
			return;
		if (n == at.length)
			room(2 * n + 1);
		at[n] = a;
		bits[n++] = w;
	}

	/** Merges from the last word to the first, so that none is overwritten early. */
	void add(Words more) {
		int k = more.n - 1;
		int i = n - 1;
		n += more.n - common(more);
		if (n > at.length)
			room(n + n / 4);
		for (int to = n - 1; k >= 0; to--) {
			int a = more.at[k];
			long w = 0;
			if (i >= 0 && at[i] >= a) {
				a = at[i];
				w = bits[i--];
			}
			if (more.at[k] == a)
				w |= more.bits[k--];
			at[to] = a;
			bits[to] = w;
		}
	}

	/** The number of words that both sets have. */
	private int common(Words o) {
		int c = 0;
		for (int k = 0, i = o.n == 0 ? n : from(o.at[0]); k < o.n && i < n;)
			if (at[i] == o.at[k]) {
				c++;
				k++;
				i++;
			} else if (at[i] < o.at[k]) {
				i++;
			} else {
				k++;
			}
		return c;
	}

	private void room(int words) {
		at = Arrays.copyOf(at, words);
		bits = Arrays.copyOf(bits, words);
	}

	/** The first word that is not before a. */
	private int from(int a) {
		if (n == 0 || at[0] >= a)
			return 0;
		if (at[n - 1] < a)
			return n;
		int k = Arrays.binarySearch(at, 0, n, a);
		return k < 0 ? -k - 1 : k;
	}
}
