// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/**
 * The code that looks after the carriers works, and prints nothing, while a program's heap is
 * full.
 */
final class FullHeapTest {
	private static final int ROUNDS = 1000;
	private volatile boolean end;

	/**
	 * Two fibers compute, so that one of them has no carrier. What the Watch does every 5 ms
	 * allocates nothing.
	 */
	@Test
	void a_look_at_the_carriers_takes_no_memory() {
		PicoRuntime rt = new PicoRuntime("full", 1, null, Clock.REAL);
		CountDownLatch run = new CountDownLatch(2);
		Fiber[] two = new Fiber[2];
		for (int k = 0; k < 2; k++) {
			two[k] = rt.fiber(() -> {
				run.countDown();
				while (!end)
					continue;
			});
			two[k].start();
		}
		try {
			assertTrue(ReactorTest.await(run));
			assertTrue(rt.hogs() > 0);
			assertEquals(0, allocated(() -> {
				rt.adopt();
				rt.look();
				rt.hogs();
				for (Fiber f : two) {
					rt.hasLent(f);
					rt.interruptOutside(f);
					rt.withdraw(f);
				}
			}));
		} finally {
			end = true;
			rt.shutdown();
		}
	}

	/**
	 * The bytes that this thread allocates in one run of r. The first round only loads the
	 * classes.
	 */
	private static long allocated(Runnable r) {
		ThreadMXBean b = (ThreadMXBean) ManagementFactory.getThreadMXBean();
		long me = Thread.currentThread().getId();
		long n = 0;
		for (int warm = 0; warm < 2; warm++) {
			long before = b.getThreadAllocatedBytes(me);
			for (int k = 0; k < ROUNDS; k++)
				r.run();
			n = b.getThreadAllocatedBytes(me) - before;
		}
		/* The measurement allocates a little itself, which the division removes. */
		return n / ROUNDS;
	}

	/** The list of threads without a carrier, which is linked through the threads themselves. */
	@Test
	void who_has_no_carrier_is_found_again() {
		Lost l = new Lost();
		PicoRuntime rt = new PicoRuntime("lost", 1, null, Clock.REAL);
		CarrierThread[] t = new CarrierThread[4];
		for (int k = 0; k < t.length; k++)
			t[k] = new CarrierThread(rt, "lost-" + k, null);
		for (int k = 0; k < 3; k++)
			l.add(t[k]);
		l.remove(t[3]);
		assertEquals("2 1 0", walk(l));
		l.remove(t[1]);
		assertEquals("2 0", walk(l));
		l.remove(t[2]);
		l.add(t[1]);
		assertEquals("1 0", walk(l));
		l.remove(t[0]);
		l.remove(t[1]);
		assertEquals("", walk(l));
	}

	private static String walk(Lost l) {
		StringBuilder b = new StringBuilder();
		for (CarrierThread t = l.first; t != null; t = t.nextLost)
			b.append(t.getName().substring(5)).append(' ');
		return b.toString().trim();
	}
}
