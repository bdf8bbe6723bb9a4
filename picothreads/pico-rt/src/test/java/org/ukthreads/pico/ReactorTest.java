package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A carrier sleeps where its events come. */
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
	}

	static boolean await(CountDownLatch l) {
		try {
			return l.await(20, TimeUnit.SECONDS);
		} catch (InterruptedException e) {
			throw new AssertionError(e);
		}
	}

	/** The maker's carrier was given to another thread, which already sleeps without it. */
	@Test
	void a_reactor_that_was_long_in_the_making_is_polled() throws Exception {
		PicoRuntime rt = new PicoRuntime("reactor", 1, null, Clock.REAL);
		CountDownLatch end = new CountDownLatch(1);
		/* Who is alone keeps its carrier. */
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
