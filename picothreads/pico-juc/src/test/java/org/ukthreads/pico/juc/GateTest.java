package org.ukthreads.pico.juc;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** The states of a Gate's waiter, one against the other. */
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

	/** The thread waits; it is interrupted, and done before it can leave. */
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

	private static void until(Callable<Boolean> c) throws Exception {
		while (!c.call())
			Thread.yield();
	}

	@Test
	void an_interrupt_that_comes_too_late_is_kept() throws Exception {
		late(false);
		late(true);
	}
}
