// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What fails below a fiber takes nobody's carrier away. */
final class FailuresTest {
	/** One is stuck outside, the other needs its carrier, and there are no more threads. */
	@Test
	void a_carrier_without_a_thread_waits_for_one() {
		PicoRuntime rt = new PicoRuntime("failures", 1, null, Clock.REAL);
		AtomicInteger refused = new AtomicInteger();
		CountDownLatch run = new CountDownLatch(1);
		rt.fiber(() -> assertTrue(ReactorTest.await(run))).start();
		PicoRuntime.starter = t -> {
			if (refused.incrementAndGet() <= 5)
				throw new OutOfMemoryError("unable to create native thread");
			t.start();
		};
		try {
			rt.fiber(run::countDown).start();
			assertTrue(ReactorTest.await(run));
			assertEquals(6, refused.get());
		} finally {
			PicoRuntime.starter = Thread::start;
			rt.shutdown();
		}
	}

	/** As above, and the thread comes from who was stuck. */
	@Test
	void who_is_not_stuck_any_more_takes_it() {
		PicoRuntime rt = new PicoRuntime("failures", 1, null, Clock.REAL);
		CountDownLatch refused = new CountDownLatch(3);
		CountDownLatch run = new CountDownLatch(1);
		rt.fiber(() -> assertTrue(ReactorTest.await(refused))).start();
		PicoRuntime.starter = t -> {
			refused.countDown();
			throw new OutOfMemoryError("unable to create native thread");
		};
		try {
			rt.fiber(run::countDown).start();
			assertTrue(ReactorTest.await(run));
		} finally {
			PicoRuntime.starter = Thread::start;
			rt.shutdown();
		}
	}

	@Test
	void the_first_thread_is_the_callers_matter() {
		PicoRuntime rt = new PicoRuntime("failures", 2, null, Clock.REAL);
		CountDownLatch run = new CountDownLatch(1);
		PicoRuntime.starter = t -> {
			throw new OutOfMemoryError("unable to create native thread");
		};
		try {
			rt.fiber(() -> {}).start();
			assertFalse(true, "started");
		} catch (OutOfMemoryError e) {
			/* As it should. */
		} finally {
			PicoRuntime.starter = Thread::start;
		}
		rt.fiber(run::countDown).start();
		assertTrue(ReactorTest.await(run));
		rt.shutdown();
	}

	/** Throws every other time. */
	private static final class Moody implements Scheduler {
		private final Queue<Fiber> all = new ArrayDeque<>();
		int n;

		@Override
		public synchronized void ready(Fiber f) {
			all.add(f);
		}

		@Override
		public synchronized Fiber next(Carrier c) {
			if (n++ % 2 == 0)
				throw new IllegalStateException("moody", null) {
					@Override
					public synchronized Throwable fillInStackTrace() {
						return this;
					}
				};
			return all.poll();
		}
	}

	@Test
	void a_scheduler_that_throws_ends_no_carrier() {
		PicoRuntime rt = new PicoRuntime("failures", 1, new Moody(), Clock.REAL);
		CountDownLatch run = new CountDownLatch(20);
		for (int k = 0; k < 20; k++)
			rt.fiber(run::countDown).start();
		assertTrue(ReactorTest.await(run));
		rt.shutdown();
	}

	/** Nor an exception that cannot be printed. */
	@Test
	void an_end_that_cannot_be_told_ends_no_carrier() {
		PicoRuntime rt = new PicoRuntime("failures", 1, null, Clock.REAL);
		CountDownLatch run = new CountDownLatch(1);
		rt.fiber(() -> {
			throw new IllegalStateException() {
				@Override
				public String getMessage() {
					throw new OutOfMemoryError("no message");
				}

				@Override
				public StackTraceElement[] getStackTrace() {
					throw new OutOfMemoryError("no trace");
				}
			};
		}).start();
		rt.fiber(run::countDown).start();
		assertTrue(ReactorTest.await(run));
		rt.shutdown();
	}

	/** A suspension was swallowed: the next one says so, and does not wait for ever. */
	@Test
	void a_wait_that_was_left_open_is_closed_by_the_next() {
		PicoRuntime rt = new PicoRuntime("failures", 1, null, Clock.REAL);
		CountDownLatch end = new CountDownLatch(1);
		AtomicReference<Throwable> second = new AtomicReference<>();
		rt.fiber(() -> {
			try {
				Fiber.park();
			} catch (Throwable e) {
				/* Swallowed. */
			}
			try {
				Fiber.park();
			} catch (Throwable e) {
				second.set(e);
			}
			end.countDown();
		}).start();
		assertTrue(ReactorTest.await(end));
		assertTrue(second.get() instanceof PinnedException, "" + second.get());
		rt.shutdown();
	}
}
