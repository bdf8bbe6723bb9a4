// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.Workers;
import org.ukthreads.pico.translate.analyse.Hot;
import org.ukthreads.pico.translate.read.ClassPath;

/** Several threads translate. The output is the same, and in the same order. */
final class WorkersTest {
	@TempDir
	Path dir;

	private static final List<Integer> ITEMS = IntStream.range(0, 500).boxed()
		.collect(Collectors.toList());

	@Test
	void results_are_taken_in_order() {
		List<Integer> taken = new ArrayList<>();
		Workers.inOrder(5, ITEMS, k -> -k, (k, r) -> {
			assertEquals(-k, r);
			taken.add(k);
		});
		assertEquals(ITEMS, taken);
	}

	@Test
	void what_fails_is_thrown_in_its_turn_and_nobody_works_on() {
		Error e = new OutOfMemoryError("made up");
		List<Integer> taken = new ArrayList<>();
		AtomicInteger working = new AtomicInteger();
		CountDownLatch failed = new CountDownLatch(1);
		assertSame(e, assertThrows(OutOfMemoryError.class, () -> Workers.inOrder(4, ITEMS, k -> {
			working.incrementAndGet();
			try {
				if (k == 3) {
					failed.countDown();
					throw e;
				}
				/* The items before the failing one end after it. */
				if (k < 3)
					failed.await();
				return k;
			} catch (InterruptedException x) {
				return k;
			} finally {
				working.decrementAndGet();
			}
		}, (k, r) -> taken.add(r))));
		assertEquals(List.of(0, 1, 2), taken);
		assertEquals(0, working.get());
	}

	@Test
	void workers_do_not_run_far_ahead() {
		Map<Integer, Boolean> made = new ConcurrentHashMap<>();
		Workers.inOrder(2, ITEMS, k -> made.put(k, true) == null, (k, first) ->
			assertFalse(made.containsKey(k + 200), "far ahead of " + k));
	}

	/** Returns the output of a translation, and its report. */
	private Map<String, byte[]> made(ClassPath program, int threads, String hot, String[] report) {
		Translator.Options o = new Translator.Options();
		o.threads = threads;
		o.hot = Hot.of(hot);
		Translator t = Translator.of(program, Harness.libraries(), o);
		Map<String, byte[]> out = t.run();
		report[0] = t.report().text(true);
		return out;
	}

	private void same(ClassPath program, String hot) {
		String[] want = new String[1];
		Map<String, byte[]> one = made(program, 1, hot, want);
		for (int threads : new int[] {2, 5}) {
			String[] report = new String[1];
			Map<String, byte[]> many = made(program, threads, hot, report);
			assertEquals(new ArrayList<>(one.keySet()), new ArrayList<>(many.keySet()));
			one.forEach((n, b) -> assertArrayEquals(b, many.get(n), n));
			assertEquals(want[0], report[0]);
		}
	}

	@Test
	void the_same_comes_out_however_many_translate() throws Exception {
		Path from = Paths.get(WorkersTest.class.getProtectionDomain().getCodeSource()
			.getLocation().toURI());
		try (Stream<Path> all = Files.walk(from.resolve("org/ukthreads/fixtures"))) {
			for (Path p : (Iterable<Path>) all.filter(Files::isRegularFile)::iterator) {
				Path to = dir.resolve(from.relativize(p).toString());
				Files.createDirectories(to.getParent());
				Files.copy(p, to);
			}
		}
		ClassPath program = new ClassPath(List.of(dir));
		same(program, "direct");
		same(program, "all");
	}

	/**
	 * A body so large that no resume copy fits beside it. This is found when the body is written,
	 * and then once more.
	 */
	@Test
	@Tag("long")
	@Tag("3/4")
	void what_is_too_large_is_left_alike() throws Exception {
		StringBuilder b = new StringBuilder("public class Big { static int f(int k) {"
			+ " Thread.yield(); return k; }");
		for (int m = 0; m < 4; m++) {
			b.append(" static int m").append(m).append("(int a, long b, Object c) { int s = 0;");
			for (int k = 0; k < 900 + 900 * m; k++)
				b.append("s += f(").append(k).append(") * a + (int) b;");
			b.append("return s; }");
		}
		Harness.compile(dir, "Big", b.append('}').toString());
		same(new ClassPath(List.of(dir)), "all");
	}
}
