// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.durable.Parts;
import org.ukthreads.fixtures.durable.Shared;
import org.ukthreads.pico.Clock;
import org.ukthreads.pico.PicoRuntime;
import org.ukthreads.pico.translate.PicoLoader;

/** Many vaults on one table: each thread belongs to one worker, and each step is committed once. */
final class WorkersTest {
	@TempDir
	Path dir;
	private PicoLoader loader;
	private List<String> charged;
	private static int databases;

	@AfterAll
	static void stop() throws Exception {
		Databases.stop();
	}

	@BeforeEach
	@SuppressWarnings("unchecked")
	void load() throws Exception {
		Path in = Children.copy(dir.resolve("in"), Shared.class);
		Children.copy(in, Parts.class);
		loader = new PicoLoader(Children.translate(in), Children.NOTHING,
			WorkersTest.class.getClassLoader());
		charged = (List<String>) loader.loadClass(Shared.class.getName()).getField("CHARGED")
			.get(null);
	}

	@SuppressWarnings("unchecked")
	private List<Object> seen() throws Exception {
		return (List<Object>) loader.loadClass(Parts.class.getName()).getField("SEEN").get(null);
	}

	private Runnable task(Class<?> c, Object... args) throws Exception {
		return (Runnable) loader.loadClass(c.getName()).getConstructors()[0].newInstance(args);
	}

	private static String fresh() {
		return "jdbc:h2:mem:workers" + ++databases + ";DB_CLOSE_DELAY=-1";
	}

	private Vault vault(JdbcStore s) {
		return new Vault(s, new Seal(new byte[32]), new Codec(loader, Filter.PROGRAM),
			new PicoRuntime("worker", 1, null, Clock.REAL)).sleepsFrom(20).pollEvery(20)
			.onFailure((id, e) -> e.printStackTrace());
	}

	private interface Holds {
		boolean now() throws Exception;
	}

	private static void until(Holds h) throws Exception {
		long end = System.nanoTime() + 600_000_000_000L;
		while (!h.now()) {
			assertTrue(System.nanoTime() < end, "not in time");
			Thread.sleep(5);
		}
	}

	@Test
	void a_second_vault_does_not_run_what_the_first_one_has() throws Exception {
		String url = fresh();
		Vault one = vault(new JdbcStore(DriverManager.getConnection(url), "t").lease(600_000));
		one.start("o", task(Shared.Charges.class, 5, 100L));
		until(() -> charged.size() > 0);
		Vault two = vault(new JdbcStore(DriverManager.getConnection(url), "t").lease(600_000));
		assertEquals(List.of(), two.resume());
		assertEquals("the store holds a thread o: resume() it, or remove() it",
			assertThrows(DurableException.class,
				() -> two.start("o", task(Shared.Charges.class, 1, 0L))).getMessage());
		assertTrue(one.awaitAll(600_000));
		assertTrue(two.awaitAll(600_000));
		/* A stored sleep changes the key, too. */
		assertEquals(5, charged.size(), charged.toString());
		assertEquals(5, new TreeSet<>(charged).size(), charged.toString());
		one.close();
		two.close();
	}

	/**
	 * Stops the connection between two transactions, as a long pause of the process does. (In the
	 * middle of one, the database has to end the session: see Dialect.idle.)
	 */
	private static Connection gated(Connection c, ReadWriteLock gate) {
		boolean[] inside = new boolean[1];
		return (Connection) Proxy.newProxyInstance(WorkersTest.class.getClassLoader(),
			new Class<?>[] {Connection.class}, (p, m, a) -> {
				boolean begins = m.getName().endsWith("Statement") && !inside[0];
				if (begins)
					gate.readLock().lock();
				try {
					inside[0] = m.getName().endsWith("Statement")
						|| inside[0] && !m.getName().matches("commit|rollback");
					return m.invoke(c, a);
				} catch (java.lang.reflect.InvocationTargetException e) {
					throw e.getCause();
				} finally {
					if (begins)
						gate.readLock().unlock();
				}
			});
	}

