// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A thread of the JVM that the runtime made for itself. Programs do not see these threads. A
 * program that waits until no other thread is left (Thread.activeCount), looks for threads that
 * were forgotten, or interrupts a whole group must find only its own.
 */
class RuntimeThread extends Thread {
	/** The thread that was there before the program and waits for the program's main. */
	private static volatile Thread host;

	RuntimeThread(Runnable r, String name, long stack, boolean daemon) {
		super(null, r, name, stack);
		setDaemon(daemon);
	}

	static void host(Thread t) {
		host = t;
	}

	/** How many of these threads, and of their hosts, were started. */
	private static final AtomicLong STARTED = new AtomicLong();

	@Override
	public void start() {
		super.start();
		STARTED.incrementAndGet();
	}

	static long started() {
		return STARTED.get() + (host != null ? 1 : 0);
	}

	/** True: t is a thread of the program or of the JVM itself. */
	static boolean isVisible(Thread t) {
		return !(t instanceof RuntimeThread) && t != host;
	}
}
