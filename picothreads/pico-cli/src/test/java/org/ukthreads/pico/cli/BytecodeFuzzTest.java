// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random class files, translated with suspension at random method entries, print what the originals
 * print. -Dpico.fuzz=N:SEED is their number and the first seed. A failure names its seed and
 * leaves the class file in target.
 */
final class BytecodeFuzzTest {
	@Test
	void random_class_files_print_the_same(@TempDir Path dir) throws Exception {
		int n = 2 * (int) FuzzTest.told(0, 60);
		long first = FuzzTest.told(1, 1);
		System.out.println("bytecode fuzz: seeds " + first + " to " + (first + n - 1));
		for (long seed = first; seed < first + n; seed++) {
			Path at = dir.resolve("b" + seed);
			Files.createDirectories(at);
			try {
				one(at, seed);
			} catch (Throwable e) {
				Files.copy(at.resolve("Bytes" + seed + ".class"),
					Path.of("target", "Bytes" + seed + ".class"),
					java.nio.file.StandardCopyOption.REPLACE_EXISTING);
				throw new AssertionError("seed " + seed + ": " + e, e);
			}
		}
	}

	private static void one(Path dir, long seed) throws Exception {
		String name = "Bytes" + seed;
		Files.write(dir.resolve(name + ".class"), new Bytecodes(seed, name).make());
		String want = Harness.plain(dir, name);
		assertNotEquals("", want);
		for (int chaos : new int[] {1, 3, 50})
			assertEquals(want, Harness.pico(dir, name, chaos, seed), "chaos " + chaos);
	}
}
