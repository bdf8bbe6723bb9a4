// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Predicate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.durable.Moves;
import org.ukthreads.fixtures.durable.Parts;
import org.ukthreads.pico.Clock;
import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.Monitors;
import org.ukthreads.pico.PicoRuntime;
import org.ukthreads.pico.translate.PicoLoader;

/** A store that fails, or a process that dies, between two changes. */
final class CrashTest {
	private static final Seal SEAL = new Seal("sixteen bytes and more".getBytes());

	/** A store in memory. */
	private static final class Memory implements Store {
		final Map<String, byte[]> content = new TreeMap<>();
		/** The process "dies" before such a change. */
		volatile Predicate<Change> dies = c -> false;
		/** The store refuses such a change. */
		volatile Predicate<Change> fails = c -> false;
		boolean dead;
		private Thread inside;

		private void enter() {
			synchronized (this) {
				if (inside != null)
					throw new IllegalStateException("two threads at once");
				inside = Thread.currentThread();
			}
		}

		private synchronized void exit() {
			inside = null;
		}

		@Override
		public void apply(List<Change> changes) throws IOException {
			enter();
			try {
				for (Change c : changes) {
					synchronized (content) {
						dead |= dies.test(c);
						if (dead)
							throw new IOException("dead");
						if (fails.test(c))
							throw new IOException("no space left");
						if (c.value == null)
							content.remove(c.key);
						else
							content.put(c.key, c.value);
					}
				}
			} finally {
				exit();
			}
		}

		@Override
		public List<String> keys() {
			enter();
			try {
				synchronized (content) {
					return new ArrayList<>(content.keySet());
				}
			} finally {
				exit();
			}
		}

		@Override
		public byte[] get(String key) throws IOException {
			enter();
			try {
				Thread.sleep(1);
				synchronized (content) {
					return content.get(key);
				}
			} catch (InterruptedException e) {
				throw new IOException(e);
			} finally {
				exit();
			}
		}

		/** Returns what a process would find that starts now. */
		Memory after() {
			Memory m = new Memory();
			synchronized (content) {
				m.content.putAll(content);
			}
			return m;
		}

		boolean has(String key) {
			synchronized (content) {
				return content.containsKey(key);
			}
		}

		@Override
		public void close() {}
	}

	@TempDir
	Path dir;
	private PicoLoader loader;
	private List<Object> seen;
	private final List<String> told = java.util.Collections.synchronizedList(
		new ArrayList<>());

	@BeforeEach
	void load() throws Exception {
		loader = new PicoLoader(Children.translate(Children.copy(dir.resolve("in"),
			Parts.class)), Children.NOTHING, CrashTest.class.getClassLoader());
		@SuppressWarnings("unchecked")
		List<Object> l = (List<Object>) loader.loadClass(Parts.class.getName())
			.getField("SEEN").get(null);
		seen = l;
	}

	private Runnable task(String name, Object... args) throws Exception {
		return (Runnable) loader.loadClass(Parts.class.getName() + "$" + name)
			.getConstructors()[0].newInstance(args);
	}

	/** Makes a vault in a "process" of its own. */
	private Vault vault(Store s) {
		return vault(s, Clock.REAL);
	}

	private Vault vault(Store s, Clock clock) {
		return new Vault(s, SEAL, new Codec(loader, Filter.PROGRAM),
			new PicoRuntime("process", 2, null, clock)).sleepsFrom(100)
			.onFailure((id, e) -> told.add(id + " " + e))
			.onUnsaved((id, why) -> told.add(id + " " + why));
	}

	private interface Holds {
		boolean now() throws Exception;
	}

	private void until(Holds h) throws Exception {
		long end = System.nanoTime() + 600_000_000_000L;
		while (!h.now()) {
			assertTrue(System.nanoTime() < end, () -> "not in time: " + seen + told);
			Thread.sleep(2);
		}
	}

	/** Returns how a thread waits by its record; -1: there is none. */
	private static int kind(Memory m, String id) {
		synchronized (m.content) {
			return kind("t/" + id, m.content.get("t/" + id));
		}
	}

	private static int kind(String key, byte[] record) {
		if (record == null || !key.startsWith("t/"))
			return -1;
		Bytes b = SEAL.open(key, record);
		b.get();
		b.unsigned();
		b.unsigned();
		return b.get();
	}

