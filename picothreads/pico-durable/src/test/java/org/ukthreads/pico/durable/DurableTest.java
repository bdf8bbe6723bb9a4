// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.durable.Parts;
import org.ukthreads.pico.Continuation;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.translate.PicoLoader;

/** Closes a vault and opens another one on the same store, in one process. */
final class DurableTest {
	@TempDir
	Path dir;
	private PicoLoader loader;
	private List<Object> seen;

	@BeforeEach
	void load() throws Exception {
		loader = loader(Children.copy(dir.resolve("in"), Parts.class));
		@SuppressWarnings("unchecked")
		List<Object> l = (List<Object>) loader.loadClass(Parts.class.getName())
			.getField("SEEN").get(null);
		seen = l;
	}

	private static PicoLoader loader(Path classes) {
		return new PicoLoader(Children.translate(classes), Children.NOTHING,
			DurableTest.class.getClassLoader());
	}

	private Runnable task(String name, Object... args) throws Exception {
		return (Runnable) loader.loadClass(Parts.class.getName() + "$" + name)
			.getConstructors()[0].newInstance(args);
	}

	private Vault vault(ClassLoader l) throws IOException {
		return new Vault(new FileStore(dir.resolve("store")),
			Seal.file(dir.resolve("key")), new Codec(l, Filter.PROGRAM))
			.onFailure((id, e) -> {});
	}

	@Test
	void a_thread_of_twelve_frames_takes_less_than_a_kilobyte() throws Exception {
		Continuation k = new Continuation(task("Deep"));
		assertFalse(k.run());
		Codec c = new Codec(loader, Filter.PROGRAM);
		byte[] b = c.save(k);
		assertTrue(b.length + Seal.SIZE < 1024, "bytes: " + b.length);
		assertTrue(c.load(b).run());
		assertTrue(c.load(b).run());
		assertTrue(k.run());
		assertEquals(3, seen.size());
		assertEquals(1, seen.stream().distinct().count());
	}

	/** Finds each solution by resuming the same frames with another choice. */
	@Test
	void eight_queens_by_resuming_the_same_frames() throws Exception {
		Class<?> q = loader.loadClass(Parts.Queens.class.getName());
		Continuation root = new Continuation(task("Queens"));
		root.run();
		assertEquals(92, solve(root, q.getField("choice"), q.getField("found"), null));
		assertEquals(92, solve(root, q.getField("choice"), q.getField("found"),
			new Codec(loader, Filter.PROGRAM)));
	}

	/** Copies the continuation by fork(), or by saving and loading. */
	private static int solve(Continuation at, Field choice, Field found, Codec c)
			throws Exception {
		int n = 0;
		byte[] saved = c == null ? null : c.save(at);
		for (int col = 0; col < 8; col++) {
			Continuation k = c == null ? at.fork() : c.load(saved);
			choice.setInt(null, col);
			if (!k.run())
				n += solve(k, choice, found, c);
			else if (found.get(null) != null)
				n++;
			found.set(null, null);
		}
		return n;
	}

	@Test
	void lambdas_that_suspend_are_saved() throws Exception {
		Runnable r = (Runnable) loader.loadClass(Parts.class.getName())
			.getMethod("lambda", String.class).invoke(null, "x");
		Continuation k = new Continuation(r);
		k.run();
		Codec c = new Codec(loader, Filter.PROGRAM);
		byte[] b = c.save(k);
		c.load(b).run();
		c.load(b).run();
		assertEquals(List.of("x!x!!", "x!x!!"), seen);
	}

	@Test
	void messages_are_consumed_once() throws Exception {
		Vault v = vault(loader);
		v.start("a", task("Adder"));
		v.send("a", 1);
		v.send("a", 10);
		until(() -> seen.contains("a=11"));
		v.close();
		/* The next vault goes on with the sum and counts no message twice. */
		seen.clear();
		v = vault(loader);
		assertEquals(List.of("a"), v.resume());
		v.send("a", 100);
		until(() -> seen.contains("a=111"));
		v.close();
		v = vault(loader);
		v.resume();
		v.send("a", "end");
		assertTrue(v.await("a", 600_000));
		assertTrue(seen.contains("sum 111"), seen.toString());
		v.close();
		try (FileStore s = new FileStore(dir.resolve("store"))) {
			assertEquals(List.of("e/a"), s.keys());
		}
	}

