/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which a URL gets its thread. The crawler is the same blocking code for all of them:
 *
 *   pico       new Thread(...), which the PicoThreads translator turns into a heap object
 *   virtual    the JDK's virtual threads (21 and later), found by reflection, because our class
 *              files are Java 8
 *   platform   a kernel thread per URL
 *   pool:N     N kernel threads that take URLs from a queue: what the paper calls the careful Java
 *              programmer's way
 *
 * pico and platform have the same source; they differ only in the translation.
 */
package org.ukthreads.pico.piranha;

interface Threads {
	/** Runs the task on a thread. Returns false if the system cannot start one at the moment. */
	boolean start(String name, Runnable task) throws InterruptedException;

	/** Called when no more tasks come. */
	void close();
}
