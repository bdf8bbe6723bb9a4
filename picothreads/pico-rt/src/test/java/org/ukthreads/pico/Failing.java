// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/** Calls whose suspension fails: there is no memory for the frame of their caller. */
public final class Failing {
	public interface Body {
		void run() throws Throwable;
	}

	private Failing() {}

	/** meanwhile: between the stop and the failure. False: it did not suspend. */
	public static boolean call(Body call, Body meanwhile) throws Throwable {
		/* Nobody has called what overrides the JDK's: no look at the stack, and so no pin. */
		Context.get().entered = Long.MIN_VALUE;
		try {
			call.run();
			return false;
		} catch (Throwable t) {
			if (!(t instanceof Capture))
				throw t;
			meanwhile.run();
			OutOfMemoryError e = new OutOfMemoryError("for a frame");
			try {
				((Capture) t).pusher.failed(e);
			} catch (OutOfMemoryError x) {
				if (x == e)
					return true;
				throw x;
			}
			throw new AssertionError("no error");
		}
	}

	/**
	 * To the end of the stack, and b on the way back, on each level: down there it overflows or
	 * does all that it should.
	 */
	public static void deep(Body b) throws Throwable {
		try {
			deep(b);
		} catch (VirtualMachineError e) {
			/* Once more, with a little more of the stack. */
		}
		b.run();
	}

	/** Its OS thread blocks. */
	public static boolean isBlocked(Fiber f) {
		return f.blocked != null;
	}

	/** On a fiber of a runtime of its own. */
	public static void onFiber(Body b) throws Throwable {
		PicoRuntime rt = new PicoRuntime("failing", 1, null, Clock.REAL);
		CountDownLatch end = new CountDownLatch(1);
		AtomicReference<Throwable> bad = new AtomicReference<>();
		rt.fiber(() -> {
			try {
				b.run();
			} catch (Throwable e) {
				bad.set(e);
			}
			end.countDown();
		}).start();
		end.await();
		rt.shutdown();
		if (bad.get() != null)
			throw bad.get();
	}
}