	private interface Condition {
		boolean holds() throws Exception;
	}

	private static void until(Condition c) throws Exception {
		long end = System.nanoTime() + 60_000_000_000L;
		while (!c.holds()) {
			assertTrue(System.nanoTime() < end, "not in time");
			Thread.sleep(1);
		}
	}

	@Test
	void what_cannot_be_saved_is_named_with_the_way_to_it() throws Exception {
		Vault v = vault(loader);
		v.start("h", task("Holder"));
		assertTrue(v.awaitAll(600_000));
		assertTrue(seen.get(0).toString().startsWith("java.io.ByteArrayInputStream cannot be"
			+ " saved: java.io.NotSerializableException: it is not Serializable; reached"
			+ " from the frame of " + Parts.Holder.class.getName() + ".run()V:"),
			seen.toString());
		v.close();
	}

	@Test
	void services_stay_outside() throws Exception {
		List<Object> one = new ArrayList<>();
		List<Object> two = new ArrayList<>();
		Vault v = vault(loader);
		v.codec.external("service", one);
		v.start("c", task("Client", one));
		until(() -> one.size() == 1);
		v.close();
		v = vault(loader);
		v.codec.external("service", two);
		v.resume();
		v.send("c", "go");
		assertTrue(v.awaitAll(600_000));
		assertEquals("c#2", one.get(0));
		assertEquals(true, two.get(two.size() - 1));
		v.close();
	}

	@Test
	void a_record_that_was_touched_is_refused() throws Exception {
		Vault v = vault(loader);
		v.start("a", task("Adder"));
		v.start("b", task("Adder"));
		v.close();
		Path a = dir.resolve("store/t%2Fa.pico");
		Path b = dir.resolve("store/t%2Fb.pico");
		byte[] good = Files.readAllBytes(a);
		for (int k = 0; k < good.length; k += 7) {
			byte[] bad = good.clone();
			bad[k] ^= 4;
			Files.write(a, bad);
			Vault w = vault(loader);
			assertEquals(List.of("b"), w.resume());
			assertTrue(w.failed().get("a").getMessage()
				.startsWith("t/a: the signature is wrong"));
			w.close();
		}
		/* A correct record under another name. */
		Files.write(b, good);
		Files.delete(a);
		Vault w = vault(loader);
		assertEquals(List.of(), w.resume());
		assertEquals("t/b: the signature is wrong", w.failed().get("b").getMessage());
		w.close();
	}

	/** There is one carrier. A handler that throws must not end it or the writer. */
	@Test
	void who_is_told_of_a_failure_may_throw() throws Exception {
		Vault v = vault(loader).onFailure((id, e) -> {
			throw new Error("told of " + id);
		});
		v.start("f", task("Fails"));
		while (!v.failed().containsKey("f"))
			Thread.sleep(1);
		assertEquals("as it should", v.failed().get("f").getMessage());
		v.start("a", task("Adder"));
		assertTrue(Files.exists(dir.resolve("store/t%2Fa.pico")));
		v.close();
	}

	@Test
	void the_filter_has_the_last_word() throws Exception {
		Continuation k = new Continuation(task("Deep"));
		k.run();
		byte[] b = new Codec(loader, Filter.PROGRAM).save(k);
		Codec strict = new Codec(loader, new Filter("java.lang.*;!*"));
		DurableException e = assertThrows(DurableException.class, () -> strict.load(b));
		assertEquals("the filter refuses " + Parts.Deep.class.getName(), e.getMessage());
		byte[] tree = new Codec(loader, Filter.PROGRAM).value(new java.util.BitSet(9));
		assertThrows(DurableException.class, () -> strict.value(new Bytes(tree, 0)));
		Filter f = new Filter("!a.b.Bad;a.b.*;c.**");
		assertTrue(f.allows("a.b.C") && f.allows("c.d.E") && f.allows("[[La.b.C;"));
		assertFalse(f.allows("a.b.Bad") || f.allows("a.b.c.D") || f.allows("x.Y"));
		assertFalse(Filter.PROGRAM.allows("java.io.File") || Filter.PROGRAM.allows("sun.X"));
	}

