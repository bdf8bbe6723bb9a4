package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.durable.Killed;

/**
 * kill -9 at random moments: no step that was committed is lost, none is made twice over,
 * and all threads come to the right end. -Dpico.kills=N for more rounds.
 */
final class KilledTest {
	private static final int THREADS = 8;
	private static final int STEPS = 1_000_000;

	@TempDir
	Path dir;

	@Test
	void no_committed_step_is_lost() throws Exception {
		int rounds = Integer.getInteger("pico.kills", 6);
		long seed = Long.getLong("pico.seed", System.nanoTime());
		Path classes = Children.translated(Children.copy(dir.resolve("in"), Killed.class),
			dir.resolve("out"));
		Random r = new Random(seed);
		Path work = Files.createDirectories(dir.resolve("work"));
		Path log = work.resolve("log");
		Path out = dir.resolve("printed");
		for (int k = 0; k < rounds; k++) {
			long before = Files.exists(log) ? Files.size(log) : 0;
			Process p = run(classes, out, STEPS);
			/* From the first sign of life on, any moment will do. */
			long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(15);
			while (p.isAlive() && (!Files.exists(log) || Files.size(log) == before))
				if (System.nanoTime() < end)
					Thread.sleep(2);
				else
					break;
			Thread.sleep(r.nextInt(150), r.nextInt(1_000_000));
			assertTrue(p.isAlive(), () -> "it ended by itself:\n" + read(out));
			p.destroyForcibly().waitFor();
		}
		/* How far each has come, by its own words; and that every word is in order. */
		Map<String, Long> sums = check(log, seed);
		assertEquals(THREADS, sums.size());
		System.out.println(rounds + " kills (seed " + seed + "), "
			+ Files.readAllLines(log).size() + " committed steps, none lost");
	}

	private static String read(Path f) {
		try {
			return Files.readString(f);
		} catch (java.io.IOException e) {
			return e.toString();
		}
	}

	private Process run(Path classes, Path out, int steps) throws Exception {
		return Children.run(Children.home(), classes, out,
			Killed.class.getName(), dir.resolve("work").toString(), "" + THREADS, "" + steps);
	}

	/** Each thread's steps: the next, or the same again after a kill; with the right sum. */
	private static Map<String, Long> check(Path log, long seed) throws Exception {
		Map<String, Long> sums = new HashMap<>();
		Map<String, Integer> last = new HashMap<>();
		for (String line : Files.readAllLines(log)) {
			String[] w = line.split(" ");
			if (!w[0].equals("step"))
				continue;
			int k = Integer.parseInt(w[2]);
			int before = last.getOrDefault(w[1], 0);
			assertTrue(k == before || k == before + 1, () -> "seed " + seed + ": " + w[1]
				+ " went from step " + before + " to " + k);
			if (k > before)
				sums.merge(w[1], 1L, (s, x) -> s * 31 + k);
			assertEquals(sums.get(w[1]), Long.parseLong(w[3]), line);
			last.put(w[1], k);
		}
		return sums;
	}

	@Test
	void all_end_well() throws Exception {
		Path classes = Children.translated(Children.copy(dir.resolve("in"), Killed.class),
			dir.resolve("out"));
		Path out = dir.resolve("printed");
		Files.createDirectories(dir.resolve("work"));
		Process p = run(classes, out, 40);
		Thread.sleep(700);
		p.destroyForcibly().waitFor();
		p = run(classes, out, 40);
		assertTrue(p.waitFor(60, TimeUnit.SECONDS));
		assertEquals(0, p.exitValue(), () -> read(out));
		Map<String, Long> sums = check(dir.resolve("work/log"), 0);
		for (int k = 0; k < THREADS; k++) {
			long sum = sums.get("w" + k);
			assertTrue(read(dir.resolve("work/log")).contains("end w" + k + " 40 " + sum));
		}
		try (var s = Files.list(dir.resolve("work/store"))) {
			assertEquals(0, s.filter(f -> f.toString().endsWith(".pico")).count());
		}
	}
}
