package org.ukthreads.pico.durable;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.ukthreads.fixtures.durable.Killed;

/** Kills a JVM full of durable threads at random moments, again and again. */
final class Kills {
	static final int THREADS = 8;
	private final Path dir;
	private final Path classes;
	private final Random random;
	final long seed;
	final Path log;
	final Path out;
	private final Map<String, Long> sums = new HashMap<>();
	private final Map<String, Integer> last = new HashMap<>();
	private long checked;
	long steps;

	Kills(Path dir, long seed) throws Exception {
		this.dir = dir;
		this.seed = seed;
		random = new Random(seed);
		classes = Children.translated(Children.copy(dir.resolve("in"), Killed.class),
			dir.resolve("out"));
		log = Files.createDirectories(dir.resolve("work")).resolve("log");
		out = dir.resolve("printed");
	}

	Process start(int steps) throws Exception {
		return Children.run(Children.home(), classes, out, Killed.class.getName(),
			log.getParent().toString(), "" + THREADS, "" + steps);
	}

	/** One start and one kill, some time after the first sign of life; then the check. */
	void round() throws Exception {
		long before = Files.exists(log) ? Files.size(log) : 0;
		Process p = start(1_000_000);
		long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(15);
		while (p.isAlive() && (!Files.exists(log) || Files.size(log) == before))
			if (System.nanoTime() < end)
				Thread.sleep(1);
			else
				throw new IllegalStateException("no step in time:\n" + Files.readString(out));
		Thread.sleep(random.nextInt(60), random.nextInt(1_000_000));
		if (!p.isAlive())
			throw new IllegalStateException("it ended by itself:\n" + Files.readString(out));
		p.destroyForcibly().waitFor();
		check();
	}

	/** Each thread's steps: the next, or the same again after a kill; with the right sum. */
	Map<String, Long> check() throws Exception {
		List<String> lines = Files.readAllLines(log);
		for (String line : lines.subList((int) checked, lines.size())) {
			String[] w = line.split(" ");
			if (!w[0].equals("step"))
				continue;
			int k = Integer.parseInt(w[2]);
			int before = last.getOrDefault(w[1], 0);
			if (k != before && k != before + 1)
				throw new IllegalStateException("seed " + seed + ": " + w[1]
					+ " went from step " + before + " to " + k);
			if (k > before) {
				sums.merge(w[1], 1L, (s, x) -> s * 31 + k);
				steps++;
			}
			if (sums.get(w[1]) != Long.parseLong(w[3]))
				throw new IllegalStateException("seed " + seed + ": " + line);
			last.put(w[1], k);
		}
		checked = lines.size();
		return sums;
	}

	/** Rounds, folder. */
	public static void main(String[] args) throws Exception {
		Kills k = new Kills(Paths.get(args[1]), Long.getLong("pico.seed", System.nanoTime()));
		int rounds = Integer.parseInt(args[0]);
		long start = System.nanoTime();
		for (int n = 1; n <= rounds; n++) {
			k.round();
			if (n % 50 == 0 || n == rounds)
				System.out.println(n + " kills, " + k.steps
					+ " committed steps, none lost, seed " + k.seed + ", "
					+ (System.nanoTime() - start) / 1_000_000_000 + " s");
		}
	}
}
