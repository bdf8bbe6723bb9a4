// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.durable.Stepped;

/**
 * Two workers on one database. In every step of every thread, and in each thread's end, the worker
 * that runs it is killed with kill -9, at one of five points (see Stepped). Each step must be done
 * once and in order. -Dpico.kills=N sets the number of steps.
 */
final class StepsKilledTest {
	private static final int THREADS = 2;
	private final int steps = Math.max(1, Integer.getInteger("pico.kills", 4) / THREADS);
	@TempDir
	Path dir;
	private List<String> options;
	private final Process[] workers = new Process[2];
	private int kills;

	@AfterAll
	static void stop() throws Exception {
		Databases.stop();
	}

	@BeforeEach
	void prepare() throws Exception {
		Path classes = Children.translated(Children.copy(dir.resolve("in"), Stepped.class),
			dir.resolve("out"));
		options = List.of("-cp", Children.jar(classes, dir.resolve("all.jar"))
			+ java.io.File.pathSeparator + Children.drivers());
		for (String s : List.of("at", "done"))
			Files.createDirectory(dir.resolve(s));
		Seal.rotate(Files.write(dir.resolve("key"), new byte[32]));
	}

	/**
	 * Most come back under their names and get their threads at once. After every fourth kill the
	 * names change: the threads wait for the end of the lease, and either worker takes them over.
	 */
	private void start(String url, int worker) throws Exception {
		workers[worker] = Children.run(Children.home(), options, dir.resolve("printed"),
			Stepped.class.getName(), url, dir.toString(), "" + worker,
			"worker" + worker + "." + kills / 4, "" + THREADS, "" + steps, "500");
	}

	/** Kills the workers that have stopped, until both have seen the end of all threads. */
	private void kill(String url) throws Exception {
		long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(120 + 30L * THREADS * steps);
		while (workers[0].isAlive() || workers[1].isAlive()) {
			assertTrue(System.nanoTime() < end, "not in time");
			Thread.sleep(2);
			List<Path> stopped = list("at");
			if (stopped.isEmpty())
				continue;
			char worker = worker(stopped.get(0));
			int k = worker - '0';
			workers[k].destroyForcibly().waitFor();
			kills++;
			/* It may have stopped in a step of each thread. */
			for (Path p : list("at"))
				if (worker(p) == worker)
					Files.move(p, dir.resolve("done").resolve(p.getFileName().toString()
						.replaceFirst("-.$", "")), StandardCopyOption.REPLACE_EXISTING);
			start(url, k);
		}
		for (Process p : workers)
			assertEquals(0, p.exitValue());
	}

	private static char worker(Path p) {
		String name = p.getFileName().toString();
		return name.charAt(name.length() - 1);
	}

	private List<Path> list(String name) throws Exception {
		try (Stream<Path> s = Files.list(dir.resolve(name))) {
			return s.sorted().collect(Collectors.toList());
		}
	}

	private void killed(String url) throws Exception {
		String name = url.replaceFirst("^jdbc:(\\w+).*", "$1");
		try (Connection db = DriverManager.getConnection(url)) {
			try (Statement s = db.createStatement()) {
				s.execute("create table ledger (id varchar(20), step int, prev int, worker int)");
			}
			for (int k = 0; k < workers.length; k++)
				start(url, k);
			kill(url);
			List<String> stopped = new ArrayList<>();
			for (Path p : list("done"))
				stopped.add(p.getFileName().toString());
			System.out.println(name + ": killed " + kills + " times, in " + stopped.size()
				+ " steps and ends; " + counts(db));
			for (int t = 0; t < THREADS; t++)
				for (int k = 0; k <= steps; k++)
					assertTrue(stopped.contains("w" + t + "-" + k), "w" + t + "-" + k);
			keys();
		} catch (AssertionError e) {
			throw new AssertionError(name + ": " + e.getMessage() + "\n"
				+ Files.readString(dir.resolve("printed")), e);
		} finally {
			for (Process p : workers)
				if (p != null)
					p.destroyForcibly().waitFor();
		}
		try (JdbcStore s = new JdbcStore(DriverManager.getConnection(url), "threads")) {
			assertEquals(List.of("e/w0", "e/w1"), s.keys().stream().sorted()
				.collect(Collectors.toList()));
		}
	}

	/** Counts the steps in the ledger, and fails unless each was done once and in order. */
	private String counts(Connection db) throws Exception {
		Map<String, Integer> times = new HashMap<>();
		int[] by = new int[workers.length];
		int disorder = 0;
		try (Statement s = db.createStatement();
				ResultSet r = s.executeQuery("select id, step, prev, worker from ledger")) {
			while (r.next()) {
				times.merge(r.getString(1) + " " + r.getInt(2), 1, Integer::sum);
				by[r.getInt(4)]++;
				disorder += r.getInt(3) != r.getInt(2) - 1 ? 1 : 0;
			}
		}
		int expected = THREADS * steps;
		long once = times.values().stream().filter(n -> n == 1).count();
		String s = expected + " steps expected, " + once + " done once, "
			+ (times.size() - once) + " repeated, " + (expected - times.size()) + " lost, "
			+ disorder + " out of order; by worker: " + Arrays.toString(by);
		assertEquals(expected, once, s);
		assertEquals(expected, times.size(), s);
		assertEquals(0, disorder, s);
		return s;
	}

	/** A step that runs again has the same key, and no other step has it. */
	private void keys() throws Exception {
		Map<String, String> steps = new HashMap<>();
		Map<String, String> keys = new HashMap<>();
		for (String line : Files.readAllLines(dir.resolve("keys"))) {
			String key = line.substring(line.lastIndexOf(' ') + 1);
			String step = line.substring(0, line.lastIndexOf(' '));
			assertEquals(step, steps.getOrDefault(key, step), line);
			assertEquals(key, keys.getOrDefault(step, key), line);
			steps.put(key, step);
			keys.put(step, key);
		}
	}

	@Test
	void each_step_is_done_once_on_h2() throws Exception {
		killed(Databases.h2(dir));
	}

	@Test
	void each_step_is_done_once_on_sqlite() throws Exception {
		killed("jdbc:sqlite:" + dir.resolve("db") + "?busy_timeout=600000");
	}

	@Test
	void each_step_is_done_once_on_postgresql() throws Exception {
		killed(Databases.postgres());
	}
}