	@Test
	void a_worker_that_stood_still_for_longer_than_its_lease_writes_nothing_more()
			throws Exception {
		String url = fresh();
		try (Connection db = DriverManager.getConnection(url)) {
			ledger(db);
			ReadWriteLock gate = new ReentrantReadWriteLock();
			Vault one = vault(new JdbcStore(gated(DriverManager.getConnection(url), gate),
				"t").lease(500));
			one.start("s", task(Shared.Steps.class, 40, 100L));
			until(() -> rows(db) > 2);
			gate.writeLock().lock();
			int before = rows(db);
			Vault two = vault(new JdbcStore(DriverManager.getConnection(url), "t").lease(500));
			two.resume();
			until(() -> rows(db) > before + 5);
			gate.writeLock().unlock();
			assertTrue(two.awaitAll(600_000));
			until(() -> one.running().isEmpty());
			check(db, 1, 40);
			/* More than once if the machine is so busy that the other worker stands still, too. */
			assertTrue(one.metrics().get("fenced") >= 1);
			assertTrue(two.metrics().get("taken_over") >= 1);
			/* The first process is a worker again. */
			one.start("again", task(Shared.Steps.class, 3, 0L));
			assertTrue(one.awaitAll(600_000));
			assertEquals(4, rows(db, "again"));
			one.close();
			two.close();
		}
	}

	/** Ten threads compute at one worker, and a second worker comes. */
	@Test
	void a_worker_that_comes_gets_its_share() throws Exception {
		String url = fresh();
		Vault one = vault(new JdbcStore(DriverManager.getConnection(url), "t"));
		for (int k = 0; k < 10; k++)
			one.start("c" + k, task(Shared.Charges.class, 1_000_000, 15L));
		Vault two = vault(new JdbcStore(DriverManager.getConnection(url), "t"));
		two.resume();
		until(() -> two.running().size() >= 4 && one.running().size() >= 4);
		one.close();
		/* Its threads are free at once. */
		until(() -> two.running().size() == 10);
		two.close();
	}

	/** The same with ten threads that commit only by transactions. The results go with them. */
	@Test
	void threads_of_transactions_are_shared_too() throws Exception {
		String url = fresh();
		Vault one = vault(new JdbcStore(DriverManager.getConnection(url), "t"));
		for (int k = 0; k < 10; k++)
			one.start("c" + k, task(Shared.Transacts.class, 100_000_000));
		Vault two = vault(new JdbcStore(DriverManager.getConnection(url), "t"));
		two.resume();
		until(() -> two.running().size() >= 4 && one.running().size() >= 4);
		assertTrue(one.failed().isEmpty() && two.failed().isEmpty());
		one.close();
		until(() -> two.running().size() == 10);
		assertTrue(two.failed().isEmpty());
		two.close();
	}

	@Test
	void messages_come_from_any_worker_in_order() throws Exception {
		String url = fresh();
		Vault one = vault(new JdbcStore(DriverManager.getConnection(url), "t"));
		Vault two = vault(new JdbcStore(DriverManager.getConnection(url), "t"));
		one.start("a", task(Parts.Adder.class));
		Thread[] ts = new Thread[2];
		for (int k = 0; k < 2; k++) {
			Vault from = k == 0 ? one : two;
			ts[k] = new Thread(() -> {
				for (int n = 0; n < 20; n++)
					from.send("a", 1);
			});
			ts[k].start();
		}
		for (Thread t : ts)
			t.join();
		two.send("a", "end");
		assertTrue(one.awaitAll(600_000));
		assertTrue(seen().contains("sum 40"), seen().toString());
		assertEquals("there is no thread a",
			assertThrows(DurableException.class, () -> two.send("a", 1)).getMessage());
		one.close();
		two.close();
		try (JdbcStore s = new JdbcStore(DriverManager.getConnection(url), "t")) {
			assertEquals(List.of("e/a"), s.keys());
		}
	}

