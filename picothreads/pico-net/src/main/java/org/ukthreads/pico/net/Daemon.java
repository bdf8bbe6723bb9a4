// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.util.concurrent.locks.LockSupport;
import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.NeverBlocks;

/**
 * A platform thread (`extends Thread` would make a pico thread here) that repeats one step for
 * ever. Others rely on it, so an error does not end it: an error (no memory, a provider's
 * channel that throws something unexpected) goes to the uncaught exception handler, and the
 * next round begins a millisecond later.
 */
@NeverBlocks
final class Daemon implements Runnable {
	interface Round {
		void round() throws Exception;
	}

	private final Round what;

	private Daemon(Round what) {
		this.what = what;
	}

	static void start(String name, Round what) {
		KeptFiber.platform(name, new Daemon(what)).start();
	}

	@Override
	public void run() {
		for (;;)
			try {
				what.round();
			} catch (InterruptedException e) {
				/* Only the program can have interrupted this thread. The flag is cleared now. */
				continue;
			} catch (Throwable e) {
				told(e);
				LockSupport.parkNanos(1_000_000);
			}
	}

	private static void told(Throwable e) {
		try {
			Thread t = Thread.currentThread();
			t.getUncaughtExceptionHandler().uncaughtException(t, e);
		} catch (Throwable again) {
			/* There is no memory for the report, or the handler throws. */
			return;
		}
	}
}
