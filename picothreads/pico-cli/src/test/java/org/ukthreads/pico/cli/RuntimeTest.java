// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.Search;
import org.ukthreads.pico.Carrier;
import org.ukthreads.pico.Clock;
import org.ukthreads.pico.Dump;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.PicoRuntime;
import org.ukthreads.pico.PicoThread;
import org.ukthreads.pico.Pins;
import org.ukthreads.pico.Scheduler;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/** The runtime: raw continuations, carriers, pins, schedulers, clocks, dumps. */
final class RuntimeTest {
	@TempDir
	Path dir;

	@Test
	void continuations_generate_and_fork() throws Exception {
		Path p = Harness.classes(dir, Search.class);
		String out = Harness.pico(p, Search.class.getName(), 0, 1);
		assertTrue(out.startsWith("0 1 4 9 16 \n"), out);
		assertEquals(4, out.split("\n")[1].split(",").length, out);
	}

	private Runnable compiled(String name, String body) throws Exception {
		Path d = java.nio.file.Files.createDirectories(dir.resolve(name));
		Harness.compile(d, name, "import org.ukthreads.pico.*;\npublic class " + name
			+ " implements Runnable { public static volatile int x;\n" + body + "}\n", "-cp",
			System.getProperty("java.class.path"));
		PicoLoader l = PicoLoader.translate(new ClassPath(List.of(d)), Harness.libraries(),
			new Translator.Options(), RuntimeTest.class.getClassLoader(), r -> {});
		return (Runnable) l.loadClass(name).getDeclaredConstructor().newInstance();
	}

	private static void await(Fiber... fs) throws InterruptedException {
		long end = System.nanoTime() + 20_000_000_000L;
		for (Fiber f : fs)
			while (!f.isDone()) {
				assertTrue(System.nanoTime() < end, "hangs");
				Thread.sleep(1);
			}
	}

	@Test
	void a_pinned_fiber_blocks_its_os_thread_and_not_the_carrier() throws Exception {
		PicoRuntime rt = new PicoRuntime("pins", 1, null, Clock.REAL);
		Runnable pinned = compiled("Pinned", "public void run() { Pins.enter(); try {"
			+ " Thread.sleep(1500); x++; } catch (InterruptedException e) {} finally {"
			+ " Pins.exit(); } }");
		Runnable free = compiled("Free", "public void run() { for (int i = 0; i < 100; i++)"
			+ " Thread.yield(); }");
		long before = Pins.blocked();
		Fiber p = rt.fiber(pinned).start();
		Thread.sleep(20);
		Fiber f = rt.fiber(free).start();
		await(f);
		assertFalse(p.isDone(), "the others ran while it was blocked");
		await(p);
		assertEquals(before + 1, Pins.blocked());
		assertTrue(rt.osThreads() >= 2);
		rt.shutdown();
	}

	/** jOOQ's transactions and Scala's `blocking` call it on any thread. */
	@Test
	void a_managed_blocker_does_not_pin_outside_a_pool() throws Exception {
		Runnable r = compiled("Managed", "public void run() { try {"
			+ " java.util.concurrent.ForkJoinPool.managedBlock("
			+ "new java.util.concurrent.ForkJoinPool.ManagedBlocker() {"
			+ " public boolean isReleasable() { return Pins.blocked() < 0; }"
			+ " public boolean block() throws InterruptedException { Thread.sleep(1);"
			+ " return ++x > 1; } }); } catch (InterruptedException e) {} }");
		long before = Pins.blocked();
		PicoRuntime rt = new PicoRuntime("managed", 1, null, Clock.REAL);
		await(rt.fiber(r).start());
		assertEquals(2, r.getClass().getField("x").get(null));
		assertEquals(before, Pins.blocked());
		rt.shutdown();
	}

	@Test
	void virtual_time_and_a_seeded_scheduler_replay() throws Exception {
		Runnable r = compiled("Sim", "public void run() { try { for (int i = 0; i < 5; i++) {"
			+ " Thread.sleep(86400000L); x = x * 31 + System.identityHashCode(null) + i;"
			+ " Thread.yield(); } } catch (InterruptedException e) {} }");
		assertEquals(simulate(r, 7), simulate(r, 7));
	}

