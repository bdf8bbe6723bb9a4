// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.durable.Product;
import org.ukthreads.pico.Clock;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.PicoRuntime;
import org.ukthreads.pico.translate.PicoLoader;

/** Passivation, upgrades, keys, cancellation, queries, side effects that happen once. */
final class ProductTest {
	@TempDir
	Path dir;
	private PicoLoader loader;
	private List<String> seen;
	private static int databases;

	@BeforeEach
	void load() throws Exception {
		loader = loader(Children.copy(dir.resolve("in"), Product.class));
		seen = seen(loader);
	}

	@SuppressWarnings("unchecked")
	private static List<String> seen(ClassLoader l) throws Exception {
		return (List<String>) l.loadClass(Product.class.getName()).getField("SEEN").get(null);
	}

	private static PicoLoader loader(Path classes) {
		return new PicoLoader(Children.translate(classes), Children.NOTHING,
			ProductTest.class.getClassLoader());
	}

	private Runnable task(String name, Object... args) throws Exception {
		return (Runnable) loader.loadClass(Product.class.getName() + "$" + name)
			.getConstructors()[0].newInstance(args);
	}

	private Vault vault(ClassLoader l) throws IOException {
		return vault(l, new FileStore(dir.resolve("store"), false),
			Seal.file(dir.resolve("key")));
	}

	private static Vault vault(ClassLoader l, Store s, Seal seal) {
		return new Vault(s, seal, new Codec(l, Filter.PROGRAM),
			new PicoRuntime("product", 1, null, Clock.REAL)).sleepsFrom(20).pollEvery(10)
			.onFailure((id, e) -> {});
	}

	private interface Holds {
		boolean now() throws Exception;
	}

	private void until(Holds h) throws Exception {
		long end = System.nanoTime() + 60_000_000_000L;
		while (!h.now()) {
			assertTrue(System.nanoTime() < end, () -> "not in time: " + seen);
			Thread.sleep(5);
		}
	}

	/* --- passivation --- */

	private interface Open {
		Store store() throws Exception;
	}

	private void parks(Open open) throws Exception {
		Vault v = vault(loader, open.store(), new Seal(new byte[16])).passiveAfter(30);
		for (int k = 0; k < 50; k++)
			v.start("p" + k, task("Receiver"));
		v.start("sleeper", task("Sleeper", 400L));
		until(() -> seen.contains("sleeper slept"));
		v.send("p7", "hello");
		until(() -> seen.contains("p7 hello"));
		until(() -> v.running().isEmpty());
		assertEquals(50, v.list("", 1_000).size());
		assertTrue(v.metrics().get("passivated") >= 50, v.metrics().toString());
		v.close();
		/* Nothing is due, so nothing is read. */
		Vault w = vault(loader, open.store(), new Seal(new byte[16])).passiveAfter(30);
		assertEquals(List.of(), w.resume());
		w.send("p9", "there");
		until(() -> seen.contains("p9 there"));
		w.send("p7", "again");
		until(() -> seen.contains("p7 again"));
		assertTrue(w.metrics().get("resumed") < 10, w.metrics().toString());
		for (int k = 0; k < 50; k++)
			w.send("p" + k, "end");
		assertTrue(w.awaitAll(600_000));
		w.close();
	}

	@Test
	void threads_that_wait_for_long_leave_the_memory_of_one_process() throws Exception {
		parks(() -> new FileStore(dir.resolve("store"), false));
	}

	private static String fresh() {
		return "jdbc:h2:mem:product" + ++databases + ";DB_CLOSE_DELAY=-1";
	}

	@Test
	void threads_that_wait_for_long_leave_the_memory_of_a_worker() throws Exception {
		String url = fresh();
		parks(() -> new JdbcStore(DriverManager.getConnection(url), "t"));
	}

	/* --- cancellation, queries, retries --- */

	@Test
	void one_that_sleeps_is_interrupted_by_cancel_once() throws Exception {
		Vault v = vault(loader).passiveAfter(20);
		v.start("s", task("Sleeper", 3_600_000L));
		until(() -> v.running().isEmpty());
		v.cancel("s");
		assertTrue(v.awaitAll(600_000));
		assertEquals(List.of("s interrupted true", "s undone null"), seen);
		v.close();
	}

