// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.durable.Moves.Still;
import org.ukthreads.fixtures.durable.Parts;
import org.ukthreads.pico.Continuation;
import org.ukthreads.pico.Clock;
import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.Monitors;
import org.ukthreads.pico.PicoRuntime;
import org.ukthreads.pico.juc.PicoLinkedBlockingQueue;
import org.ukthreads.pico.juc.PicoReentrantLock;
import org.ukthreads.pico.translate.PicoLoader;

/**
 * Threads that are saved in a wait that is not a commit. They go on in that wait in the next vault.
 */
final class WaitsTest {
	@TempDir
	Path dir;
	private PicoLoader loader;
	private List<Object> seen;
	private Vault vault;
	private PicoRuntime runtime;
	private final List<String> told = java.util.Collections.synchronizedList(
		new ArrayList<>());

	@BeforeEach
	void load() throws Exception {
		loader = new PicoLoader(Children.translate(Children.copy(dir.resolve("in"),
			Parts.class)), Children.NOTHING, WaitsTest.class.getClassLoader());
		@SuppressWarnings("unchecked")
		List<Object> l = (List<Object>) loader.loadClass(Parts.class.getName())
			.getField("SEEN").get(null);
		seen = l;
		open();
	}

	private Codec open() throws IOException {
		return open(Clock.REAL);
	}

	private Codec open(Clock clock) throws IOException {
		if (vault != null)
			close();
		/* A runtime of its own: what is left in it never runs again, as if the process had died. */
		runtime = new PicoRuntime("process", 1, null, clock);
		Codec c = new Codec(loader, Filter.PROGRAM);
		vault = new Vault(new FileStore(dir.resolve("store")), Seal.file(dir.resolve("key")), c,
			runtime)
			.sleepsFrom(100).onFailure((id, e) -> told.add(id + " " + e))
			.onUnsaved((id, why) -> told.add(id + " " + why));
		return c;
	}

	@AfterEach
	void close() throws IOException {
		vault.close();
		runtime.shutdown();
	}

	private Runnable task(String name, Object... args) throws Exception {
		return (Runnable) loader.loadClass(Parts.class.getName() + "$" + name)
			.getConstructors()[0].newInstance(args);
	}

	private interface Holds {
		boolean now() throws Exception;
	}

	private void until(Holds h) throws Exception {
		long end = System.nanoTime() + 600_000_000_000L;
		while (!h.now()) {
			assertTrue(System.nanoTime() < end, () -> "not in time: " + seen + told
				+ org.ukthreads.pico.Dump.all());
			Thread.sleep(2);
		}
	}

	/** Returns how the thread waits by its record. */
	private int kind(String id) throws Exception {
		Path f = dir.resolve("store/t%2F" + id + ".pico");
		if (!Files.exists(f))
			return -1;
		Bytes b = Seal.file(dir.resolve("key")).open("t/" + id, Files.readAllBytes(f));
		b.get();
		b.unsigned();
		b.unsigned();
		return b.get();
	}

	@Test
	void waits_with_a_time_out_go_on_where_they_were() throws Exception {
		String[] how = {"poll", "put", "condition", "semaphore", "locks", "wait", "park"};
		/* The vault's clock stands still from here on; the program's own clock does not. */
		Still still = new Still();
		open(still);
		for (String h : how)
			vault.start(h, task("Waits", h, still.nanos()));
		for (String h : how) {
			int want = h.equals("wait") ? KeptFiber.MONITOR : KeptFiber.PARK;
			until(() -> kind(h) == want);
		}
		close();
		vault = null;
		assertEquals(List.of(), told);
		/* The process is gone for a while. This time counts for the waits. */
		Thread.sleep(300);
		seen.clear();
		open();
		assertEquals(how.length, vault.resume().size(), () -> told + "");
		assertTrue(vault.awaitAll(600_000), seen + "");
		seen.sort(null);
		assertEquals(List.of("condition false2 in time", "locks falsefalse0true in time",
			"park  in time",
			"poll nulllater in time", "put falsefirst0 in time",
			"semaphore falsetruefalse in time", "wait true in time"), seen);
	}

	private void restart(BlockingQueue<String> q, ReentrantLock l, Condition c, Object m)
			throws Exception {
		Codec x = open();
		register(x, q, l, c, m);
		assertEquals(List.of("o"), vault.resume());
	}

	private static void register(Codec x, BlockingQueue<String> q, ReentrantLock l,
			Condition c, Object m) {
		x.external("queue", q).external("lock", l).external("condition", c)
			.external("monitor", m);
	}