	@Test
	void changed_code_is_refused_by_name_and_may_come_back() throws Exception {
		String source = "public class Flow implements Runnable, java.io.Serializable {"
			+ "private static final long serialVersionUID = 1;"
			+ "public static String out;"
			+ "public void run() { out = \"\" + (work(20) + other()); }"
			+ "int work(int x) { org.ukthreads.pico.durable.Durable.receive();"
			+ " return x + 1; }"
			+ "int other() { return 100; } }";
		PicoLoader one = compile("v1", source);
		Vault v = vault(one);
		Vault first = v;
		v.start("f", (Runnable) one.loadClass("Flow").getConstructor().newInstance());
		until(() -> first.look("f").waits.equals("receive"));
		v.close();

		v = vault(compile("v2", source.replace("x + 1", "x + 2")));
		assertEquals(List.of(), v.resume());
		Freezer.ChangedException e = (Freezer.ChangedException) v.failed().get("f");
		assertEquals("Flow.work(I)I", e.method);
		assertEquals("Flow.work(I)I: its code has changed", e.getMessage());
		v.close();

		v = vault(compile("v3", source.replace("work", "work2")));
		assertEquals(List.of(), v.resume());
		assertEquals("Flow.work(I)I: no such method, or it no longer blocks",
			v.failed().get("f").getMessage());
		v.close();

		/* Changes elsewhere do not matter, and neither does a new field. */
		PicoLoader four = compile("v4", "\n\n" + source.replace("return 100", "return 300")
			.replace("int other", "int field; int other"));
		v = vault(four);
		assertEquals(List.of("f"), v.resume());
		v.send("f", "go");
		assertTrue(v.awaitAll(600_000));
		assertEquals("321", four.loadClass("Flow").getField("out").get(null).toString());
		v.close();
	}

	private PicoLoader compile(String version, String source) throws Exception {
		Path d = Files.createDirectories(dir.resolve(version));
		Path f = Files.writeString(d.resolve("Flow.java"), source);
		String cp = System.getProperty("java.class.path");
		assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-nowarn",
			"-cp", cp, "-d", d.toString(), f.toString()));
		return loader(d);
	}

	@Test
	void one_process_at_a_time() throws Exception {
		try (FileStore s = new FileStore(dir.resolve("x"))) {
			assertThrows(IOException.class, () -> new FileStore(dir.resolve("x")));
			assertEquals(List.of(), s.keys());
		}
		new FileStore(dir.resolve("x")).close();
	}

	@Test
	void loops_over_lists_go_on_where_they_were() throws Exception {
		Codec c = new Codec(loader, Filter.PROGRAM);
		Continuation k = new Continuation(task("Loops"));
		while (!k.run())
			k = c.load(c.save(k));
		assertEquals(List.of("aceacfadeadfbcebcfbdebdf"), seen);
	}

	@Test
	void iterators_go_on_as_they_were() throws Exception {
		Codec c = new Codec(loader, Filter.PROGRAM);
		Continuation k = new Continuation(task("Edits"));
		while (!k.run())
			k = c.load(c.save(k));
		assertEquals(2, seen.size());
		List<Object> loaded = new ArrayList<>(seen);
		seen.clear();
		Continuation plain = new Continuation(task("Edits"));
		while (!plain.run())
			continue;
		assertEquals(new ArrayList<>(seen), loaded);
		Continuation stale = new Continuation(task("Stale"));
		stale.run();
		DurableException e = assertThrows(DurableException.class, () -> c.save(stale));
		assertTrue(e.getMessage().contains("its list was changed by others"), e.getMessage());
	}
}