	@Test
	void one_that_receives_gets_an_exception_and_may_undo_what_it_did() throws Exception {
		Vault v = vault(loader);
		v.start("c", task("Cancelled"));
		v.send("c", 1);
		until(() -> seen.contains("c got 1"));
		v.cancel("c");
		until(() -> seen.contains("c the thread c was cancelled"));
		until(() -> v.look("c").waits.equals("receive") && v.look("c").head.cancelled);
		v.close();
		/* The thread knows that it was cancelled, so it is not told again. */
		Vault w = vault(loader);
		w.resume();
		w.send("c", 2);
		assertTrue(w.awaitAll(600_000));
		assertTrue(seen.contains("c undone 2"), seen.toString());
		assertEquals("c finally", seen.get(seen.size() - 1));
		w.close();
	}

	@Test
	void a_cancellation_that_was_stored_survives_the_process() throws Exception {
		Vault v = vault(loader);
		v.start("s", task("Sleeper", 3_600_000L));
		until(() -> v.look("s").waits.equals("sleep"));
		v.close();
		/* A process that does not run the thread cancels it. */
		Vault sender = vault(loader);
		sender.cancel("s");
		sender.close();
		assertEquals(List.of(), seen);
		Vault w = vault(loader);
		w.resume();
		assertTrue(w.awaitAll(600_000));
		assertEquals("s interrupted true", seen.get(0));
		w.close();
	}

	@Test
	void a_parked_thread_is_asked_without_being_woken() throws Exception {
		Vault v = vault(loader).passiveAfter(20);
		v.start("o", task("Order"));
		until(() -> v.running().isEmpty());
		assertEquals("new", v.query("o", ProductTest::state));
		v.send("o", "x");
		until(() -> "paid".equals(v.query("o", ProductTest::state)));
		Parked p = v.look("o");
		assertEquals("receive", p.waits);
		assertTrue(p.frames.stream().anyMatch(f -> f.owner.equals(Product.Order.class.getName())
			&& f.name.equals("run")), p.frames.toString());
		assertNull(p.refused());
		Status s = v.list("", 10).get(0);
		assertEquals("o receive", s.id + " " + s.waits);
		v.close();
	}

