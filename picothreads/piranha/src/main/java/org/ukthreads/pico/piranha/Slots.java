/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

/**
 * A counting semaphore on a plain monitor. That of java.util.concurrent would do, but this one
 * needs nothing of a runtime except synchronized, wait and notify.
 */
final class Slots {
	private int free;

	Slots(int free) {
		this.free = free;
	}

	synchronized void acquire() throws InterruptedException {
		while (free == 0) {
			wait();
		}
		free--;
	}

	synchronized void release() {
		free++;
		notify();
	}
}
