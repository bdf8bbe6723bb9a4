// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** pico sim as a user runs it. A seed that fails in one JVM fails in the same way in the next. */
final class SimulateTest {
	@TempDir
	Path dir;

	/** Two transfers at a time, all kinds of random numbers and clocks, state in a static field. */
	private static final String SHOP = String.join("\n",
		"import java.util.*;",
		"import java.util.concurrent.*;",
		"public class Shop {",
		"static int stock = 5;",
		"public static void main(String[] a) throws Exception {",
		"  ExecutorService x = Executors.newFixedThreadPool(3);",
		"  System.out.println(UUID.randomUUID() + \" \" + Math.random() + \" \"",
		"    + ThreadLocalRandom.current().nextInt(5, 100) + \" \" + new Random().nextInt()",
		"    + \" \" + new java.security.SecureRandom().nextLong() + \" \" + new Date().getTime()",
		"    + \" \" + System.nanoTime() + \" \" + java.time.Instant.now() + \" \"",
		"    + java.time.LocalDateTime.now(java.time.ZoneOffset.UTC));",
		"  List<Integer> l = new ArrayList<>(Arrays.asList(1, 2, 3, 4, 5, 6));",
		"  Collections.shuffle(l);",
		"  System.out.println(l);",
		"  for (int k : l) x.submit(() -> { buy(k); return null; });",
		"  x.shutdown();",
		"  if (!x.awaitTermination(1, TimeUnit.DAYS)) throw new Exception(\"slow\");",
		"  System.out.println(\"left \" + stock);",
		"  if (stock < 0) throw new IllegalStateException(\"sold \" + -stock + \" too many\");",
		"  if (a.length > 0) System.exit(Integer.parseInt(a[0]));",
		"}",
		"static void buy(int k) throws Exception {",
		"  Thread.sleep(new Random().nextInt(3_600_000));",
		"  if (stock > 0) { Thread.sleep(60_000 * k); stock--; }",
		"}",
		"}");

	private String out;

	private int sim(String... args) throws Exception {
		Path f = dir.resolve("out");
		List<String> c = Harness.java();
		c.addAll(List.of("-Dpico.progress=false", "-cp", System.getProperty("java.class.path"),
			"org.ukthreads.pico.cli.Main", "sim", "-cp", dir.resolve("shop").toString()));
		c.addAll(Arrays.asList(args));
		ProcessBuilder b = new ProcessBuilder(c).redirectErrorStream(true)
			.redirectOutput(f.toFile());
		b.environment().put("PICO_CACHE", dir.resolve("cache").toString());
		Process p = b.start();
		assertTrue(p.waitFor(600, TimeUnit.SECONDS));
		out = Files.readString(f);
		return p.exitValue();
	}

	@Test
	void a_seed_that_fails_is_found_and_replayed_in_other_jvms() throws Exception {
		Harness.compile(Files.createDirectories(dir.resolve("shop")), "Shop", SHOP);
		assertEquals(1, sim("--seeds", "500", "Shop"), () -> out);
		String[] first = out.split("\n");
		assertTrue(first[2].startsWith("left -"), out);
		assertTrue(first[3].matches("seed \\d+: java.lang.IllegalStateException: sold \\d too"
			+ " many, \\d+ steps, .*"), out);
		String again = first[first.length - 1];
		assertTrue(again.startsWith("again: pico sim -cp "), out);
		String token = again.replaceAll(".*--replay (\\S+) Shop", "$1");
		long seed = Long.parseLong(token.replaceAll("@.*", ""));
		assertTrue(seed > 1, "the first seed fails: that is no search");
		for (int k = 0; k < 2; k++) {
			assertEquals(1, sim("--replay", token, "Shop"), () -> out);
			String[] now = out.split("\n");
			assertEquals(Arrays.asList(first).subList(0, 5), Arrays.asList(now).subList(0, 5));
		}
		assertEquals(0, sim("--replay", "" + (seed - 1), "Shop"), () -> out);
		assertFalse(out.contains(first[0]), "another seed, another chance");
	}

	/**
	 * A run that never returns fails, and the report names the line. A pool at work is waited for.
	 */
	@Test
	void a_loop_without_points_is_found_and_a_pool_at_work_is_none() throws Exception {
		Path d = Files.createDirectories(dir.resolve("shop"));
		Harness.compile(d, "Spins", "public class Spins { static boolean f; static int n;"
			+ "public static void main(String[] a) {"
			+ "System.out.println(\"begins\");\nwhile (!f) n++; } }");
		assertEquals(1, sim("--patience", "3", "Spins"), () -> out);
		assertTrue(out.startsWith("begins\nseed 1: ") && out.contains("no step for 3 s")
			&& out.contains("\tat Spins.main(Spins.java:2)\n")
			&& out.endsWith("--patience 3 --replay 1 Spins\n"), out);

		Harness.compile(d, "Pool", "import java.util.concurrent.*; public class Pool {"
			+ "static void work(ForkJoinPool p) throws Exception {"
			+ "CountDownLatch l = new CountDownLatch(1); p.execute(() -> { long s = 0;"
			+ "for (int k = 0; k < 10_000_000; k++) s = s * 31 + k;"
			+ "if (s != 0) l.countDown(); }); l.await(); }"
			+ "public static void main(String[] a) throws Exception {"
			+ "work(ForkJoinPool.commonPool()); work(new ForkJoinPool(2)); } }");
		assertEquals(0, sim("--seeds", "5", "Pool"), () -> out);
	}