	private static String state(Object order) {
		try {
			return (String) order.getClass().getMethod("state").invoke(order);
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	@Test
	void retries_go_on_counting_after_a_restart() throws Exception {
		loader.loadClass(Product.class.getName()).getField("failures").setInt(null, 1);
		Vault v = vault(loader);
		v.start("r", task("Retry"));
		until(() -> seen.contains("r attempt 3"));
		v.close();
		int n = seen.size();
		loader.loadClass(Product.class.getName()).getField("failures").setInt(null, 0);
		Vault w = vault(loader);
		w.resume();
		assertTrue(w.awaitAll(600_000));
		assertEquals("r done", seen.get(seen.size() - 1));
		assertTrue(seen.get(n).compareTo("r attempt 2") > 0, seen.toString());
		w.close();
	}

	/* --- side effects --- */

	private static List<String> books(Connection db) throws Exception {
		List<String> l = new ArrayList<>();
		try (ResultSet r = db.createStatement().executeQuery("select what from books")) {
			while (r.next())
				l.add(r.getString(1));
		}
		return l;
	}

	@Test
	void what_is_done_in_a_database_is_done_once() throws Exception {
		String own = fresh();
		org.h2.jdbcx.JdbcDataSource other = new org.h2.jdbcx.JdbcDataSource();
		other.setURL(fresh());
		try (Connection a = DriverManager.getConnection(own); Connection b = other.getConnection()) {
			for (Connection c : List.of(a, b))
				c.createStatement().execute("create table books (what varchar(20))");
			JdbcStore s = new JdbcStore(DriverManager.getConnection(own), "t");
			Vault v = vault(loader, s, new Seal(new byte[16]));
			v.codec.external("other", other);
			v.start("b", task("Books", other));
			until(() -> seen.contains("b once b"));
			until(() -> v.look("b").waits.equals("receive"));
			/* The process "crashes" before the thread receives, so that code runs again. */
			byte[] record = s.get("t/b");
			assertFalse(record.length == 0);
			v.send("b", "go");
			assertTrue(v.awaitAll(600_000));
			assertEquals(List.of("b wrote first", "b once a", "b once b",
				"b refused: no such account", "b wrote second"), seen);
			assertEquals(List.of("first", "second"), books(a));
			assertEquals(List.of("a", "b"), books(b));
			/* The same key gives the result of the first time. */
			assertEquals("a", Once.run("b#2/1", v.codec, other, db -> "not again"));
			assertEquals("fresh", Once.run("b#9/1", v.codec, other, db -> "fresh"));
			v.close();
		}
	}

	@Test
	void in_a_transaction_each_call_works_or_is_refused() throws Exception {
		String url = fresh();
		try (Connection db = DriverManager.getConnection(url)) {
			db.createStatement().execute("create table books (what varchar(20))");
			Vault v = vault(loader, new JdbcStore(DriverManager.getConnection(url), "t"),
				new Seal(new byte[16]));
			v.codec.external("vault", v);
			v.start("i", task("Inside", v));
			assertTrue(v.await("i", 60_000), seen.toString());
			assertEquals("{}", v.failed().toString());
			String not = " inside Durable.transaction(): call it before or after";
			List<String> want = new ArrayList<>(List.of("id i", "key true", "isCancelled false",
				"version 2", "version: the first Durable.version(\"new\")" + not,
				"commit: Durable.commit()" + not, "expose: Durable.expose()" + not,
				"receive: Durable.receive()" + not, "receive: Durable.receive()" + not,
				"transaction: Durable.transaction()" + not, "once: Durable.once()" + not));
			want.addAll(Collections.nCopies(3, "vault: a call of a vault" + not));
			want.add("i went on, and has another key: true");
			assertEquals(want, seen);
			assertEquals(List.of("row"), books(db));
			for (java.lang.reflect.Method m : Durable.class.getDeclaredMethods())
				assertTrue(!java.lang.reflect.Modifier.isPublic(m.getModifiers())
					|| m.getName().contains("$") || seen.stream().anyMatch(
						s -> s.matches(m.getName() + "[: ].*")), m.toString());
			v.close();
		}
	}

	/* --- keys --- */

	@Test
	void a_lost_key_is_a_refusal_and_not_a_new_key() throws Exception {
		Path key = dir.resolve("key");
		Vault v = vault(loader);
		v.start("a", task("Receiver"));
		v.close();
		byte[] good = Files.readAllBytes(key);
		Files.delete(key);
		FileStore s = new FileStore(dir.resolve("store"), false);
		DurableException e = assertThrows(DurableException.class,
			() -> vault(loader, s, Seal.file(key)));
		assertTrue(e.getMessage().startsWith("the key file " + key + " is gone"),
			e.getMessage());
		assertFalse(Files.exists(key));
		s.close();
		Files.write(key, good);
		Vault w = vault(loader);
		assertEquals(List.of("a"), w.resume());
		w.close();
	}

	@Test
	void two_that_rotate_at_once_lose_no_key() throws Exception {
		Path key = dir.resolve("rotated");
		Files.write(key, "a secret of some bytes".getBytes(StandardCharsets.US_ASCII));
		List<Callable<Object>> four = Collections.nCopies(4, () -> {
			for (int i = 0; i < 25; i++)
				Seal.rotate(key);
			return null;
		});
		ExecutorService threads = Executors.newFixedThreadPool(4);
		try {
			for (Future<Object> f : threads.invokeAll(four))
				f.get();
		} finally {
			threads.shutdown();
		}
		assertEquals(101, Seal.file(key).ids().size());
	}

	@Test
	void keys_are_rotated_without_losing_a_record() throws Exception {
		Path key = dir.resolve("key");
		Vault v = vault(loader);
		v.start("a", task("Receiver"));
		v.send("a", "one");
		until(() -> seen.contains("a one"));
		v.close();
		String old = Seal.file(key).ids().get(0);
		Seal two = Seal.rotate(key);
		assertEquals(2, two.ids().size());
		assertEquals(old, two.ids().get(1));
		/* The new key alone cannot open what the old one has sealed. */
		Seal only = Seal.retire(Files.copy(key, dir.resolve("alone")));
		Vault refused = vault(loader, new FileStore(dir.resolve("store"), false), only);
		assertEquals(List.of(), refused.resume());
		assertTrue(refused.failed().get("a").getMessage().contains("it names the key " + old),
			refused.failed().toString());
		refused.close();
		Vault w = vault(loader);
		w.send("a", "two");
		assertEquals(0, w.reseal());
		assertEquals(0, w.reseal());
		w.close();
		Seal.retire(key);
		Vault x = vault(loader);
		assertEquals(List.of("a"), x.resume(), x.failed().toString());
		until(() -> seen.contains("a two"));
		x.close();
	}

	/** Threads that stay in a receive are sealed again, too. */
	private void seals(Open open) throws Exception {
		Vault v = vault(loader, open.store(), new Seal(new byte[16]));
		v.start("a", task("Receiver"));
		v.start("b", task("Receiver"));
		v.send("b", "one");
		until(() -> v.look("a").waits.equals("receive") && v.look("b").waits.equals("receive")
			&& seen.contains("b one"));
		v.close();
		byte[] key = "another key that seals".getBytes(StandardCharsets.US_ASCII);
		Vault w = vault(loader, open.store(), new Seal(key, new byte[16]));
		assertEquals(List.of("a", "b"), w.resume());
		assertEquals(0, w.reseal());
		w.close();
		Vault x = vault(loader, open.store(), new Seal(key));
		assertEquals(List.of("a", "b"), x.resume(), x.failed().toString());
		x.send("a", "end");
		x.send("b", "end");
		assertTrue(x.awaitAll(600_000));
		x.close();
	}

	@Test
	void what_runs_is_sealed_again_too() throws Exception {
		seals(() -> new FileStore(dir.resolve("store"), false));
	}

	@Test
	void what_runs_is_sealed_again_in_a_database() throws Exception {
		String url = "jdbc:h2:mem:seals" + ++databases + ";DB_CLOSE_DELAY=-1";
		seals(() -> new JdbcStore(DriverManager.getConnection(url), "t"));
	}

	@Test
	void what_no_key_opens_does_not_stop_the_sealing() throws Exception {
		Vault v = vault(loader);
		v.start("b", task("Receiver"));
		until(() -> v.look("b").waits.equals("receive"));
		v.close();
		Files.write(dir.resolve("store/t%2Fa.pico"), new byte[100]);
		Seal.rotate(dir.resolve("key"));
		Vault w = vault(loader);
		assertEquals(1, w.reseal());
		assertEquals(1, w.reseal());
		w.close();
		Seal.retire(dir.resolve("key"));
		Vault x = vault(loader);
		assertEquals(List.of("b"), x.resume());
		x.close();
	}

	/** Otherwise its message would keep a vault with the right key from resuming the receiver. */
	@Test
	void who_has_another_key_sends_nothing() throws Exception {
		Vault v = vault(loader);
		v.start("a", task("Receiver"));
		until(() -> v.look("a").waits.equals("receive"));
		v.close();
		Vault other = vault(loader, new FileStore(dir.resolve("store"), false),
			new Seal(new byte[32]));
		for (int k = 0; k < 2; k++) {
			assertThrows(DurableException.class, () -> other.send("a", "one"));
			assertThrows(DurableException.class, () -> other.cancel("a"));
			assertEquals(List.of(), other.resume());
		}
		other.close();
		Vault w = vault(loader);
		assertEquals(List.of("a"), w.resume(), w.failed().toString());
		w.send("a", "end");
		assertTrue(w.awaitAll(600_000));
		w.close();
	}

	/**
	 * Workers restart one by one: those with the old key file read what the first restarted one
	 * seals.
	 */
	@Test
	void a_worker_reads_the_key_that_was_put_in_meanwhile() throws Exception {
		String url = "jdbc:h2:mem:keys" + ++databases + ";DB_CLOSE_DELAY=-1";
		Path key = dir.resolve("key");
		Open open = () -> new JdbcStore(DriverManager.getConnection(url), "t");
		Vault old = vault(loader, open.store(), Seal.file(key));
		assertEquals(List.of(), old.resume());
		Vault fresh = vault(loader, open.store(), Seal.rotate(key));
		fresh.start("a", task("Receiver"));
		until(() -> fresh.look("a").waits.equals("receive"));
		fresh.send("a", "one");
		until(() -> seen.contains("a one"));
		fresh.close();
		until(() -> old.running().contains("a") || !old.failed().isEmpty());
		assertEquals("{}", old.failed().toString());
		old.send("a", "end");
		assertTrue(old.awaitAll(600_000));
		old.close();
	}

	/** A store may be full of records that others' keys have sealed. */
	@Test
	void the_key_file_is_read_again_only_when_it_is_another_one() throws Exception {
		Path mine = Files.write(dir.resolve("mine"), new byte[32]);
		Path other = Files.write(dir.resolve("other"), "x".repeat(32).getBytes());
		byte[] record = Seal.file(other).close("t/a", new Bytes(64));
		FileTime longAgo = FileTime.fromMillis(1_000_000_000);
		Files.setLastModifiedTime(mine, longAgo);
		Seal s = Seal.file(mine);
		assertFalse(s.opens("t/a", record));
		/* By its time, size and identity this is the same file. */
		Files.write(mine, Files.readAllBytes(other));
		Files.setLastModifiedTime(mine, longAgo);
		assertFalse(s.opens("t/a", record));
		/* A file that was changed a moment ago may change again with the same time. */
		FileTime now = FileTime.fromMillis(System.currentTimeMillis() + 600_000);
		Files.write(mine, new byte[32]);
		Files.setLastModifiedTime(mine, now);
		assertFalse(s.opens("t/a", record));
		Files.write(mine, Files.readAllBytes(other));
		Files.setLastModifiedTime(mine, now);
		assertTrue(s.opens("t/a", record));
	}

	@Test
	void a_key_that_is_cut_short_is_refused() throws Exception {
		Path key = dir.resolve("key");
		Vault v = vault(loader);
		v.close();
		Files.writeString(key, Files.readString(key).trim().replaceAll(".$", ""));
		assertTrue(assertThrows(IOException.class, () -> Seal.file(key)).getMessage()
			.contains("cut short"));
	}

	@Test
	void an_older_record_that_is_put_back_is_refused() throws Exception {
		Path file = dir.resolve("store/t%2Fa.pico");
		Path outside = dir.resolve("outside/seen");
		Vault v = vault(loader).remember(outside);
		v.start("a", task("Receiver"));
		until(() -> v.look("a").waits.equals("receive"));
		byte[] old = Files.readAllBytes(file);
		v.send("a", "one");
		until(() -> seen.contains("a one") && v.look("a").head.taken == 1
			&& v.look("a").waits.equals("receive"));
		v.close();
		byte[] good = Files.readAllBytes(file);
		Files.write(file, old);
		Vault w = vault(loader).remember(outside);
		assertEquals(List.of(), w.resume());
		assertTrue(w.failed().get("a").getMessage().contains("was put back"),
			w.failed().toString());
		Files.write(file, good);
		assertEquals(List.of("a"), w.resume());
		w.send("a", "end");
		assertTrue(w.awaitAll(600_000));
		/* A new thread of that name is not taken for an old record. */
		assertTrue(w.forget("a"));
		w.start("a", task("Receiver"));
		w.close();
		Vault x = vault(loader).remember(outside);
		assertEquals(List.of("a"), x.resume());
		x.close();
	}

	@Test
	void each_resume_tries_what_has_failed_until_then() throws Exception {
		Vault v = vault(loader);
		v.start("a", task("Receiver"));
		until(() -> v.look("a").waits.equals("receive"));
		v.close();
		Files.write(dir.resolve("store/t%2Fa.pico"), new byte[100]);
		int[] told = {0};
		Vault w = vault(loader).onFailure((id, e) -> told[0]++);
		for (int k = 1; k <= 2_000; k++) {
			assertEquals(List.of(), w.resume());
			assertEquals(k, told[0]);
		}
		w.close();
	}

	@Test
	void many_numbers_are_remembered_and_the_file_stays_small() throws Exception {
		Path f = dir.resolve("seen");
		Seen s = new Seen();
		s.open(f);
		for (int round = 1; round <= 5; round++)
			for (int k = 0; k < 3_000; k++)
				s.saw("t" + k, round);
		for (int k = 0; k < 1_000; k++)
			s.ended("t" + k);
		s.close();
		Files.write(f, new byte[5], java.nio.file.StandardOpenOption.APPEND);
		Seen again = new Seen();
		again.open(f);
		for (int k = 0; k < 3_000; k++)
			assertEquals(k < 1_000 ? 0 : 5, again.last("t" + k));
		assertEquals(2_000 * 16, Files.size(f));
		again.close();
	}

	/* --- upgrades --- */

	private PicoLoader compile(String version, String source) throws Exception {
		Path d = Files.createDirectories(dir.resolve(version));
		Path f = Files.writeString(d.resolve("Flow.java"), source);
		assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-nowarn",
			"-cp", System.getProperty("java.class.path"), "-d", d.toString(), f.toString()));
		return loader(d);
	}