	@Test
	void a_message_that_was_stored_is_received_after_a_crash() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		v.start("a", task("Adder"));
		until(() -> kind(m, "a") == KeptFiber.AWAIT);
		m.dies = c -> c.key.startsWith("t/");
		v.send("a", 7);
		Memory next = m.after();
		assertTrue(next.has("m/a/1"));
		v.close();
		Vault w = vault(next);
		assertEquals(List.of("a"), w.resume());
		until(() -> seen.contains("a=7"));
		w.close();
	}

	/** A message may be stored before the thread has the one before it. */
	@Test
	void messages_of_two_senders_come_in_the_order_of_their_numbers() throws Exception {
		for (int round = 0; round < 30; round++) {
			Memory m = new Memory();
			Vault v = vault(m);
			seen.clear();
			v.start("a", task("Adder"));
			List<Thread> ts = new ArrayList<>();
			List<Integer> order = java.util.Collections.synchronizedList(new ArrayList<>());
			for (int k = 0; k < 4; k++) {
				int from = k;
				Thread t = new Thread(() -> {
					for (int x = 0; x < 25; x++)
						v.send("a", 1);
					order.add(from);
				});
				ts.add(t);
				t.start();
			}
			for (Thread t : ts)
				t.join();
			Memory next = m.after();
			v.close();
			seen.clear();
			Vault w = vault(next);
			w.resume();
			w.send("a", "end");
			assertTrue(w.await("a", 600_000));
			assertTrue(seen.contains("sum 100"), "round " + round + ": " + seen);
			assertEquals(List.of("e/a"), next.keys());
			w.close();
		}
	}

	@Test
	void messages_of_one_that_has_ended_are_not_those_of_the_next() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		v.start("a", task("Adder"));
		/* The thread ends, and the process dies before the thread's messages are removed. */
		m.dies = c -> c.key.startsWith("m/") && c.value == null;
		v.send("a", "end");
		until(() -> seen.contains("sum 0"));
		until(() -> kind(m, "a") < 0);
		Memory next = m.after();
		assertTrue(next.has("m/a/1"));
		v.close();
		seen.clear();
		Vault w = vault(next);
		assertEquals(List.of(), w.resume());
		assertTrue(w.forget("a"));
		w.start("a", task("Adder"));
		until(() -> kind(next, "a") == KeptFiber.AWAIT);
		Memory third = next.after();
		w.close();
		Vault x = vault(third);
		assertEquals(List.of("a"), x.resume());
		x.send("a", 5);
		until(() -> seen.contains("a=5"));
		assertEquals(List.of("a=5"), seen);
		x.close();
	}

	@Test
	void a_message_whose_removal_failed_is_removed_later() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		v.start("a", task("Adder"));
		until(() -> kind(m, "a") == KeptFiber.AWAIT);
		boolean[] once = {true};
		m.fails = c -> c.value == null && once[0] && !(once[0] = false);
		v.send("a", 1);
		until(() -> v.failed().containsKey("a"));
		assertTrue(m.has("m/a/1"));
		v.close();
		Memory next = m.after();
		Vault w = vault(next);
		w.resume();
		until(() -> kind(next, "a") == KeptFiber.AWAIT);
		w.send("a", "end");
		assertTrue(w.await("a", 600_000));
		assertEquals(List.of("e/a"), next.keys());
		w.close();
	}

	/** Whatever a crash leaves of the end of a thread, the id is not started again. */
	@Test
	void a_thread_that_a_crash_lets_end_twice_is_not_started_again() throws Exception {
		for (String last : List.of("e/a", "t/a", "m/a/1")) {
			Memory m = new Memory();
			Vault v = vault(m);
			v.start("a", task("Adder"));
			until(() -> kind(m, "a") == KeptFiber.AWAIT);
			m.dies = c -> c.key.equals(last) && (c.value == null || last.startsWith("e"));
			v.send("a", "end");
			until(() -> v.failed().containsKey("a"));
			v.close();
			Memory next = m.after();
			assertEquals(!last.equals("e/a"), next.has("e/a"));
			Vault w = vault(next);
			assertEquals(last.equals("m/a/1") ? List.of() : List.of("a"), w.resume());
			assertTrue(w.awaitAll(600_000));
			assertEquals(List.of("e/a"), next.keys(), last);
			assertThrows(StartedException.class, () -> w.start("a", task("Adder")));
			w.close();
		}
	}

	@Test
	void a_thread_runs_whose_start_was_interrupted() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		CountDownLatch writes = new CountDownLatch(1);
		CountDownLatch go = new CountDownLatch(1);
		m.fails = c -> {
			writes.countDown();
			try {
				go.await();
			} catch (InterruptedException e) {
				return true;
			}
			return false;
		};
		Runnable task = task("Short");
		Thread caller = new Thread(() -> {
			try {
				v.start("a", task);
			} catch (DurableException e) {
				told.add(e.getMessage());
			}
		});
		caller.start();
		writes.await();
		caller.interrupt();
		caller.join();
		go.countDown();
		assertEquals(List.of("interrupted: the outcome is not known"), told);
		assertTrue(v.await("a", 600_000));
		assertEquals(List.of("a ran"), seen);
		v.close();
	}

	/** The crash takes the parent back to before the start of its child, which has ended. */
	@Test
	void a_start_that_a_durable_thread_repeats_is_refused() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		v.codec.external("vault", v);
		m.dies = c -> c.key.equals("e/parent");
		v.start("parent", task("Parent", v));
		until(() -> v.failed().containsKey("parent"));
		v.close();
		assertEquals(List.of("child ran", "ended"), seen);
		Vault w = vault(m.after());
		w.codec.external("vault", w);
		assertEquals(List.of("parent"), w.resume());
		assertTrue(w.await("parent", 600_000));
		assertEquals(List.of("child ran", "ended",
			"the thread child has ended: use another id, or forget() it", "ended"), seen);
		w.close();
	}

	@Test
	void a_stored_thread_is_not_replaced_by_a_new_one() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		v.start("a", task("Adder"));
		v.send("a", 3);
		until(() -> seen.contains("a=3"));
		until(() -> kind(m, "a") == KeptFiber.AWAIT);
		Memory next = m.after();
		v.close();
		Vault w = vault(next);
		DurableException e = assertThrows(DurableException.class,
			() -> w.start("a", task("Adder")));
		assertEquals("the store holds a thread a: resume() it, or remove() it",
			e.getMessage());
		assertEquals(List.of("a"), w.resume());
		w.send("a", 4);
		until(() -> seen.contains("a=7"));
		w.close();
	}

	@Test
	void one_that_cannot_be_read_does_not_keep_the_others() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		for (String id : List.of("a", "b", "c", "d"))
			v.start(id, task("Adder"));
		for (String id : List.of("a", "b", "c", "d"))
			until(() -> kind(m, id) == KeptFiber.AWAIT);
		v.close();
		Memory next = m.after();
		next.content.put("m/a", new byte[3]);
		next.content.put("m/b/first", new byte[3]);
		Store bad = new Store() {
			@Override
			public void apply(List<Change> changes) throws IOException {
				next.apply(changes);
			}

			@Override
			public List<String> keys() {
				return next.keys();
			}

			@Override
			public byte[] get(String key) throws IOException {
				if (key.equals("t/b"))
					throw new IOException("a bad sector");
				if (key.equals("t/c"))
					throw new NoClassDefFoundError("a library that is gone");
				return next.get(key);
			}

			@Override
			public void close() {}
		};
		Vault w = vault(bad);
		assertEquals(List.of("a", "d"), w.resume());
		assertEquals("[b, c]", w.failed().keySet().toString());
		w.close();
	}

	/** Resumed threads commit while others are still read. */
	@Test
	void the_store_is_called_by_one_thread_at_a_time() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		for (int k = 0; k < 50; k++) {
			String id = "a" + k;
			v.start(id, task("Adder"));
			until(() -> kind(m, id) == KeptFiber.AWAIT);
		}
		m.fails = c -> kind(c.key, c.value) == KeptFiber.COMMIT;
		for (int k = 0; k < 50; k++)
			v.send("a" + k, 1);
		assertTrue(v.awaitAll(600_000));
		v.close();
		told.clear();
		Memory next = m.after();
		Vault w = vault(next);
		assertEquals(50, w.resume().size(), told.toString());
		for (int k = 0; k < 50; k++)
			w.send("a" + k, "end");
		assertTrue(w.awaitAll(600_000));
		assertEquals(List.of(), told);
		w.close();
	}

	/** The store refuses one record. Threads whose commits are in the same batch go on. */
	@Test
	void a_record_that_the_store_refuses_is_its_own_failure_alone() throws Exception {
		Memory m = new Memory();
		m.fails = c -> c.key.equals("t/bad") && c.value != null;
		Vault v = vault(m);
		List<Thread> ts = new ArrayList<>();
		List<String> failed = java.util.Collections.synchronizedList(new ArrayList<>());
		for (int k = 0; k < 40; k++) {
			String id = k % 4 == 0 ? "bad" : "a" + k;
			Runnable task = task("Adder");
			Thread t = new Thread(() -> {
				for (int x = 0; x < 10; x++)
					try {
						v.start(id + (id.equals("bad") ? "" : "/" + x), task);
					} catch (DurableException e) {
						failed.add(id);
					}
			});
			ts.add(t);
			t.start();
		}
		for (Thread t : ts)
			t.join();
		failed.removeIf(x -> x.equals("bad"));
		assertEquals(List.of(), failed);
		v.close();
	}

	@Test
	void a_commit_that_failed_does_not_change_the_key() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		int[] left = {2};
		m.fails = c -> kind(c.key, c.value) == KeptFiber.COMMIT && left[0]-- > 0;
		v.start("k", task("Keys", 0L));
		assertTrue(v.await("k", 600_000));
		assertEquals(List.of("k#1", "k#1", "k#1", "k#2"), seen);
		v.close();
	}

	/** A clock that stands still until it is let go; then it is an hour further. */
	private static final class Held implements Clock {
		private final long nanos = REAL.nanos();
		private final long millis = REAL.millis();
		private volatile boolean gone;

		@Override
		public long nanos() {
			return gone ? REAL.nanos() + 3_600_000_000_000L : nanos;
		}

		@Override
		public long millis() {
			return gone ? REAL.millis() + 3_600_000 : millis;
		}

		@Override
		public boolean idle(long left) {
			return false;
		}
	}

	/** It is chance whether a wait is long enough to be stored. */
	@Test
	void a_wait_that_lasted_does_not_change_the_key() throws Exception {
		Memory m = new Memory();
		Held clock = new Held();
		Vault v = vault(m, clock);
		v.start("k", task("Keys", 1_000L));
		until(() -> kind(m, "k") == KeptFiber.PARK);
		clock.gone = true;
		assertTrue(v.await("k", 600_000));
		assertEquals(List.of("k#1", "k#1", "k#2"), seen);
		v.close();
	}

	@Test
	void a_sleep_of_just_so_long_is_stored() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		v.start("s", task("Sleeper", 100L));
		until(() -> kind(m, "s") == KeptFiber.SLEEP || seen.contains("slept"));
		until(() -> seen.contains("slept"));
		assertEquals(KeptFiber.SLEEP, kind(m.after(), "s"));
		v.close();
	}

	/** Saving one thread throws an error that is not an exception. The others are still saved. */
	@Test
	void an_error_in_saving_a_wait_is_told_and_the_others_are_saved() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m, new Moves.Still()); /* no wait of a second is over */
		v.start("bad", task("Unruly"));
		until(() -> told.toString().contains("bad waits in"));
		assertTrue(told.toString().contains("StackOverflowError"), told.toString());
		v.start("p", task("Waits", "park", System.nanoTime()));
		until(() -> kind(m, "p") == KeptFiber.PARK);
		v.close();
	}

	/**
	 * A JDK frame below it keeps the thread from being saved, so a crash would lose the sleep. That
	 * must be reported.
	 */
	@Test
	void a_long_sleep_that_cannot_be_stored_is_told() throws Exception {
		Memory m = new Memory();
		Vault v = vault(m);
		v.start("s", task("Pinned"));
		until(() -> !told.isEmpty());
		assertTrue(told.get(0).startsWith("s waits in a call at "
			+ Parts.Pinned.class.getName() + "."), told.get(0));
		assertTrue(told.get(0).contains("(Parts.java:"), told.get(0));
		assertTrue(told.get(0).contains("a frame below it is not translated"), told.get(0));
		assertEquals(DurableThread.NEW, kind(m, "s"));
		v.close();
	}

	/**
	 * The monitor that it held when it was saved is free, because others in this process need it.
	 */
	@Test
	void a_thread_that_is_refused_holds_no_monitor() throws Exception {
		List<Object> monitor = new ArrayList<>();
		Memory m = new Memory();
		Vault v = vault(m);
		v.codec.external("monitor", monitor);
		v.start("g", task("Guarded", monitor));
		until(() -> kind(m, "g") == KeptFiber.AWAIT);
		v.close();
		Memory next = m.after();
		next.content.put("m/g/1", new byte[40]);
		List<Object> other = new ArrayList<>();
		Vault w = vault(next);
		w.codec.external("monitor", other);
		assertEquals(List.of(), w.resume());
		assertTrue(told.toString().contains("m/g/1: the signature is wrong"), "" + told);
		Thread t = new Thread(() -> {
			Monitors.enter(other);
			Monitors.exit(other);
		});
		t.setDaemon(true);
		t.start();
		t.join(5_000);
		assertEquals(Thread.State.TERMINATED, t.getState());
		next.content.remove("m/g/1");
		assertEquals(List.of("g"), w.resume());
		w.send("g", 1);
		until(() -> seen.contains("guarded 1"));
		w.close();
	}
}
