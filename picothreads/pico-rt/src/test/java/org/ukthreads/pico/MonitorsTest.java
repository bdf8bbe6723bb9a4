// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Monitors used by platform threads, which block in them for real. */
final class MonitorsTest {
	private static final class Cell {
		/** A plain field, which the monitor guards. */
		int n;
		Thread in;
	}

	interface Body {
		void run() throws Exception;
	}

	private static void all(int threads, Body b) throws Exception {
		AtomicReference<Throwable> bad = new AtomicReference<>();
		List<Thread> l = new ArrayList<>();
		for (int k = 0; k < threads; k++) {
			Thread t = new Thread(() -> {
				try {
					b.run();
				} catch (Throwable e) {
					bad.set(e);
				}
			});
			l.add(t);
			t.start();
		}
		for (Thread t : l)
			t.join();
		if (bad.get() != null)
			throw new AssertionError(bad.get());
	}

	/**
	 * As in the JVM, null gives a NullPointerException and not an IllegalMonitorStateException.
	 */
	@Test
	void null_has_no_monitor() {
		assertThrows(NullPointerException.class, () -> Monitors.signal(null));
		assertThrows(NullPointerException.class, () -> Monitors.signalAll(null));
		assertThrows(NullPointerException.class, () -> Monitors.await(null));
		assertThrows(NullPointerException.class, () -> Monitors.await(null, 5));
		assertThrows(NullPointerException.class, () -> Monitors.holds(null));
		assertThrows(IllegalMonitorStateException.class, () -> Monitors.signal(""));
	}

	/**
	 * Nested and repeated, with more objects than slots: uncontended, several objects in a
	 * slot, and contended.
	 */
	@Test
	void one_holder_at_a_time() throws Exception {
		Cell[] cells = new Cell[2000];
		for (int k = 0; k < cells.length; k++)
			cells[k] = new Cell();
		int rounds = 60_000;
		all(6, () -> {
			Random r = new Random();
			for (int k = 0; k < rounds; k++)
				nest(cells, r.nextInt(8) == 0 ? r.nextInt(4) : r.nextInt(cells.length), 2, r);
		});
		int sum = 0;
		for (Cell c : cells)
			sum += c.n;
		assertEquals(6 * rounds * 3, sum);
		assertTrue(Monitors.heldBy(Fiber.current()).isEmpty());
	}

	/** In the order of the cells, so there is no deadlock. The last cell is entered again. */
	private static void nest(Cell[] cells, int at, int more, Random r) {
		Cell c = cells[at];
		Monitors.enter(c);
		try {
			if (c.in != null && c.in != Thread.currentThread())
				throw new IllegalStateException("two in a monitor");
			Thread before = c.in;
			c.in = Thread.currentThread();
			c.n++;
			if (more == 1 && r.nextInt(64) == 0 && !Monitors.holds(c))
				throw new IllegalStateException("not held");
			if (more > 0)
				nest(cells, Math.min(cells.length - 1, at + r.nextInt(3)), more - 1, r);
			else if (r.nextInt(100) == 0)
				Thread.yield();
			c.in = before;
		} finally {
			Monitors.exit(c);
		}
	}

	@Test
	void what_cannot_have_the_jvms_lock_is_named_once() throws Exception {
		PrintStream err = System.err;
		ByteArrayOutputStream told = new ByteArrayOutputStream();
		Random lock = new Random();
		System.setErr(new PrintStream(told, true));
		try {
			for (int k = 0; k < 3; k++) {
				Monitors.enterBoth(lock);
				Monitors.enterBoth(lock);
				assertTrue(Monitors.holds(lock));
				Monitors.exitBoth(lock);
				Monitors.exitBoth(lock);
			}
		} finally {
			System.setErr(err);
		}
		assertFalse(Monitors.holds(lock));
		assertThrows(IllegalMonitorStateException.class, () -> Monitors.exitBoth(lock));
		assertTrue(told.toString().matches("pico: \\S+ locks a java.util.Random below .*\n"),
			told.toString());
	}

	/**
	 * A thread that blocks takes long to wake. If it were the owner from then on, all others that
	 * come meanwhile would block, too, and so on.
	 */
	@Test
	void a_monitor_is_not_given_to_a_thread_that_must_first_be_woken() throws Exception {
		Object o = new Object();
		int[] entered = {0};
		int first = 0;
		for (int k = 0; k < 100; k++) {
			Fiber[] f = {null};
			Monitors.enter(o);
			Thread t = new Thread(() -> {
				f[0] = Fiber.current();
				Monitors.enter(o);
				entered[0]++;
				Monitors.exit(o);
			});
			t.start();
			while (t.getState() != Thread.State.WAITING || f[0] == null || f[0].blocked == null)
				Thread.yield();
			Monitors.exit(o);
			Monitors.enter(o);
			if (entered[0] == k)
				first++;
			Monitors.exit(o);
			t.join();
		}
		assertEquals(100, entered[0]);
		assertTrue(first > 0);
	}