	private static final String FLOW = "import org.ukthreads.pico.durable.Durable;"
		+ "public class Flow implements Runnable, java.io.Serializable {"
		+ "private static final long serialVersionUID = 1;"
		+ "public static String out = \"\"; public static volatile boolean block = false;"
		+ "int total = 5;"
		+ "public void run() { while (block) Thread.yield(); begin(); Durable.receive();"
		+ " out += fee(); Durable.receive(); out += fee(); }"
		+ "void begin() {}"
		+ "int fee() { return 1; } }";

	private static Runnable flow(ClassLoader l) throws Exception {
		return (Runnable) l.loadClass("Flow").getConstructor().newInstance();
	}

	private static Class<?> type(ClassLoader l) {
		try {
			return l.loadClass("Flow");
		} catch (ClassNotFoundException e) {
			throw new IllegalStateException(e);
		}
	}

	private static String out(ClassLoader l) throws Exception {
		return (String) l.loadClass("Flow").getField("out").get(null);
	}

	@Test
	void a_guard_keeps_old_threads_on_the_old_code() throws Exception {
		PicoLoader one = compile("v1", FLOW);
		Vault v = vault(one);
		v.codec.release("1");
		v.start("old", flow(one));
		until(() -> v.look("old").waits.equals("receive"));
		v.close();
		PicoLoader two = compile("v2", FLOW.replace("return 1",
			"return Durable.version(\"fee\", 1, 2) == 1 ? 1 : 2"));
		Vault w = vault(two);
		w.codec.release("2");
		assertEquals(List.of("old"), w.resume());
		w.start("new", flow(two));
		w.send("old", "x");
		until(() -> out(two).equals("1"));
		w.send("new", "x");
		until(() -> out(two).equals("12"));
		until(() -> w.look("old").waits.equals("receive") && w.look("new").head.taken == 1);
		w.close();
		/* A third release still knows both versions. It asks again and gets the same answer. */
		PicoLoader three = compile("v3", FLOW.replace("return 1",
			"return Durable.version(\"fee\", 1, 3)"));
		Vault x = vault(three);
		x.codec.release("3");
		x.resume();
		x.send("old", "x");
		until(() -> out(three).equals("1"));
		x.close();
		/* A fourth release no longer knows the version of "new". */
		PicoLoader four = compile("v4", FLOW.replace("return 1",
			"return Durable.version(\"fee\", 3, 4)"));
		Vault y = vault(four);
		y.codec.release("4");
		y.resume();
		y.send("new", "x");
		until(() -> y.failed().containsKey("new"));
		assertEquals("the thread new is at version 2 of fee, and the program knows 3 to 4",
			y.failed().get("new").getMessage());
		y.close();
	}