	/** It finds out before the next renewal of its lease, which would also tell it. */
	@Test
	void a_worker_that_was_fenced_goes_on_with_what_it_had() throws Exception {
		String url = fresh();
		Vault v = vault(new JdbcStore(DriverManager.getConnection(url), "t").lease(3_600_000));
		assertEquals(List.of(), v.resume());
		v.start("a", task(Parts.Adder.class));
		until(() -> v.look("a").waits.equals("receive"));
		try (Connection db = DriverManager.getConnection(url); Statement s = db.createStatement()) {
			s.execute("delete from t_workers where id > 0");
			s.execute("update t set owner = 0, due = 0 where id = 't/a'");
		}
		until(() -> v.metrics().get("resumed") == 1 || !v.failed().isEmpty());
		assertEquals("{}", v.failed().toString());
		assertEquals(List.of("a"), v.running());
		v.send("a", 7);
		v.send("a", "end");
		assertTrue(v.awaitAll(600_000));
		assertTrue(seen().contains("sum 7"), seen().toString());
		v.close();
	}

	/** A message is sealed by another key, or its class is missing here: other threads go on. */
	@Test
	void a_message_that_cannot_be_read_stops_its_receiver_alone() throws Exception {
		String url = fresh();
		Vault v = vault(new JdbcStore(DriverManager.getConnection(url), "t"));
		AtomicInteger failures = new AtomicInteger();
		v.onFailure((id, e) -> failures.incrementAndGet());
		assertEquals(List.of(), v.resume());
		v.start("poisoned", task(Parts.Adder.class));
		v.start("late", task(Parts.Adder.class));
		until(() -> v.look("poisoned").waits.equals("receive"));
		try (Connection db = DriverManager.getConnection(url); Statement s = db.createStatement()) {
			s.execute("insert into t (id, content, owner, due, sent, failed) values"
				+ " ('m/poisoned/1', X'" + "00".repeat(99) + "', -1, " + Act.NEVER + ", 0, 0)");
			s.execute("update t set sent = 1, due = 0 where id = 't/poisoned'");
		}
		until(() -> failures.get() == 1);
		assertTrue(v.failed().get("poisoned").getMessage().startsWith("m/poisoned/1: the"
			+ " signature is wrong"), v.failed().toString());
		v.passiveAfter(1);
		until(() -> v.running().isEmpty());
		try (Vault other = vault(new JdbcStore(DriverManager.getConnection(url), "t"))) {
			other.send("late", "end");
		}
		assertTrue(v.await("late", 600_000));
		until(() -> v.list("", 9).toString().startsWith("[poisoned: failed, "));
		v.close();
	}

	/** The answer to a commit is lost. The commit is not made twice. */
	@Test
	void a_commit_whose_answer_is_lost_is_made_once() throws Exception {
		loses(true);
	}

	/** The commit came through, but the database was away before it was told to make it durable. */
	@Test
	void a_commit_that_is_not_known_to_last_is_made_once() throws Exception {
		loses(false);
	}

	private void loses(boolean answer) throws Exception {
		String url = fresh();
		try (Connection db = DriverManager.getConnection(url)) {
			ledger(db);
			AtomicInteger left = new AtomicInteger();
			AtomicInteger refuse = new AtomicInteger();
			javax.sql.DataSource source = (javax.sql.DataSource) Proxy.newProxyInstance(
				WorkersTest.class.getClassLoader(), new Class<?>[] {javax.sql.DataSource.class},
				(p, m, a) -> {
					if (refuse.getAndDecrement() > 0)
						throw new SQLException("the database is away", "08001");
					return losing(DriverManager.getConnection(url), left, answer, refuse);
				});
			Vault v = vault(new JdbcStore(source, "t").lease(200));
			v.start("s", task(Shared.Steps.class, 300, 0L)); // many are left when a few are seen
			until(() -> rows(db) > 3);
			left.set(7);
			assertTrue(v.awaitAll(600_000));
			assertEquals("{}", v.failed().toString());
			check(db, 1, 300);
			assertTrue(left.get() < 0, "none was lost");
			v.close();
		}
	}

