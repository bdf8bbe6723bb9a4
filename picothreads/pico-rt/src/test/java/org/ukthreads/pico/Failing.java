// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Makes calls whose suspension fails, because there is no memory for the frame of their caller.
 */
public final class Failing {
	public interface Body {
		void run() throws Throwable;
	}

	private Failing() {}

	/**
	 * Runs call, whose suspension fails. meanwhile runs between the stop and the failure.
	 * False: call did not suspend.
	 */
	public static boolean call(Body call, Body meanwhile) throws Throwable {
		/* As if no method was entered that untranslated code may call: then the stack is not
		 * looked at, and there is no pin. */
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
	 * Recurses to the end of the stack and runs b on each level on the way back. Near the end b
	 * either overflows or does all that it should.
	 */
	public static void deep(Body b) throws Throwable {
		try {
			deep(b);
		} catch (VirtualMachineError e) {
			/* Try again, with a little more of the stack. */
		}
		b.run();
	}

	/** True: the fiber's OS thread blocks. */
	public static boolean isBlocked(Fiber f) {
		return f.blocked != null;
	}

	/** Runs b on a fiber of a runtime of its own and throws what b throws. */
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
