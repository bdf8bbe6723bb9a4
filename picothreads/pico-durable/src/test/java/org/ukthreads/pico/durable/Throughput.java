// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.ukthreads.fixtures.durable.Load;
import org.ukthreads.pico.translate.PicoLoader;

/**
 * Measures the steps a second of durable threads on SQLite, H2 and PostgreSQL (with and without
 * fsync), and those of a plain table that is polled by hand, on the same databases. Also measures
 * how many threads can be parked with 512 MB, and how fast one comes back. Prints a line of JSON
 * for each. The figures say little if the machine is busy.
 */
final class Throughput {
	private static Path dir;
	private static PicoLoader loader;

	private Throughput() {}

	public static void main(String[] args) throws Exception {
		int threads = Integer.parseInt(args[0]);
		int steps = Integer.parseInt(args[1]);
		int parked = Integer.parseInt(args[2]);
		dir = Files.createTempDirectory("throughput");
		loader = new PicoLoader(Children.translate(Children.copy(dir.resolve("in"), Load.class)),
			Children.NOTHING, Throughput.class.getClassLoader());
		both("sqlite", "jdbc:sqlite:" + dir.resolve("db") + "?busy_timeout=30000", threads, steps);
		both("h2", "jdbc:h2:" + dir.resolve("h2"), threads, steps);
		String url = postgres();
		if (url != null) {
			both("postgresql", url, threads, steps);
			String synced = postgres();
			Databases.sync(synced);
			both("postgresql-fsync", synced, threads, steps);
		}
		if (parked > 0)
			park("jdbc:sqlite:" + dir.resolve("parked") + "?busy_timeout=30000", parked);
		Databases.stop();
		System.exit(0);
	}

	private static void both(String on, String url, int threads, int steps) throws Exception {
		steps(on, url, threads, steps);
		polled(on, url, threads, steps);
	}

	/**
	 * Returns the URL of the tests' own server, which makes no fsyncs by default; null if there is
	 * none.
	 */
	private static String postgres() throws Exception {
		try {
			return Databases.postgres();
		} catch (org.opentest4j.TestAbortedException e) {
			return null;
		}
	}

	private static void say(String bench, String on, String rest) {
		System.out.println("{\"bench\":\"" + bench + "\",\"on\":\"" + on + "\"," + rest + "}");
	}

	private static Runnable task(String name, Object... args) throws Exception {
		return (Runnable) loader.loadClass(Load.class.getName() + "$" + name)
			.getConstructors()[0].newInstance(args);
	}

	private static Vault vault(String url) throws Exception {
		return new Vault(new JdbcStore(DriverManager.getConnection(url), "threads"),
			new Seal(new byte[32]), new Codec(loader, Filter.PROGRAM));
	}

	private static void steps(String on, String url, int threads, int steps) throws Exception {
		Vault v = vault(url);
		for (int k = 0; k < threads; k++)
			v.start("w" + k, task("Steps", 20));
		v.awaitAll(600_000);
		long saves = v.metrics().get("commits");
		long bytes = v.metrics().get("bytes");
		List<Thread> ts = new ArrayList<>();
		long start = System.nanoTime();
		for (int s = 0; s < 8; s++) {
			int from = s;
			Thread t = new Thread(() -> {
				try {
					for (int k = from; k < threads; k += 8)
						v.start("t" + k, task("Steps", steps));
				} catch (Exception e) {
					e.printStackTrace();
				}
			});
			ts.add(t);
			t.start();
		}
		for (Thread t : ts)
			t.join();
		v.awaitAll(600_000);
		double s = (System.nanoTime() - start) / 1e9;
		long n = v.metrics().get("commits") - saves;
		say("durable-steps", on, "\"threads\":" + threads + ",\"steps\":" + n
			+ ",\"steps_per_s\":" + Math.round(n / s) + ",\"bytes_per_step\":"
			+ (v.metrics().get("bytes") - bytes) / Math.max(1, n));
		v.close();
	}

