package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** pico sim, as a user runs it: a seed that fails in one JVM fails the same in the next. */
final class SimulateTest {
	@TempDir
	Path dir;

	/** Two transfers at a time, chance and clocks of all kinds, state in a static field. */
	private static final String SHOP = String.join("\n",
		"import java.util.*;",
		"import java.util.concurrent.*;",
		"public class Shop {",
		"static int stock = 3;",
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
		List<String> c = new ArrayList<>(List.of(Paths.get(System.getProperty("java.home"),
			"bin", "java").toString(), "-cp", System.getProperty("java.class.path"),
			"org.ukthreads.pico.cli.Main", "sim", "-cp", dir.resolve("shop").toString()));
		c.addAll(Arrays.asList(args));
		Process p = new ProcessBuilder(c).redirectErrorStream(true)
			.redirectOutput(f.toFile()).start();
		assertTrue(p.waitFor(120, TimeUnit.SECONDS));
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
		String seed = again.replaceAll(".*--replay (\\d+) Shop", "$1");
		assertTrue(Long.parseLong(seed) > 1, "the first seed fails: that is no search");
		for (int k = 0; k < 2; k++) {
			assertEquals(1, sim("--replay", seed, "Shop"), () -> out);
			String[] now = out.split("\n");
			assertEquals(Arrays.asList(first).subList(0, 5), Arrays.asList(now).subList(0, 5));
		}
		assertEquals(0, sim("--replay", "" + (Long.parseLong(seed) - 1), "Shop"), () -> out);
		assertFalse(out.contains(first[0]), "another seed, another chance");
	}

	@Test
	void exits_and_limits_end_a_run() throws Exception {
		Harness.compile(Files.createDirectories(dir.resolve("shop")), "Shop",
			SHOP.replace("stock = 3", "stock = 30"));
		assertEquals(0, sim("--seeds", "20", "Shop", "0"), () -> out);
		assertTrue(out.startsWith("seeds 1 to 20: ok"), out);
		assertEquals(1, sim("--seeds", "20", "Shop", "3"), () -> out);
		assertTrue(out.contains("System.exit(3)"), out);
		assertEquals(1, sim("--steps", "10", "--from", "7", "--seeds", "1", "Shop"), () -> out);
		assertTrue(out.contains("seed 7: ") && out.contains("10 steps"), out);
	}
}
