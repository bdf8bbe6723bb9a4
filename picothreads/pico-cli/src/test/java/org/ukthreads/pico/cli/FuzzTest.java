// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random programs, translated with suspension at random method entries, print what the originals
 * print. -Dpico.fuzz=N:SEED is their number and the first seed. A failure names its seed and
 * shows the source.
 */
final class FuzzTest {
	/** The number (0) or the first seed (1) of -Dpico.fuzz=N:SEED. */
	static long told(int part, long otherwise) {
		String[] told = System.getProperty("pico.fuzz", "").split(":");
		return told.length > part && !told[part].isEmpty() ? Long.parseLong(told[part])
			: otherwise;
	}

	@Test
	void random_programs_print_the_same(@TempDir Path dir) throws Exception {
		long n = told(0, 60);
		long first = told(1, 1);
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
