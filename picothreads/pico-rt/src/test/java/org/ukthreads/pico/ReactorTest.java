// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A carrier sleeps in its reactor, and its timers are not late. */
final class ReactorTest {
	private static final class Box implements Reactor {
		final BlockingQueue<Runnable> events = new LinkedBlockingQueue<>();

		@Override
		public void poll(long nanos) {
			try {
				Runnable e = nanos == 0 ? events.poll()
					: events.poll(nanos, TimeUnit.NANOSECONDS);
				if (e != null)
					e.run();
			} catch (InterruptedException i) {
				throw new AssertionError(i);
			}
		}

		@Override
		public void wakeup() {
			events.add(() -> {
			});
		}

		final CountDownLatch closed = new CountDownLatch(1);

		@Override
		public void close() {
			closed.countDown();
		}
	}

	static boolean await(CountDownLatch l) {
		try {
			return l.await(20, TimeUnit.SECONDS);
		} catch (InterruptedException e) {
			throw new AssertionError(e);
		}
	}

	@Test
	void a_runtime_that_ends_lets_its_reactors_go() throws Exception {
		PicoRuntime rt = new PicoRuntime("ends", 2, null, Clock.REAL);
		BlockingQueue<Box> made = new LinkedBlockingQueue<>();
		CountDownLatch both = new CountDownLatch(2);
		for (int k = 0; k < 2; k++)
			rt.fiber(() -> {
				both.countDown();
				await(both);
				made.add((Box) Carrier.current().reactor(Box::new));
			}).start();
		Box one = made.poll(20, TimeUnit.SECONDS);
		rt.shutdown();
		assertTrue(await(one.closed));
		for (Box b; (b = made.poll()) != null;)
			assertTrue(await(b.closed));
	}

	/** Real time, and no Watch that takes a carrier from a fiber that computes. */
	private static final Clock UNWATCHED = new Clock() {
		@Override
		public long nanos() {
			return System.nanoTime();
		}

		@Override
		public long millis() {
			return System.currentTimeMillis();
		}

		@Override
		public boolean idle(long nanos) {
			return false;
		}
	};

	/** Two carriers sleep, and one is woken to compute: not the one that keeps the timers. */
	@Test
	void a_timer_is_not_late_while_a_carrier_sleeps() throws Exception {
		PicoRuntime rt = new PicoRuntime("keeper", 2, null, UNWATCHED);
		try {
			for (int k = 0; k < 10; k++)
				sleepBeside(rt);
		} finally {
			rt.shutdown();
		}
	}

	private static void sleepBeside(PicoRuntime rt) throws Exception {
		CountDownLatch asleep = new CountDownLatch(1);
		CountDownLatch awake = new CountDownLatch(1);
		CountDownLatch computed = new CountDownLatch(1);
		boolean[] inTime = new boolean[1];
		rt.fiber(() -> {
			asleep.countDown();
			/* This code is not translated. */
			Pins.enter();
			Fiber.parkNanos(100_000_000);
			Pins.exit();
			awake.countDown();
		}).start();
		await(asleep);
		while (awake.getCount() > 0 && !rt.sleeps())
			Thread.sleep(1);
		rt.fiber(() -> {
			long end = System.nanoTime() + 10_000_000_000L;
			while (awake.getCount() > 0 && System.nanoTime() < end)
				Thread.yield();
			inTime[0] = awake.getCount() == 0;
			computed.countDown();
		}).start();
		assertTrue(await(computed));
		assertTrue(inTime[0]);
	}

	/**
	 * While a fiber makes the reactor, its carrier is handed to another thread, which already
	 * sleeps without the reactor.
	 */
	@Test
	void a_reactor_that_was_long_in_the_making_is_polled() throws Exception {
		PicoRuntime rt = new PicoRuntime("reactor", 1, null, Clock.REAL);
		CountDownLatch end = new CountDownLatch(1);
		/* A fiber that is alone would keep its carrier. */
		rt.fiber(() -> await(end)).start();
		rt.fiber(() -> {
			Box b = (Box) Carrier.current().reactor(() -> {
				try {
					while (Carrier.ofThread() != null || !rt.sleeps())
						Thread.sleep(1);
					Thread.sleep(50);
				} catch (InterruptedException e) {
					throw new AssertionError(e);
				}
				return new Box();
			});
			b.events.add(end::countDown);
		}).start();
		try {
			assertTrue(await(end));
		} finally {
			rt.shutdown();
		}
	}
}