	/** The database restarts: its connections are lost, and there is no new one for a while. */
	@Test
	void while_the_database_is_away_threads_wait() throws Exception {
		String url = fresh();
		List<Connection> open = Collections.synchronizedList(new ArrayList<>());
		AtomicInteger refuse = new AtomicInteger();
		javax.sql.DataSource source = (javax.sql.DataSource) Proxy.newProxyInstance(
			WorkersTest.class.getClassLoader(), new Class<?>[] {javax.sql.DataSource.class},
			(p, m, a) -> {
				if (refuse.get() > 0) {
					refuse.decrementAndGet();
					throw new SQLException("the database is away", "08001");
				}
				open.add(DriverManager.getConnection(url));
				return open.get(open.size() - 1);
			});
		try (Connection db = DriverManager.getConnection(url)) {
			ledger(db);
			Vault v = vault(new JdbcStore(source, "t").lease(200)).passiveAfter(100);
			v.resume();
			for (int k = 0; k < 3; k++)
				v.start("s" + k, task(Shared.Steps.class, 20, 30L));
			for (int k = 0; k < 3; k++) {
				int before = rows(db);
				until(() -> rows(db) > before || v.metrics().get("ended") == 3);
				/* This takes many leases. */
				refuse.set(30);
				open.get(open.size() - 1).close();
				until(() -> refuse.get() == 0);
			}
			assertTrue(v.awaitAll(600_000));
			assertEquals("{}", v.failed().toString());
			check(db, 3, 20);
			v.close();
		}
	}

	/** The 7th commit of the writer comes through. Then the connection is lost, for many leases. */
	private static Connection losing(Connection c, AtomicInteger left, boolean answer,
			AtomicInteger refuse) {
		return (Connection) Proxy.newProxyInstance(WorkersTest.class.getClassLoader(),
			new Class<?>[] {Connection.class}, (p, m, a) -> {
				try {
					Object r = m.invoke(c, a);
					if (m.getName().equals("commit") && left.get() > 0
							&& Thread.currentThread().getName().equals("pico-durable-writer")
							&& left.decrementAndGet() == 0) {
						left.set(-1);
						c.close();
						refuse.set(30);
						if (answer)
							throw new SQLException("the connection is lost", "08006");
					}
					return r;
				} catch (java.lang.reflect.InvocationTargetException e) {
					throw e.getCause();
				}
			});
	}

	/**
	 * A statement fails, and so does the rollback after it. The half transaction must not be
	 * committed by a reader that uses the connection next.
	 */
	@Test
	void a_connection_that_cannot_roll_back_is_given_up() throws Exception {
		String url = fresh();
		AtomicInteger made = new AtomicInteger();
		AtomicInteger cancelled = new AtomicInteger();
		javax.sql.DataSource source = (javax.sql.DataSource) Proxy.newProxyInstance(
			WorkersTest.class.getClassLoader(), new Class<?>[] {javax.sql.DataSource.class},
			(p, m, a) -> cancelling(DriverManager.getConnection(url), cancelled));
		try (Connection db = DriverManager.getConnection(url);
				Link link = new Link(source, source.getConnection())) {
			ledger(db);
			link.call(c -> {
				Dialect.execute(c, "insert into ledger values ('s', 1, 1)");
				if (made.incrementAndGet() > 1)
					return null;
				cancelled.set(1);
				throw new SQLException("cancelled", "57014");
			});
			assertEquals(2, made.get());
			assertEquals(1, rows(db));
		}
		try (Connection db = DriverManager.getConnection(url);
				Link link = new Link(null, cancelling(DriverManager.getConnection(url), cancelled))) {
			cancelled.set(1);
			assertThrows(java.io.IOException.class, () -> link.call(c -> {
				Dialect.execute(c, "insert into ledger values ('s', 2, 1)");
				throw new SQLException("cancelled", "57014");
			}));
			assertThrows(java.io.IOException.class, () -> link.call(c -> rows(c)));
			assertEquals(1, rows(db));
		}
	}

	/** Refuses a rollback while `cancelled` is 1. */
	private static Connection cancelling(Connection c, AtomicInteger cancelled) {
		return (Connection) Proxy.newProxyInstance(WorkersTest.class.getClassLoader(),
			new Class<?>[] {Connection.class}, (p, m, a) -> {
				if (m.getName().equals("rollback") && cancelled.compareAndSet(1, 0))
					throw new SQLException("cancelled", "57014");
				try {
					return m.invoke(c, a);
				} catch (java.lang.reflect.InvocationTargetException e) {
					throw e.getCause();
				}
			});
	}

	/* --- processes that are killed at any moment --- */

	private static void ledger(Connection db) throws SQLException {
		try (Statement s = db.createStatement()) {
			s.execute("create table ledger (id varchar(50), step int, total bigint)");
		}
	}

