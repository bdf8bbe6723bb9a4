// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.ukthreads.pico.Failing.Body;

/** A failure below a fiber costs no carrier. */
final class FailuresTest {
	/**
	 * One fiber is stuck in untranslated code, the other needs its carrier, and no OS thread
	 * can be made for a while.
	 */
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

	/** As above, but the OS thread is the one that was stuck. */
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
			/* As expected. */
		} finally {
			PicoRuntime.starter = Thread::start;
		}
		rt.fiber(run::countDown).start();
		assertTrue(ReactorTest.await(run));
		rt.shutdown();
	}

	/** Its next() throws every other time. */
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

	/** An exception that cannot be printed ends no carrier, either. */
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

	/**
	 * After a swallowed suspension the next one throws an exception and does not wait for ever.
	 */
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

	/** Runs call, which must suspend; there is no memory for the frame of its caller. */
	private static void failing(Body call, Body meanwhile) throws Throwable {
		assertTrue(Failing.call(call, meanwhile), "it did not suspend");
	}

	private static Thread started(Runnable r) {
		Thread t = new Thread(r);
		t.start();
		return t;
	}

	private static void until(java.util.function.BooleanSupplier c) {
		while (!c.getAsBoolean())
			Thread.yield();
	}

	@Test
	void a_wait_that_fails_ends_with_the_monitor() throws Throwable {
		Object o = new Object();
		Failing.onFiber(() -> {
			Monitors.enter(o);
			Monitors.enter(o);
			failing(() -> Monitors.await(o, 60_000), () -> {});
			assertTrue(Monitors.holds(o), "without its monitor");
			Monitors.exit(o);
			Monitors.exit(o);
			assertFalse(Monitors.holds(o));
			assertEquals(0, Fiber.current().rt.timers.size());
		});
	}

	/**
	 * The wait fails while another thread, which notifies or not, holds the monitor. That
	 * thread releases it when this one blocks for it.
	 */
	private static void taken(boolean notify) throws Throwable {
		Object o = new Object();
		Failing.onFiber(() -> {
			Fiber me = Fiber.current();
			CountDownLatch in = new CountDownLatch(1);
			Monitors.enter(o);
			Thread[] other = new Thread[1];
			failing(() -> Monitors.await(o), () -> {
				other[0] = started(() -> {
					Monitors.enter(o);
					if (notify)
						Monitors.signal(o);
					in.countDown();
					until(() -> me.blocked != null);
					Monitors.exit(o);
				});
				assertTrue(ReactorTest.await(in));
			});
			assertTrue(Monitors.holds(o), "without its monitor");
			Monitors.exit(o);
			other[0].join();
		});
		assertEquals(null, Monitors.owner(o));
	}

	@Test
	void a_wait_that_fails_waits_for_who_has_the_monitor() throws Throwable {
		taken(false);
	}

	@Test
	void a_wait_that_fails_when_it_was_notified_does_not_spin() throws Throwable {
		taken(true);
	}

	@Test
	void a_monitor_handed_to_who_could_not_wait_for_it_goes_back() throws Throwable {
		Object o = new Object();
		CountDownLatch in = new CountDownLatch(1);
		CountDownLatch queued = new CountDownLatch(1);
		Thread t = started(() -> {
			Monitors.enter(o);
			in.countDown();
			ReactorTest.await(queued);
			Monitors.exit(o);
		});
		assertTrue(ReactorTest.await(in));
		Failing.onFiber(() -> {
			failing(() -> Monitors.enter(o), () -> {
				queued.countDown();
				t.join();
			});
			assertFalse(Monitors.holds(o), "held for ever");
		});
		assertEquals(null, Monitors.owner(o));
	}

	@Test
	void a_permit_and_an_interrupt_outlive_a_wait_that_fails() throws Throwable {
		Failing.onFiber(() -> {
			Fiber me = Fiber.current();
			failing(Fiber::park, me::unpark);
			Fiber.park();
			failing(() -> Threads.sleep(60_000), me::interrupt);
			assertTrue(me.testInterrupted(), "the interrupt is lost");
		});
	}

	@Test
	void no_memory_for_a_wide_frame_ends_the_suspension() throws Throwable {
		Failing.onFiber(() -> {
			for (Body make : new Body[] {() -> Pushes.ints(Integer.MAX_VALUE),
				() -> Pushes.longs(Integer.MAX_VALUE), () -> Pushes.refs(Integer.MAX_VALUE)})
				try {
					Fiber.park();
				} catch (Throwable c) {
					assertThrows(OutOfMemoryError.class, make::run);
					assertFalse(((Capture) c).active, "still under way");
					assertEquals(Fiber.RUNNING, Fiber.current().state);
				}
		});
	}

	@Test
	void an_overflow_leaves_no_monitor_waited_for() throws Throwable {
		Object o = new Object();
		Object mine = new Object();
		Monitors.enter(o);
		int[] times = new int[1];
		/* Made here, because there is no stack for it near the end of the stack. */
		Body none = () -> {};
		Body enter = () -> Monitors.enter(o);
		Body await = () -> Monitors.await(mine);
		Body both = () -> {
			if (times[0] > 300)
				return;
			failing(enter, none);
			failing(await, none);
			assertTrue(Monitors.holds(mine));
			times[0]++;
		};
		Failing.onFiber(() -> {
			Monitors.enter(mine);
			both.run();
			Failing.deep(both);
			assertTrue(Monitors.holds(mine));
			Monitors.exit(mine);
		});
		Monitors.exit(o);
		assertEquals(null, Monitors.owner(o));
		assertEquals(null, Monitors.owner(mine));
	}

	/** 1: the other thread is to look at the monitor; 2: it has looked; 3: it is to end. */
	private volatile int look;

	/**
	 * Near the end of the stack a monitor is entered on the CAS path. It cannot be left on that
	 * path, because another thread has looked at it meanwhile. once: until an exit is owed.
	 */
	private void overflow(Object o, boolean once) throws Throwable {
		Thread other = started(() -> {
			while (look != 3)
				if (look == 1) {
					Monitors.owner(o);
					look = 2;
				} else {
					Thread.yield();
				}
		});
		Failing.onFiber(() -> {
			Context x = Context.get();
			int[] count = new int[2];
			Throwable[] bad = new Throwable[1];
			Body pair = () -> {
				if (count[0] >= 40 || once && x.owed != null)
					return;
				Monitors.enter(o);
				look = 1;
				while (look == 1)
					count[1]++;
				try {
					Monitors.exit(o);
				} catch (Throwable e) {
					bad[0] = e;
				}
				count[0]++;
			};
			for (int k = 0; k < 5 && !(once && x.owed != null); k++) {
				count[0] = 0;
				Failing.deep(pair);
			}
			if (bad[0] != null)
				throw new AssertionError("kept, or asked to be left for ever", bad[0]);
			assertEquals(once, x.owed != null);
		});
		look = 3;
		other.join();
		until(() -> Monitors.owner(o) == null);
	}

	/** An exit must not fail: compiled code for synchronized would call it again. */
	@Test
	@Tag("long")
	void an_overflow_fails_no_exit() throws Throwable {
		overflow(new Object(), false);
	}

	@Test
	void an_exit_without_stack_is_made_by_the_end_of_its_fiber() throws Throwable {
		overflow(new Object(), true);
	}

	@Test
	void an_overflow_leaves_the_timers_whole() throws Throwable {
		Body none = () -> {};
		Body sleep = () -> Threads.sleep(3_600_000);
		Body park = () -> Fiber.parkNanos(3_600_000_000_000L);
		int[] times = new int[1];
		Body both = () -> {
			if (times[0] > 300)
				return;
			failing(sleep, none);
			failing(park, none);
			times[0]++;
		};
		Failing.onFiber(() -> {
			both.run();
			Failing.deep(both);
			Fiber.current().settle();
			assertEquals(0, Fiber.current().rt.timers.size());
		});
	}
}
