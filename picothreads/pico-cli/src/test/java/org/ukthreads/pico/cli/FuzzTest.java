// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random programs, translated with suspension at random method entries, print what the originals
 * print. -Dpico.fuzz=N is their number and -Dpico.fuzz.seed the first seed. A failure names its
 * seed and shows the source.
 */
final class FuzzTest {
	@Test
	void random_programs_print_the_same(@TempDir Path dir) throws Exception {
		int n = Integer.getInteger("pico.fuzz", 60);
		long first = Long.getLong("pico.fuzz.seed", 1);
		for (long seed = first; seed < first + n; seed++)
			one(dir.resolve("p" + seed), seed);
	}

	private static void one(Path dir, long seed) throws Exception {
		java.nio.file.Files.createDirectories(dir);
		String name = "Fuzz" + seed;
		String source = new Programs(seed).make(name);
		Harness.compile(dir, name, source);
		String want = Harness.plain(dir, name);
		for (int chaos : new int[] {1, 3, 50}) {
			String got;
			try {
				got = Harness.pico(dir, name, chaos, seed);
			} catch (Throwable e) {
				throw new AssertionError("seed " + seed + " chaos " + chaos + "\n" + source, e);
			}
			assertEquals(want, got, () -> "seed " + seed + " chaos " + chaos + "\n" + source);
		}
	}
}
