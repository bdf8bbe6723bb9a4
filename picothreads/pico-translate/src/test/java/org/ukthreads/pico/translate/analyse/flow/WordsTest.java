// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse.flow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Compares Words with the JDK's BitSet. */
final class WordsTest {
	private final Random random = new Random(7);

	private BitSet some() {
		BitSet s = new BitSet();
		int most = 1 + random.nextInt(400);
		for (int k = random.nextInt(6); k > 0; k--)
			s.set(random.nextInt(most));
		return s;
	}

	private static BitSet told(Words w) {
		BitSet s = new BitSet();
		w.each(k -> {
			assertTrue(s.length() <= k, "in order, each once");
			s.set(k);
		});
		return s;
	}

	@Test
	void what_is_added_is_in_once_and_the_copied_stays() {
		for (int i = 0; i < 100_000; i++) {
			BitSet a = some();
			BitSet b = some();
			Words of = Words.of(a);
			Words sum = of.copy();
			sum.add(Words.of(b));
			assertEquals(a, told(of));
			assertEquals(a.intersects(b), of.meets(b));
			a.or(b);
			assertEquals(a, told(sum));
		}
	}

	@Test
	void what_is_new_is_let_through_and_was_not_there() {
		for (int i = 0; i < 100_000; i++) {
			BitSet all = some();
			BitSet filter = random.nextBoolean() ? some() : null;
			BitSet but = some();
			Words fresh = new Words(random.nextInt(3));
			fresh.becomes(random.nextInt(500));
			assertEquals(1, fresh.size());
			fresh.becomes(Words.of(all), filter == null ? null : Words.of(filter), Words.of(but));
			if (filter != null)
				all.and(filter);
			all.andNot(but);
			assertEquals(all, told(fresh));
			assertEquals(all.isEmpty(), fresh.size() == 0);
		}
	}
}
