// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The states of a Gate's waiter, and races between them. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class GateTest {
	private static final class When extends Gate.Node {
		private static final long serialVersionUID = 1L;
		volatile boolean may;

		When() {
			super(0);
		}

		@Override
		boolean attempt() {
			return may;
		}
	}

	/** A waiting thread is interrupted, and done before it can leave. */
	private static void late(boolean timed) throws Exception {
		Gate g = new Gate(null);
		When[] n = new When[1];
		boolean[] kept = new boolean[2];
		Thread t = new Thread(() -> {
			try {
				synchronized (n) {
					n[0] = new When();
				}
				if (timed)
					kept[1] = g.passIn(n[0], Long.MAX_VALUE / 2);
				else
					g.passInterruptibly(n[0]);
				kept[0] = Thread.currentThread().isInterrupted();
			} catch (InterruptedException e) {
				kept[0] = false;
			}
		});
		t.start();
		until(() -> g.waiting(0) == 1);
		synchronized (g) {
			t.interrupt();
			until(() -> t.getState() == Thread.State.BLOCKED);
			n[0].may = true;
			g.serve();
		}
		t.join();
		assertTrue(n[0].done);
		assertTrue(kept[0], "the interrupt is lost");
		assertFalse(timed && !kept[1]);
	}

	private static final class Of extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final int[] permits;

		Of(int kind, int[] permits) {
			super(kind);
			this.permits = permits;
		}

		@Override
		boolean attempt() {
			return permits[kind] > 0 && permits[kind]-- > 0;
		}
	}

	@Test
	void one_kind_is_served_in_order_and_does_not_hold_up_the_other() {
		Gate g = new Gate(null);
		int[] permits = new int[2];
		Of[] n = new Of[8];
		for (int k = 0; k < n.length; k++) {
			n[k] = new Of(k % 2, permits);
			assertFalse(g.enter(n[k]));
		}
		permits[1] = 2;
		g.changed();
		assertEquals("01010000", done(n));
		assertTrue(g.leave(n[2]));
		assertFalse(g.leave(n[1]));
		permits[0] = 2;
		assertFalse(g.once(new Of(0, permits), false), "it passed the queue");
		g.changed();
		assertEquals("11011000", done(n));
		assertEquals(1, g.waiting(0));
		assertEquals(2, g.waiting(1));
		assertTrue(g.first(0) == n[6] && g.first(1) == n[5]);
		permits[0] = 1;
		permits[1] = 9;
		g.changed();
		assertEquals("11011111", done(n));
		assertEquals(0, g.waiting(0) + g.waiting(1));
		assertTrue(g.enter(new Of(1, permits)));
	}

	/** Wants a lock that is not fair. */
	private static final class Patient extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final boolean[] free;

		Patient(boolean[] free) {
			super(0);
			this.free = free;
		}

		@Override
		boolean attempt() {
			boolean was = free[0];
			free[0] = false;
			return was;
		}

		@Override
		boolean patient() {
			return true;
		}

		@Override
		boolean open() {
			return free[0];
		}
	}

	@Test
	void who_comes_first_takes_what_is_not_fair_but_passes_nobody_for_ever() {
		Gate g = new Gate(null);
		boolean[] free = new boolean[1];
		Patient a = new Patient(free);
		Patient b = new Patient(free);
		assertFalse(g.enter(a));
		assertFalse(g.enter(b));
		for (int k = 0; k < Gate.PATIENCE; k++) {
			free[0] = true;
			g.changed();
			assertTrue(a.woken && !a.done && !b.woken);
			assertTrue(g.enter(new Patient(free)), "the first comer had to queue");
			assertFalse(g.through(a));
		}
		free[0] = true;
		g.changed();
		assertTrue(a.done, "it is passed again");
		assertFalse(g.enter(new Patient(free)));
		free[0] = true;
		g.changed();
		assertTrue(g.through(b));
		assertEquals(1, g.waiting(0));
	}

	/** The woken node leaves: the next one must be woken. */
	@Test
	void a_wake_up_is_handed_on() {
		Gate g = new Gate(null);
		boolean[] free = new boolean[1];
		Patient a = new Patient(free);
		Patient b = new Patient(free);
		assertFalse(g.enter(a) || g.enter(b));
		free[0] = true;
		g.changed();
		assertTrue(a.woken && !b.woken);
		assertTrue(g.leave(a));
		assertTrue(b.woken && g.through(b));
	}

	private static String done(Of[] n) {
		StringBuilder s = new StringBuilder();
		for (Of x : n)
			s.append(x.done ? 1 : 0);
		return s.toString();
	}

	private static void until(Callable<Boolean> c) throws Exception {
		while (!c.call())
			Thread.yield();
	}

	@Test
	void an_interrupt_outlives_a_try_that_throws() throws Exception {
		Line line = new Line();
		AtomicBoolean bad = new AtomicBoolean();
		boolean[] kept = new boolean[1];
		Thread t = new Thread(() -> {
			try {
				line.acquire(() -> {
					if (bad.get())
						throw new IllegalStateException();
					return -1;
				}, false);
			} catch (IllegalStateException e) {
				kept[0] = Thread.interrupted();
			}
		});
		t.start();
		until(() -> line.threads(0).size() == 1 && t.getState() == Thread.State.WAITING);
		t.interrupt();
		until(() -> !t.isInterrupted());
		bad.set(true);
		line.wakeFirst();
		t.join();
		assertTrue(kept[0], "the interrupt is lost");
	}

	@Test
	void an_interrupt_that_comes_too_late_is_kept() throws Exception {
		late(false);
		late(true);
	}
}