	@Test
	void a_wait_gives_up_every_hold_and_gets_it_back() throws Exception {
		Object o = new Object();
		int[] turn = {0};
		int[] next = {0};
		all(5, () -> {
			int me;
			synchronized (next) {
				me = next[0]++;
			}
			for (int k = 0; k < 300; k++) {
				Monitors.enter(o);
				Monitors.enter(o);
				while (turn[0] % 5 != me)
					Monitors.await(o);
				turn[0]++;
				Monitors.signalAll(o);
				Monitors.exit(o);
				Monitors.exit(o);
			}
		});
		assertEquals(1500, turn[0]);
	}

	/**
	 * The interrupt flag stays set all the while, and no wait of the JDK blocks while it is
	 * set.
	 */
	@Test
	void who_was_interrupted_waits_to_enter_without_spinning() throws Exception {
		Object o = new Object();
		ThreadMXBean cpu = ManagementFactory.getThreadMXBean();
		long[] used = new long[1];
		boolean[] kept = new boolean[1];
		Monitors.enter(o);
		Thread t = new Thread(() -> {
			Thread.currentThread().interrupt();
			long before = cpu.getCurrentThreadCpuTime();
			Monitors.enter(o);
			used[0] = cpu.getCurrentThreadCpuTime() - before;
			kept[0] = Thread.interrupted();
			Monitors.exit(o);
		});
		t.start();
		while (t.getState() != Thread.State.WAITING)
			Thread.sleep(1);
		Thread.sleep(1500);
		Monitors.exit(o);
		t.join();
		assertTrue(kept[0], "the interrupt is lost");
		assertTrue(used[0] < 200_000_000, "CPU " + used[0] / 1_000_000 + " ms");
	}

	/** The first interrupt ends the wait, the second comes while it waits to enter again. */
	@Test
	void who_was_interrupted_twice_keeps_the_second() throws Exception {
		Object o = new Object();
		boolean[] ended = new boolean[1];
		boolean[] kept = new boolean[1];
		Fiber[] f = new Fiber[1];
		Thread t = new Thread(() -> {
			f[0] = Fiber.current();
			Monitors.enter(o);
			try {
				Monitors.await(o);
			} catch (InterruptedException e) {
				ended[0] = true;
			}
			kept[0] = Thread.interrupted();
			Monitors.exit(o);
		});
		t.start();
		while (f[0] == null || (f[0].wait & 1) == 0 || f[0].waitKind != Fiber.W_MONITOR)
			Thread.sleep(1);
		Monitors.enter(o);
		t.interrupt();
		while ((f[0].wait & 1) != 0)
			Thread.sleep(1);
		while (t.isInterrupted())
			Thread.sleep(1);
		t.interrupt();
		while (t.isInterrupted())
			Thread.sleep(1);
		Monitors.exit(o);
		t.join();
		assertTrue(ended[0]);
		assertTrue(kept[0], "the second interrupt is lost");
	}

	@Test
	void who_holds_what_is_known() {
		Object a = new Object();
		Object b = new Object();
		Fiber me = Fiber.current();
		Monitors.enter(a);
		Monitors.enter(b);
		Monitors.enter(b);
		assertTrue(Monitors.holds(a) && Monitors.holds(b));
		assertEquals(Thread.currentThread(), Monitors.owner(b).asThread());
		List<Object> held = Monitors.heldBy(me);
		assertEquals(4, held.size());
		assertEquals(2, held.get(held.indexOf(b) + 1));
		/* heldBy() and owner() have moved the monitors to their stripes; they can be left all
		 * the same. */
		Monitors.exit(b);
		Monitors.exit(b);
		Monitors.exit(a);
		assertFalse(Monitors.holds(a) || Monitors.holds(b));
		assertTrue(Monitors.heldBy(me).isEmpty());
		assertThrows(IllegalMonitorStateException.class, () -> Monitors.exit(a));
		assertThrows(IllegalMonitorStateException.class, () -> Monitors.signal(a));
		Monitors.enter(a);
		Monitors.exit(a);
		assertThrows(IllegalMonitorStateException.class, () -> Monitors.exit(a));
		assertThrows(NullPointerException.class, () -> Monitors.enter(null));
	}
}