	/** Each "process" has its own objects under the same names. */
	@Test
	void waits_at_external_objects_wait_at_those_of_the_next_process() throws Exception {
		List<BlockingQueue<String>> q = new ArrayList<>();
		List<ReentrantLock> l = new ArrayList<>();
		List<Condition> c = new ArrayList<>();
		List<Object> m = new ArrayList<>();
		for (int k = 0; k < 6; k++) {
			q.add(new PicoLinkedBlockingQueue<>());
			l.add(new PicoReentrantLock());
			c.add(l.get(k).newCondition());
			m.add(new ArrayList<>(List.of(k)));
		}
		register(vault.codec, q.get(0), l.get(0), c.get(0), m.get(0));
		vault.start("o", task("Outside", q.get(0), l.get(0), c.get(0), m.get(0)));
		until(() -> kind("o") == KeptFiber.PARK);

		restart(q.get(1), l.get(1), c.get(1), m.get(1));
		l.get(1).lock();
		q.get(1).add("one");
		until(() -> seen.contains("took one"));
		byte[] before = Files.readAllBytes(dir.resolve("store/t%2Fo.pico"));
		until(() -> !java.util.Arrays.equals(before,
			Files.readAllBytes(dir.resolve("store/t%2Fo.pico"))));

		/* Stored in lock(). The lock is free in the next process. */
		seen.clear();
		restart(q.get(2), l.get(2), c.get(2), m.get(2));
		until(() -> seen.contains("locked"));
		byte[] locking = Files.readAllBytes(dir.resolve("store/t%2Fo.pico"));
		until(() -> !java.util.Arrays.equals(locking,
			Files.readAllBytes(dir.resolve("store/t%2Fo.pico"))));

		/* Stored in await(). */
		seen.clear();
		restart(q.get(3), l.get(3), c.get(3), m.get(3));
		l.get(3).lock();
		Monitors.enter(m.get(3));
		c.get(3).signal();
		l.get(3).unlock();
		until(() -> seen.contains("signalled"));
		until(() -> kind("o") == KeptFiber.ENTER);
		assertFalse(l.get(3).isLocked());

		/* Stored at the monitor, which is free in the next process. */
		seen.clear();
		restart(q.get(4), l.get(4), c.get(4), m.get(4));
		until(() -> seen.contains("entered"));
		until(() -> kind("o") == KeptFiber.MONITOR);

		/* Stored in wait(). */
		seen.clear();
		restart(q.get(5), l.get(5), c.get(5), m.get(5));
		Monitors.enter(m.get(5));
		Monitors.signal(m.get(5));
		Monitors.exit(m.get(5));
		assertTrue(vault.awaitAll(600_000));
		assertEquals(List.of("notified"), seen);
		assertEquals(List.of(), told);
		Monitors.exit(m.get(3));
	}

	@Test
	void a_wait_that_nobody_could_end_is_told_with_the_call() throws Exception {
		vault.start("d", task("Doomed"));
		until(() -> !told.isEmpty());
		assertTrue(told.get(0).startsWith("d waits in java.util.concurrent."
			+ "LinkedBlockingQueue.take(), called at " + Parts.Doomed.class.getName()
			+ ".run(Parts.java:"), told.get(0));
		assertTrue(told.get(0).contains("cannot be stored there: another thread would have"
			+ " to end that wait"), told.get(0));
		assertEquals(DurableThread.NEW, kind("d"));
		assertEquals(1, vault.unsaved().size());
		Thread.sleep(300);
		assertEquals(1, told.size());
	}

	@Test
	void a_thread_alone_has_no_heap() throws Exception {
		Runnable r = task("Deep");
		Continuation k = new Continuation(r);
		k.run();
		Codec c = new Codec(loader, Filter.PROGRAM).alone();
		String why = assertThrows(DurableException.class, () -> c.save(k)).getMessage();
		assertTrue(why.startsWith(Parts.Deep.class.getName() + " cannot be saved:"
			+ " java.io.NotSerializableException: the thread is saved alone"), why);
		c.external("deep", r);
		byte[] b = c.save(k);
		Runnable other = task("Deep");
		Codec there = new Codec(loader, Filter.PROGRAM).alone().external("deep", other);
		assertTrue(there.load(b).run());
		assertEquals(seen.size(), 1);
		var total = other.getClass().getDeclaredField("total");
		total.setAccessible(true);
		assertEquals(seen.get(0), total.get(other));
		assertEquals(0, total.get(r));
	}
}
