// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.EnumSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What other threads see of a thread while it waits. */
final class StateTest {
	interface Wait {
		void once() throws Exception;
	}

	/**
	 * A wait with a timeout never shows WAITING, neither before its timer is added nor after
	 * the timer has expired: programs interrupt threads that seem to wait for ever.
	 */
	@Test
	void a_wait_with_a_time_out_never_looks_endless() throws Exception {
		Object o = new Object();
		never(Thread.State.WAITING, 20_000, () -> Fiber.parkNanos(1000));
		never(Thread.State.WAITING, 20_000, () -> Threads.sleep(0, 1000));
		never(Thread.State.WAITING, 500, () -> {
			Monitors.enter(o);
			Monitors.timedWait(TimeUnit.MICROSECONDS, o, 1);
			Monitors.exit(o);
		});
	}

	private static void never(Thread.State s, int times, Wait w) {
		PicoRuntime rt = new PicoRuntime("states", 1, null, Clock.REAL);
		Exception[] failed = new Exception[1];
		Fiber f = rt.fiber(() -> {
			Pins.enter(); /* nothing here is translated */
			try {
				for (int k = 0; k < times; k++)
					w.once();
			} catch (Exception e) {
				failed[0] = e;
			} finally {
				Pins.exit();
			}
		});
		EnumSet<Thread.State> seen = EnumSet.noneOf(Thread.State.class);
		f.start();
		while (f.state != Fiber.DONE)
			seen.add(PicoThread.state(f));
		rt.shutdown();
		assertNull(failed[0]);
		seen.retainAll(EnumSet.of(s));
		assertEquals(EnumSet.noneOf(Thread.State.class), seen);
	}
}