	private static String simulate(Runnable r, long seed) throws Exception {
		AtomicLong now = new AtomicLong();
		StringBuilder order = new StringBuilder();
		List<Fiber> ready = new ArrayList<>();
		Random random = new Random(seed);
		List<Fiber> all = new ArrayList<>();
		PicoRuntime rt = new PicoRuntime("sim", 1, new Scheduler() {
			@Override
			public synchronized void ready(Fiber f) {
				ready.add(f);
			}

			@Override
			public synchronized Fiber next(Carrier c) {
				if (ready.isEmpty())
					return null;
				Fiber f = ready.remove(random.nextInt(ready.size()));
				order.append(all.indexOf(f));
				return f;
			}
		}, new Clock() {
			@Override
			public long nanos() {
				return now.get();
			}

			@Override
			public long millis() {
				return now.get() / 1_000_000;
			}

			@Override
			public boolean idle(long nanos) {
				if (nanos == Long.MAX_VALUE)
					return false;
				now.addAndGet(nanos);
				return true;
			}
		});
		Fiber[] fs = {rt.fiber(r), rt.fiber(r), rt.fiber(r)};
		for (Fiber f : fs)
			all.add(f);
		/*
		 * All are started from inside the runtime. Otherwise the first would run before the others
		 * exist.
		 */
		rt.fiber(() -> all.forEach(Fiber::start)).start();
		await(fs);
		rt.shutdown();
		assertTrue(now.get() >= 5 * 86_400_000_000_000L, "five days went by");
		return order.toString();
	}

	@Test
	void dumps_show_lines_and_locals() throws Exception {
		Runnable r = compiled("Dumped", "static void inner(int depth, String tag) throws"
			+ " InterruptedException { double half = depth / 2.0;\n"
			+ "if (depth == 0) Thread.sleep(60000); else inner(depth - 1, tag + depth);\n"
			+ "System.out.print(half > 9 ? tag : \"\"); }\n"
			+ "public void run() { try { inner(2, \"t\"); } catch (InterruptedException e) {"
			+ " x = 1; } }");
		PicoThread t = new PicoThread(r, "dumped");
		t.start();
		/*
		 * The thread's state changes before its frames are complete. They are when no OS thread
		 * runs it.
		 */
		String d;
		do
			d = Dump.all();
		while (!d.matches("(?s).*\"dumped\" #\\d+ TIMED_WAITING.*") || d.contains("(on "));
		assertTrue(d.matches("(?s).*\"dumped\" #\\d+ TIMED_WAITING, asleep, \\d+ ms left\n.*"), d);
		assertTrue(d.contains("at Dumped.inner(Dumped.java:4)"), d);
		assertTrue(d.contains("tag = \"t21\"") && d.contains("half = 0.5"), d);
		assertEquals("sleep", t.getStackTrace()[0].getMethodName());
		assertEquals("inner", t.getStackTrace()[1].getMethodName());
		t.interrupt();
		await(t.fiber());
		assertEquals(Thread.State.TERMINATED, t.getState());
		assertFalse(Dump.all().contains("dumped"));
	}

	@Test
	void dumps_say_who_waits_for_whom_and_who_runs_where() throws Exception {
		Runnable r = compiled("Held", "static final Object LOCK = new Object();\n"
			+ "public static volatile boolean go;\n"
			+ "public void run() { try { synchronized (LOCK) {\n"
			+ "Thread in = new Thread(() -> { synchronized (LOCK) { x++; } }, \"wants\");\n"
			+ "in.start(); Thread join = new Thread(() -> { try { in.join(); } catch"
			+ " (InterruptedException e) { x = -1; } }, \"joins\"); join.start();\n"
			+ "while (join.getState() != Thread.State.WAITING) Thread.sleep(1);\n"
			+ "spin(); } } catch (InterruptedException e) { x = 1; } }\n"
			+ "static void spin() { while (!go); } }\n class Unused {");
		PicoThread t = new PicoThread(r, "holder");
		t.start();
		String d;
		long end = System.nanoTime() + 20_000_000_000L;
		try {
			/*
			 * A dump is not a snapshot, so repeat it until all three threads are where they stay.
			 */
			do
				d = Dump.all();
			while (!(d.matches("(?s).*\"holder\" #\\d+( daemon)? RUNNABLE\n\t\\(on pico-carrier-.*")
				&& d.contains("at Held.spin(")
				&& d.matches("(?s).*\"wants\" #\\d+( daemon)? BLOCKED, to lock"
					+ " java.lang.Object@\\w+, held by \"holder\"\n.*")
				&& d.matches("(?s).*\"joins\" #\\d+( daemon)? WAITING, for the end of"
					+ " \"wants\"\n.*")) && System.nanoTime() < end);
		} finally {
			r.getClass().getField("go").set(null, true);
		}
		assertTrue(System.nanoTime() < end, d);
		await(t.fiber());
	}
}
