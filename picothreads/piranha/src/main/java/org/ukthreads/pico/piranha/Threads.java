/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a URL gets its thread. The crawler is the same blocking code under all of them:
 *
 *   pico       new Thread(...), which the PicoThreads translator has made a heap object
 *   virtual    the JDK's virtual threads (21 and later), found by reflection: our class files
 *              are Java 8
 *   platform   a kernel thread per URL
 *   pool:N     N kernel threads that take URLs from a queue: what the paper calls the careful
 *              Java programmer's way
 *
 * pico and platform are one piece of source: what differs is whether it was translated.
 */
package org.ukthreads.pico.piranha;

interface Threads {
	/** Runs the task on a thread; false: the system has no thread to give at the moment. */
	boolean start(String name, Runnable task) throws InterruptedException;

	/** No more tasks come. */
	void close();
}