	/** Two threads that make way for each other for ever: found, and not shrunk for hours. */
	@Test
	void a_live_lock_is_found_by_the_number_of_steps() throws Exception {
		Harness.compile(Files.createDirectories(dir.resolve("shop")), "Live", String.join("\n",
			"public class Live {",
			"static volatile boolean x, y;",
			"public static void main(String[] a) throws Exception {",
			"  Thread t = new Thread(() -> { x = true; while (y) Thread.yield(); x = false; });",
			"  Thread u = new Thread(() -> { y = true; while (x) Thread.yield(); y = false; });",
			"  t.start(); u.start(); t.join(); u.join();",
			"}",
			"}"));
		assertEquals(1, sim("--steps", "20000", "Live"), () -> out);
		assertTrue(out.contains("LimitException: more than 20000 steps")
			&& out.contains(" 1 preemption "), out);
	}

	private List<Object> kept() throws Exception {
		try (Stream<Path> s = Files.list(dir.resolve("cache"))) {
			List<Object> keys = new ArrayList<>();
			for (Path p : s.filter(x -> x.toString().endsWith(".pico")).sorted()
					.collect(Collectors.toList()))
				keys.add(Files.readAttributes(p, BasicFileAttributes.class).fileKey());
			return keys;
		}
	}

	/** Other scheduling points make another translation. */
	@Test
	void a_translation_is_kept_and_found_again() throws Exception {
		Harness.compile(Files.createDirectories(dir.resolve("shop")), "Two", TWO);
		assertEquals(1, sim("--seeds", "1000", "Two"), () -> out);
		List<Object> made = kept();
		assertEquals(1, made.size());
		assertEquals(1, sim("--seeds", "1000", "Two"), () -> out);
		assertEquals(made, kept());
		assertEquals(1, sim("--fields", "--seeds", "1000", "Two"), () -> out);
		assertEquals(2, kept().size());
	}

	/**
	 * No thread waits between the two locks, so only a point at the lock itself shows the deadlock.
	 */
	private static final String TWO = String.join("\n",
		"import java.util.concurrent.locks.*;",
		"public class Two {",
		"static final ReentrantLock x = new ReentrantLock(), y = new ReentrantLock();",
		"static void both(ReentrantLock a, ReentrantLock b) {",
		"  a.lock(); b.lock(); b.unlock(); a.unlock();",
		"}",
		"public static void main(String[] a) throws Exception {",
		"  boolean same = a.length > 0;",
		"  Thread t = new Thread(() -> both(x, y), \"one\");",
		"  Thread u = new Thread(() -> both(same ? x : y, same ? y : x), \"two\");",
		"  t.start(); u.start(); t.join(); u.join();",
		"}",
		"}");

	/** The turns name the program's methods, and not the methods that replace them. */
	@Test
	void places_have_the_names_of_the_program() throws Exception {
		Harness.compile(Files.createDirectories(dir.resolve("shop")), "Missed", String.join("\n",
			"public class Missed {",
			"static volatile boolean ready;",
			"static void look(Object o) throws InterruptedException {",
			"  if (!ready) synchronized (o) { o.wait(); }",
			"}",
			"public static void main(String[] a) throws Exception {",
			"  Object o = new Object();",
			"  Thread t = new Thread(() -> { try { look(o); } catch (InterruptedException e) {",
			"    throw new Error(e); } });",
			"  t.start(); ready = true; synchronized (o) { o.notify(); } t.join();",
			"}",
			"}"));
		assertEquals(1, sim("--seeds", "1000", "Missed"), () -> out);
		assertTrue(out.contains("\" at Missed.look(Missed.java:4) --> "), out);
	}

	@Test
	@Tag("long")
	@Tag("2/3")
	void a_dead_lock_between_two_locks_is_found_and_shrunk() throws Exception {
		Harness.compile(Files.createDirectories(dir.resolve("shop")), "Two", TWO);
		assertEquals(1, sim("--seeds", "1000", "Two"), () -> out);
		assertTrue(out.contains("DeadlockException: deadlock"), out);
		assertTrue(out.contains("1 turn off the default schedule, 1 preemption (all schedules with"
			+ " fewer were tried"), out);
		assertTrue(out.matches("(?s).*\\n  \"(one|two)\" at Two.both\\(Two.java:5\\) --> .*"), out);
		String token = out.trim().replaceAll("(?s).*--replay (\\S+) Two", "$1");
		assertEquals(1, sim("--replay", token, "Two"), () -> out);
		assertTrue(out.contains("DeadlockException: deadlock"), out);
		assertEquals(0, sim("--no-points", "--seeds", "100", "Two"), () -> out);
		assertEquals(1, sim("--bound", "1", "Two"), () -> out);
		assertEquals(0, sim("--bound", "1", "Two", "in one order"), () -> out);
		assertTrue(out.startsWith("all schedules with at most 1 preemptions: ok, "), out);
		assertEquals(0, sim("--seeds", "200", "Two", "in one order"), () -> out);
		assertTrue(out.matches("(?s)seeds 1 to 200: ok, \\d+ different schedules in 200 runs, of up"
			+ " to 3 threads, .*a bug of depth 2 met with p >= 0\\.\\d+.*"), out);
	}

	@Test
	void exits_and_limits_end_a_run() throws Exception {
		Harness.compile(Files.createDirectories(dir.resolve("shop")), "Shop",
			SHOP.replace("stock = 5", "stock = 30"));
		assertEquals(0, sim("--seeds", "20", "Shop", "0"), () -> out);
		assertTrue(out.startsWith("seeds 1 to 20: ok"), out);
		assertEquals(1, sim("--seeds", "20", "Shop", "3"), () -> out);
		assertTrue(out.contains("System.exit(3)"), out);
		assertEquals(1, sim("--steps", "10", "--from", "7", "--seeds", "1", "Shop"), () -> out);
		assertTrue(out.contains("seed 7: ") && out.contains("10 steps"), out);
	}
}