	private static int rows(Connection db) throws SQLException {
		return rows(db, "%");
	}

	private static int rows(Connection db, String id) throws SQLException {
		try (Statement s = db.createStatement(); ResultSet r = s.executeQuery(
				"select count(*) from ledger where id like '" + id + "'")) {
			r.next();
			return r.getInt(1);
		}
	}

	private static int ids(Connection db) throws SQLException {
		try (Statement s = db.createStatement();
				ResultSet r = s.executeQuery("select count(distinct id) from ledger")) {
			r.next();
			return r.getInt(1);
		}
	}

	/** Checks that each thread made each step once, with the right sum. */
	private static void check(Connection db, int threads, int steps) throws SQLException {
		Map<String, List<Integer>> all = new TreeMap<>();
		long sum = 0;
		for (int k = 1; k <= steps; k++)
			sum = sum * 31 + k;
		try (Statement s = db.createStatement(); ResultSet r = s.executeQuery(
				"select id, step, total from ledger order by id, step")) {
			while (r.next()) {
				all.computeIfAbsent(r.getString(1), x -> new ArrayList<>()).add(r.getInt(2));
				if (r.getInt(2) < 0)
					assertEquals(sum, r.getLong(3));
			}
		}
		List<Integer> want = new ArrayList<>(List.of(-1));
		for (int k = 1; k <= steps; k++)
			want.add(k);
		for (Map.Entry<String, List<Integer>> e : all.entrySet())
			assertEquals(want, e.getValue(), e.getKey());
		assertEquals(threads, all.size());
	}

	private void killed(String url) throws Exception {
		Path classes = Children.translated(Children.copy(dir.resolve("killed"), Shared.class),
			dir.resolve("out"));
		Path jar = Children.jar(classes, dir.resolve("all.jar"));
		List<String> options = List.of("-cp", jar + File.pathSeparator + Children.drivers());
		Seal.rotate(Files.write(dir.resolve("key"), new byte[32]));
		Path out = dir.resolve("printed");
		int threads = 6;
		int steps = 30;
		Random random = new Random();
		List<Process> workers = new ArrayList<>();
		try (Connection db = DriverManager.getConnection(url)) {
			ledger(db);
			for (int k = 0; k < 3; k++)
				workers.add(Children.run(Children.home(), options, out, Shared.class.getName(),
					url, dir.toString(), k == 0 ? "" + threads : "0", "" + steps, "1000"));
			/*
			 * Waits until all are in the store, because the process that starts them may be killed
			 * first.
			 */
			until(() -> ids(db) == threads);
			for (int kills = Integer.getInteger("pico.kills", 4); kills > 0; kills--) {
				Thread.sleep(random.nextInt(700));
				int k = random.nextInt(workers.size());
				workers.get(k).destroyForcibly().waitFor();
				workers.set(k, Children.run(Children.home(), options, out,
					Shared.class.getName(), url, dir.toString(), "0", "" + steps, "1000"));
			}
			for (Process p : workers)
				assertTrue(p.waitFor(600, java.util.concurrent.TimeUnit.SECONDS),
					() -> "still there: " + printed(out));
			check(db, threads, steps);
		} catch (AssertionError e) {
			throw new AssertionError(e.getMessage() + "\n" + printed(out), e);
		} finally {
			workers.forEach(Process::destroyForcibly);
		}
	}

	private static String printed(Path out) {
		try {
			String s = Files.readString(out);
			return s.substring(Math.max(0, s.length() - 6_000));
		} catch (java.io.IOException e) {
			return e.toString();
		}
	}

	@Test
	@Tag("long")
	@Tag("1/4")
	void killed_on_postgresql() throws Exception {
		killed(Databases.postgres());
	}

	@Test
	@Tag("long")
	@Tag("2/4")
	void killed_on_mariadb() throws Exception {
		killed(Databases.mariadb());
	}

	@Test
	@Tag("long")
	@Tag("3/4")
	void killed_on_h2() throws Exception {
		killed(Databases.h2(dir));
	}

	@Test
	@Tag("long")
	@Tag("4/4")
	void killed_on_sqlite() throws Exception {
		killed("jdbc:sqlite:" + dir.resolve("db") + "?busy_timeout=600000");
	}
}