	@Test
	void a_changed_thread_goes_on_as_what_the_program_makes_of_it() throws Exception {
		PicoLoader one = compile("v1", FLOW.replace("begin();", "begin(); total++;"));
		Vault v = vault(one);
		v.start("f", flow(one));
		until(() -> v.look("f").waits.equals("receive"));
		v.send("f", "x");
		until(() -> out(one).equals("1"));
		until(() -> v.look("f").head.taken == 1);
		v.close();
		PicoLoader two = compile("v2", FLOW.replace("Durable.receive(); out += fee(); }",
			"out += total; }"));
		List<String> asked = new ArrayList<>();
		Vault w = vault(two).onChanged(p -> {
			asked.add(p.refused().method + " " + p.waits);
			return (Runnable) p.find(type(two));
		});
		w.resume();
		w.send("f", "y");
		assertTrue(w.awaitAll(600_000));
		assertEquals(List.of("Flow.run()V receive"), asked);
		/* The new task starts from the beginning with the value of the old one: 6. */
		assertEquals("16", out(two));
		w.close();
	}

	@Test
	void one_that_was_killed_before_it_was_saved_does_not_begin_again_in_silence()
			throws Exception {
		PicoLoader one = compile("v1", FLOW);
		one.loadClass("Flow").getField("block").setBoolean(null, true);
		Vault v = vault(one);
		v.codec.release("1");
		v.start("f", flow(one));
		v.close();
		PicoLoader two = compile("v2", FLOW.replace("Durable.receive(); out", "out"));
		Vault w = vault(two);
		w.codec.release("2");
		assertEquals(List.of(), w.resume());
		Freezer.ChangedException e = (Freezer.ChangedException) w.failed().get("f");
		assertTrue(e.getMessage().contains("would begin again in it"), e.getMessage());
		w.close();
		/* With the same class and another release it goes on, and this is reported. */
		Map<String, String> told = new java.util.concurrent.ConcurrentHashMap<>();
		Vault x = vault(compile("v3", FLOW)).onRestart(told::put);
		x.codec.release("3");
		assertEquals(List.of("f"), x.resume());
		assertTrue(told.get("f").contains("started by release 1, and begins again in release 3"),
			told.toString());
		x.close();
		one.loadClass("Flow").getField("block").setBoolean(null, false);
	}
}
