// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.File;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.ukthreads.fixtures.durable.Killed;

/** Kills a JVM full of durable threads at random moments, again and again. */
final class Kills {
	static final int THREADS = 8;
	private final List<String> options = new ArrayList<>();
	private final Random random;
	/** The running mean of the time from the start of a process to its first step. */
	private long startNanos = 300_000_000;
	int early;
	final long seed;
	private final String url;
	final Path log;
	final Path out;
	private final Map<String, Long> sums = new HashMap<>();
	private final Map<String, Integer> last = new HashMap<>();
	private long checked;
	long steps;

	/**
	 * @param archive true: the killed JVMs start from a class data archive, which a first run makes
	 * @param url of a database whose driver is on our class path; null: a folder is used
	 */
	Kills(Path dir, long seed, boolean archive, String url) throws Exception {
		this.seed = seed;
		random = new Random(seed);
		Path classes = Children.translated(Children.copy(dir.resolve("in"), Killed.class),
			dir.resolve("out"));
		Path jar = Children.jar(classes, dir.resolve("all.jar"));
		options.addAll(List.of("-cp", url == null ? jar.toString()
			: jar + File.pathSeparator + Children.drivers()));
		this.url = url;
		out = dir.resolve("printed");
		if (archive && url == null)
			archive(dir);
		log = Files.createDirectories(dir.resolve("work")).resolve("log");
	}

	private void archive(Path dir) throws Exception {
		Path a = dir.resolve("classes.jsa");
		List<String> make = new ArrayList<>(options);
		make.add("-XX:ArchiveClassesAtExit=" + a);
		/* The second run resumes the threads of the first one, and ends by itself. */
		Path work = Files.createDirectories(dir.resolve("first"));
		Process p = Children.run(Children.home(), options, out, Killed.class.getName(),
			work.toString(), "" + THREADS, "1000000");
		await(p, work.resolve("log"), 0);
		p.destroyForcibly().waitFor();
		p = Children.run(Children.home(), make, out, Killed.class.getName(),
			work.toString(), "" + (THREADS + 1), "20", "2000");
		if (p.waitFor() != 1 || !Files.exists(a))
			throw new IllegalStateException("no archive:\n" + Files.readString(out));
		options.add("-XX:SharedArchiveFile=" + a);
	}

	Process start(int steps) throws Exception {
		return Children.run(Children.home(), options, out, Killed.class.getName(),
			log.getParent().toString(), "" + THREADS, "" + steps, "300000",
			url == null ? "" : url);
	}

	/** Waits until the process has logged its first line. */
	private void await(Process p, Path log, long before) throws Exception {
		long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
		while (p.isAlive() && (!Files.exists(log) || Files.size(log) == before))
			if (System.nanoTime() < end)
				Thread.sleep(1);
			else
				throw new IllegalStateException("no step in time:\n" + Files.readString(out));
	}

	/**
	 * Starts a JVM, kills it, and checks the log. Three of four are killed some time after their
	 * first line in the log, the fourth at any time before, such as while it opens its store.
	 */
	void round() throws Exception {
		long before = Files.exists(log) ? Files.size(log) : 0;
		long begun = System.nanoTime();
		Process p = start(1_000_000);
		if (random.nextInt(4) > 0) {
			await(p, log, before);
			startNanos += (System.nanoTime() - begun - startNanos) / 8;
			Thread.sleep(random.nextInt(60), random.nextInt(1_000_000));
		} else {
			TimeUnit.NANOSECONDS.sleep((long) (random.nextDouble() * startNanos));
			early++;
		}
		if (!p.isAlive())
			throw new IllegalStateException("it ended by itself:\n" + Files.readString(out));
		p.destroyForcibly().waitFor();
		check();
	}

	/**
	 * Checks each thread's steps: each is the next one, or the same again after a kill, and its sum
	 * is right.
	 */
	Map<String, Long> check() throws Exception {
		if (!Files.exists(log))
			return sums;
		String fresh;
		try (RandomAccessFile f = new RandomAccessFile(log.toFile(), "r")) {
			f.seek(checked);
			byte[] b = new byte[(int) (f.length() - checked)];
			f.readFully(b);
			checked += b.length;
			fresh = new String(b, StandardCharsets.UTF_8);
		}
		for (String line : fresh.split("\n")) {
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
		return sums;
	}

	/** Arguments: rounds, folder, and the URL of a database. */
	public static void main(String[] args) throws Exception {
		Kills k = new Kills(Paths.get(args[1]), System.nanoTime(), true,
			args.length > 2 ? args[2] : null);
		int rounds = Integer.parseInt(args[0]);
		long start = System.nanoTime();
		for (int n = 1; n <= rounds; n++) {
			k.round();
			if (n % 50 == 0 || n == rounds)
				System.out.println(n + " kills, " + k.steps
					+ " committed steps, none lost, " + k.early + " killed before their"
					+ " first step, seed " + k.seed + ", "
					+ (System.nanoTime() - start) / 1_000_000_000 + " s");
		}
	}
}
