/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

/** Starts a thread for each task; in translated code a pico thread. */
final class ThreadPerTask implements Threads {
	@Override
	public boolean start(String name, Runnable task) {
		Thread thread = new Thread(task, name);
		thread.setDaemon(true);
		try {
			thread.start();
			return true;
		} catch (OutOfMemoryError e) {
			return false;   /* "unable to create native thread" */
		}
	}

	@Override
	public void close() {
		// Each thread ends with its task.
	}
}
