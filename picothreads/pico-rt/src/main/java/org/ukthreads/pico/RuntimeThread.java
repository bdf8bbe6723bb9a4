// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * A thread of the JVM that the runtime made for itself. Programs do not see these: who waits until
 * nobody else is left (Thread.activeCount), looks for threads that were forgotten, or interrupts
 * a whole group must meet the program's own.
 */
class RuntimeThread extends Thread {
	/** The one that was there before the program, and waits for its main. */
	private static volatile Thread host;

	RuntimeThread(Runnable r, String name, long stack, boolean daemon) {
		super(null, r, name, stack);
		setDaemon(daemon);
	}

	static void host(Thread t) {
		host = t;
	}

	/** Is t the program's, or the JVM's? */
	static boolean isVisible(Thread t) {
		return !(t instanceof RuntimeThread) && t != host;
	}
}
