// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.util.concurrent.locks.LockSupport;
import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.NeverBlocks;

/**
 * A platform thread (`extends Thread` would be a pico thread here) that does the same for
 * ever. Others rely on it, so nothing ends it: an error (no memory, a channel of a provider's
 * that throws what it should not) is told, and the next round comes a millisecond later.
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
				/* Nobody's but a stranger's: the flag is down. */
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
			/* No memory for that, or a handler that throws. */
			return;
		}
	}
}
