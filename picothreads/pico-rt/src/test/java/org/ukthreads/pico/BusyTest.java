// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Fibers that compute for long do not hold up those that wait. */
final class BusyTest {
	@Test
	void there_is_a_carrier_for_each_processor() {
		assertEquals(Runtime.getRuntime().availableProcessors(), PicoRuntime.main().carriers());
	}

	/**
	 * A fiber sleeps several times while more and more others compute. They would have the
	 * carriers, one after another, until the last of them computes: 40 s with one carrier.
	 */
	@Test
	void a_timer_is_not_late_beside_many_that_compute() {
		for (int carriers = 1; carriers <= 2; carriers++)
			sleepBeside(new PicoRuntime("busy", carriers, null, Clock.REAL));
	}

	private static void sleepBeside(PicoRuntime rt) {
		CountDownLatch awake = new CountDownLatch(5);
		rt.fiber(() -> {
			while (awake.getCount() > 0) {
				/* This code is not translated. */
				Pins.enter();
				Fiber.parkNanos(5_000_000);
				Pins.exit();
				awake.countDown();
			}
		}).start();
		for (int k = 0; k < 40; k++)
			rt.fiber(() -> {
				while (awake.getCount() > 0)
					continue;
			}).start();
		try {
			long begin = System.nanoTime();
			assertTrue(ReactorTest.await(awake));
			long ms = (System.nanoTime() - begin) / 1_000_000;
			assertTrue(ms < 5000, ms + " ms");
		} finally {
			while (awake.getCount() > 0)
				awake.countDown();
			rt.shutdown();
		}
	}

	/** Those that have waited go first, but the others get their turn. */
	@Test
	void who_has_waited_goes_first() {
		PicoRuntime rt = new PicoRuntime("ranks", 2, null, Clock.REAL);
		RoundRobin r = new RoundRobin(2);
		Fiber[] of = new Fiber[Fiber.RANKS];
		for (int k = of.length; k-- > 0;)
			r.ready(of[k] = ranked(rt, k));
		for (Fiber f : of)
			assertSame(f, r.next(null));
		assertNull(r.next(null));

		Fiber last = ranked(rt, Fiber.UNKNOWN);
		r.ready(last);
		int passed = 0;
		for (r.ready(of[0]); r.next(null) != last; r.ready(of[0]))
			passed++;
		assertEquals(16, passed);
	}

	private static Fiber ranked(PicoRuntime rt, int rank) {
		Fiber f = rt.fiber(() -> {});
		f.rank = (byte) rank;
		return f;
	}

	/** One slice may be seen by chance, two in a row are not. */
	@Test
	void whose_slices_are_long_gives_way() {
		Fiber f = ranked(new PicoRuntime("ranks", 1, null, Clock.REAL), Fiber.SHORT);
		f.sampled(true);
		assertEquals(Fiber.SHORT, f.rank);
		f.sampled(true);
		assertEquals(Fiber.LONG, f.rank);
	}
}