	/**
	 * What a program without durable threads does: each job has a row with the number of its step.
	 * Four workers take a job that is due, do the step and write the next number, in a transaction
	 * each.
	 */
	private static void polled(String on, String url, int threads, int steps) throws Exception {
		try (Connection c = DriverManager.getConnection(url); Statement s = c.createStatement()) {
			s.execute("create table jobs (id int primary key, step int not null, busy int not"
				+ " null, state varchar(400))");
			s.execute("create index jobs_due on jobs (busy, step)");
			c.setAutoCommit(false);
			try (PreparedStatement p = c.prepareStatement(
					"insert into jobs values (?, 0, 0, ?)")) {
				for (int k = 0; k < threads; k++) {
					p.setInt(1, k);
					p.setString(2, new String(new char[300]).replace('\0', 'x'));
					p.addBatch();
				}
				p.executeBatch();
			}
			c.commit();
		}
		AtomicInteger done = new AtomicInteger();
		long start = System.nanoTime();
		/* It may be slow, and five seconds of it say enough. */
		long end = start + 5_000_000_000L;
		List<Thread> ts = new ArrayList<>();
		for (int w = 0; w < (on.equals("sqlite") ? 1 : 4); w++) {
			Thread t = new Thread(() -> poll(url, steps, done, end));
			ts.add(t);
			t.start();
		}
		for (Thread t : ts)
			t.join();
		say("polled-table", on, "\"steps\":" + done.get() + ",\"steps_per_s\":"
			+ Math.round(done.get() / ((System.nanoTime() - start) / 1e9)));
	}

	private static void poll(String url, int steps, AtomicInteger done, long end) {
		try (Connection c = DriverManager.getConnection(url)) {
			c.setAutoCommit(false);
			PreparedStatement find = c.prepareStatement(
				"select id, step from jobs where busy = 0 and step < " + steps + " limit 1");
			PreparedStatement take = c.prepareStatement(
				"update jobs set busy = 1 where id = ? and busy = 0 and step = ?");
			PreparedStatement next = c.prepareStatement(
				"update jobs set busy = 0, step = step + 1, state = ? where id = ?");
			while (System.nanoTime() < end) {
				int id;
				int step;
				try (ResultSet r = find.executeQuery()) {
					if (!r.next())
						return;
					id = r.getInt(1);
					step = r.getInt(2);
				}
				take.setInt(1, id);
				take.setInt(2, step);
				boolean mine = take.executeUpdate() == 1;
				c.commit();
				if (!mine)
					continue;
				next.setString(1, new String(new char[300]).replace('\0', 'y'));
				next.setInt(2, id);
				next.executeUpdate();
				c.commit();
				done.incrementAndGet();
			}
		} catch (SQLException e) {
			e.printStackTrace();
		}
	}

	private static void park(String url, int n) throws Exception {
		Vault v = vault(url).passiveAfter(50);
		long start = System.nanoTime();
		List<Thread> ts = new ArrayList<>();
		for (int s = 0; s < 64; s++) {
			int from = s;
			Thread t = new Thread(() -> {
				try {
					for (int k = from; k < n; k += 64)
						v.start("p" + k, task("Parked"));
				} catch (Exception e) {
					e.printStackTrace();
				}
			});
			ts.add(t);
			t.start();
		}
		for (Thread t : ts)
			t.join();
		while (!v.running().isEmpty())
			Thread.sleep(20);
		double s = (System.nanoTime() - start) / 1e9;
		System.gc();
		long used = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
		v.close();
		Vault w = vault(url).passiveAfter(1_000).pollEvery(5);
		long t0 = System.nanoTime();
		int due = w.resume().size();
		long t1 = System.nanoTime();
		w.send("p" + n / 2, "go");
		while (w.metrics().get("ended") == 0)
			Thread.sleep(1);
		long t2 = System.nanoTime();
		say("parked", "sqlite", "\"threads\":" + n + ",\"heap_limit_mb\":"
			+ Runtime.getRuntime().maxMemory() / 1_000_000 + ",\"heap_used_mb\":"
			+ used / 1_000_000 + ",\"parked_per_s\":" + Math.round(n / s)
			+ ",\"resumed_at_start\":" + due + ",\"start_ms\":" + (t1 - t0) / 1_000_000
			+ ",\"wake_ms\":" + (t2 - t1) / 1_000_000);
		w.close();
	}
}
