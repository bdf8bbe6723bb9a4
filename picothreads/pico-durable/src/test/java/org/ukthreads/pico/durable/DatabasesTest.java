// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Databases as stores: SQLite, H2, and servers that the tests start. */
final class DatabasesTest {
	@TempDir
	Path dir;

	@AfterAll
	static void stop() throws Exception {
		Databases.stop();
	}

	private static Connection open(String url) throws SQLException {
		return DriverManager.getConnection(url);
	}

	private static Store.Change put(String key, String value) {
		return new Store.Change(key, value.getBytes());
	}

	private static void store(String url) throws Exception {
		byte[] big = new byte[3_000_000];
		new Random(1).nextBytes(big);
		try (JdbcStore s = new JdbcStore(open(url), "records")) {
			assertEquals(List.of(), s.keys());
			assertNull(s.get("a"));
			s.apply(List.of(put("a", "1"), put("b", "2"), put("a", "3"),
				new Store.Change("t/\u20ac '\"%", big), new Store.Change("none", null)));
			s.apply(List.of(new Store.Change("b", null), put("c", "4")));
			/* The table cannot hold this key, so nothing of the call is stored. */
			if (!url.contains("sqlite"))
				assertThrows(IOException.class, () -> s.apply(List.of(put("d", "5"),
					put(String.join("", java.util.Collections.nCopies(300, "k")), "6"))));
		}
		try (JdbcStore s = new JdbcStore(open(url), "records")) {
			assertEquals(new TreeSet<>(Arrays.asList("a", "c", "t/\u20ac '\"%")),
				new TreeSet<>(s.keys()));
			assertArrayEquals("3".getBytes(), s.get("a"));
			assertArrayEquals(big, s.get("t/\u20ac '\"%"));
		}
	}

	/** Closes each connection before the store uses it. */
	private static void lost(String url) throws Exception {
		List<Connection> open = new ArrayList<>();
		DataSource source = (DataSource) Proxy.newProxyInstance(
			DatabasesTest.class.getClassLoader(), new Class<?>[] {DataSource.class},
			(p, m, a) -> {
				assertEquals("getConnection", m.getName());
				open.add(open(url));
				return open.get(open.size() - 1);
			});
		try (JdbcStore s = new JdbcStore(source, "lost")) {
			s.apply(List.of(put("a", "1")));
			open.get(0).close();
			s.apply(List.of(put("a", "2"), put("b", "3")));
			open.get(1).close();
			assertArrayEquals("2".getBytes(), s.get("a"));
			open.get(2).close();
			assertEquals(2, s.keys().size());
		}
		assertEquals(4, open.size());
	}

	private void threads(String url) throws Exception {
		store(url);
		lost(url);
		Kills k = new Kills(dir, 3, false, url);
		for (int n = 0; n < Integer.getInteger("pico.kills", 4); n++)
			k.round();
		assertTrue(k.steps > 0);
		System.out.println(url.replaceFirst("^jdbc:(\\w+).*", "$1") + ": " + k.steps
			+ " committed steps, none lost");
	}

	@Test
	void sqlite() throws Exception {
		threads("jdbc:sqlite:" + dir.resolve("db"));
	}

	@Test
	void h2() throws Exception {
		threads("jdbc:h2:" + dir.resolve("db"));
	}

	@Test
	@Tag("long")
	@Tag("1/2")
	void mariadb() throws Exception {
		threads(Databases.mariadb());
	}

	@Test
	@Tag("long")
	@Tag("2/2")
	void postgresql() throws Exception {
		threads(Databases.postgres());
	}

	/** PostgreSQL plans while the table is empty, when either index will do. */
	@Test
	@Tag("long")
	void a_save_finds_its_thread_by_the_index_of_names() throws Exception {
		String url = Databases.postgres();
		byte[] record = new byte[300];
		int threads = 300;
		int rounds = 10;
		try (JdbcStore s = new JdbcStore(open(url), "threads")) {
			for (int k = 0; k < threads; k++) {
				s.table.make(List.of(Act.of(Act.Op.START, "t" + k, record, 0)));
				for (int n = 0; k == 0 && n < 20; n++)
					s.table.make(List.of(Act.of(Act.Op.SAVE, "t0", record, s.table.worker())));
			}
			for (int n = 0; n < rounds; n++) {
				List<Act> all = new ArrayList<>();
				for (int k = 0; k < threads; k++)
					all.add(Act.of(Act.Op.SAVE, "t" + k, record, s.table.worker()));
				s.table.make(all);
			}
		}
		try (Connection c = open(url); Statement s = c.createStatement()) {
			long scans;
			long read;
			do {
				/* PostgreSQL counts these when the store's session is over. */
				try (ResultSet r = s.executeQuery("select sum(idx_scan), sum(idx_tup_read)"
						+ " from pg_stat_user_indexes where relname = 'threads'")) {
					r.next();
					scans = r.getLong(1);
					read = r.getLong(2);
				}
			} while (scans < threads * rounds);
			assertTrue(read < 20L * threads * rounds, read + " entries in " + scans + " scans");
		}
	}

	/** Otherwise a vault that starts would look at each of a million parked threads. */
	@Test
	void what_is_due_or_has_failed_is_found_by_the_index() throws Exception {
		String url = "jdbc:sqlite:" + dir.resolve("db");
		List<String> asked = new ArrayList<>();
		Connection noting = (Connection) Proxy.newProxyInstance(
			DatabasesTest.class.getClassLoader(), new Class<?>[] {Connection.class},
			noting(open(url), asked));
		try (JdbcStore s = new JdbcStore(noting, "threads")) {
			s.table.make(List.of(Act.of(Act.Op.START, "a", new byte[9], 0),
				Act.of(Act.Op.START, "b", new byte[9], 0)));
			Act failed = Act.of(Act.Op.FAILED, "a", null, s.table.worker());
			failed.why = "so";
			s.table.make(List.of(failed));
			assertEquals(List.of(), s.table.claim(1, 9, false));
			List<Shelf.Claim> all = s.table.claim(1, 9, true);
			assertEquals(1, all.size());
			assertEquals("a", all.get(0).id);
			assertEquals(List.of(), s.table.claim(1, 9, true));
		}
		asked.removeIf(sql -> !sql.startsWith("select id, sent"));
		assertTrue(asked.size() >= 4, asked.toString());
		try (Connection c = open(url); Statement s = c.createStatement()) {
			for (String sql : asked)
				try (ResultSet r = s.executeQuery("explain query plan " + sql)) {
					assertTrue(r.next());
					assertTrue(r.getString("detail").contains("(owner=? AND due"),
						sql + ": " + r.getString("detail"));
				}
		}
	}

	private static InvocationHandler noting(Connection c, List<String> asked) {
		return (p, m, a) -> {
			if (m.getName().equals("prepareStatement"))
				asked.add((String) a[0]);
			return m.invoke(c, a);
		};
	}
}
