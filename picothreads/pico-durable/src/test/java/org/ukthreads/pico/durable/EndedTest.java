// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.durable.Parts;
import org.ukthreads.pico.Clock;
import org.ukthreads.pico.PicoRuntime;
import org.ukthreads.pico.translate.PicoLoader;

/** Ids of threads that have ended: none runs twice, in no process, until it is forgotten. */
final class EndedTest {
	@TempDir
	Path dir;
	private PicoLoader loader;
	private List<Object> seen;
	private static int databases;

	@AfterAll
	static void stop() throws Exception {
		Databases.stop();
	}

	@BeforeEach
	@SuppressWarnings("unchecked")
	void load() throws Exception {
		loader = new PicoLoader(Children.translate(Children.copy(dir.resolve("in"),
			Parts.class)), Children.NOTHING, EndedTest.class.getClassLoader());
		seen = (List<Object>) loader.loadClass(Parts.class.getName()).getField("SEEN")
			.get(null);
	}

	private Runnable task(String name, Object... args) throws Exception {
		return (Runnable) loader.loadClass(Parts.class.getName() + "$" + name)
			.getConstructors()[0].newInstance(args);
	}

	private Vault vault(Store s) {
		return new Vault(s, new Seal(new byte[16]), new Codec(loader, Filter.PROGRAM),
			new PicoRuntime("ended", 1, null, Clock.REAL)).sleepsFrom(20).pollEvery(10)
			.onFailure((id, e) -> e.printStackTrace());
	}

	private interface Open {
		Store store() throws Exception;
	}

	private static String fresh() {
		return "jdbc:h2:mem:ended" + ++databases + ";DB_CLOSE_DELAY=-1";
	}

	private void refuses(Open open) throws Exception {
		long begun = System.currentTimeMillis();
		Vault v = vault(open.store());
		assertNull(v.status("a"));
		v.start("a", task("Adder"));
		v.onFailure((id, e) -> {}).start("fails", task("Fails"));
		assertTrue(v.await("fails", 600_000));
		v.send("a", "end");
		assertTrue(v.await("a", 600_000));
		refusals(v, begun);
		v.close();
		Vault w = vault(open.store());
		refusals(w, begun);
		assertEquals(List.of("sum 0"), seen);
		/* Only what has ended, and ended before, is forgotten. */
		assertEquals(0, w.forgetBefore(Instant.ofEpochMilli(begun)));
		assertFalse(w.forget("fails"));
		assertFalse(w.forget("none"));
		assertTrue(w.forget("a"));
		assertNull(w.status("a"));
		w.start("a", task("Short"));
		assertTrue(w.await("a", 600_000));
		assertEquals(List.of("sum 0", "a ran"), seen);
		assertEquals("ended", w.status("a").state);
		for (int k = 0; k < 600; k++)
			w.start("s" + k, task("Short"));
		for (int k = 0; k < 600; k++)
			assertTrue(w.await("s" + k, 600_000));
		assertEquals(601, w.forgetBefore(Instant.now().plusSeconds(1)));
		assertNull(w.status("a"));
		w.close();
	}

	private void refusals(Vault v, long begun) throws Exception {
		Status s = v.status("a");
		assertEquals("a: ended, ended, 2 steps", s.toString());
		assertTrue(s.until >= begun && s.until <= System.currentTimeMillis(), "" + s.until);
		assertEquals("the thread a has ended: use another id, or forget() it",
			assertThrows(StartedException.class, () -> v.start("a", task("Adder")))
				.getMessage());
		/* It can be retried, so it has not ended. */
		assertThrows(StartedException.class, () -> v.start("fails", task("Short")));
		assertFalse(v.status("fails").state.equals("ended"));
		assertEquals(List.of(), v.running());
	}

	@Test
	void an_id_in_a_folder_is_not_run_again() throws Exception {
		refuses(() -> new FileStore(dir.resolve("store"), false));
	}

	@Test
	void an_id_in_h2_is_not_run_again() throws Exception {
		String url = fresh();
		refuses(() -> new JdbcStore(DriverManager.getConnection(url), "t"));
	}

	@Test
	void an_id_in_sqlite_is_not_run_again() throws Exception {
		refuses(() -> new JdbcStore(
			DriverManager.getConnection("jdbc:sqlite:" + dir.resolve("db")), "t"));
	}

	@Test
	void an_id_in_postgresql_is_not_run_again() throws Exception {
		String url = Databases.postgres();
		refuses(() -> new JdbcStore(DriverManager.getConnection(url), "t"));
	}

	/** The threads end at once, often before the other worker has tried. */
	private void race(String url) throws Exception {
		List<Vault> two = new ArrayList<>();
		for (int k = 0; k < 2; k++)
			two.add(vault(new JdbcStore(DriverManager.getConnection(url), "t")));
		ExecutorService callers = Executors.newFixedThreadPool(2);
		try {
			for (int n = 0; n < 60; n++) {
				String id = "r" + n;
				List<Callable<Boolean>> both = new ArrayList<>();
				for (Vault v : two)
					both.add(() -> starts(v, id));
				int started = 0;
				for (Future<Boolean> f : callers.invokeAll(both))
					started += f.get() ? 1 : 0;
				assertEquals(1, started, id);
			}
		} finally {
			callers.shutdown();
		}
		for (Vault v : two)
			assertTrue(v.awaitAll(600_000));
		for (int n = 0; n < 60; n++)
			assertEquals(1, Collections.frequency(seen, "r" + n + " ran"), "r" + n);
		for (Vault v : two)
			v.close();
	}

	private boolean starts(Vault v, String id) throws Exception {
		try {
			v.start(id, task("Short"));
			return true;
		} catch (StartedException e) {
			return false;
		}
	}

	@Test
	void two_workers_that_start_an_id_at_once_run_it_once_on_h2() throws Exception {
		race(fresh());
	}

	@Test
	void two_workers_that_start_an_id_at_once_run_it_once_on_sqlite() throws Exception {
		race("jdbc:sqlite:" + dir.resolve("db") + "?busy_timeout=600000");
	}

	@Test
	void two_workers_that_start_an_id_at_once_run_it_once_on_postgresql() throws Exception {
		race(Databases.postgres());
	}

	/** As an earlier version leaves it, which runs an id again and does not look for its end. */
	@Test
	void a_thread_that_an_earlier_version_started_again_ends() throws Exception {
		String url = fresh();
		Vault v = vault(new JdbcStore(DriverManager.getConnection(url), "t"));
		v.start("a", task("Adder"));
		try (Connection db = DriverManager.getConnection(url); Statement s = db.createStatement()) {
			s.execute("insert into t (id, content, owner, due, sent, failed) values"
				+ " ('e/a', X'00', -1, 5, 0, 0)");
		}
		v.send("a", "end");
		assertTrue(v.await("a", 600_000));
		assertEquals("{}", v.failed().toString());
		assertEquals("", v.status("a").refused);
		v.close();
	}
}
