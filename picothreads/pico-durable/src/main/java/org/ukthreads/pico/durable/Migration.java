// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

/**
 * Asked when a thread cannot go on because its code has changed. The answer is a task that
 * continues in its place, under its id and with the messages that it has not consumed. It is made
 * of what the old thread left: Parked.find(Order.class), Parked.exposed.
 */
public interface Migration {
	/**
	 * Returns the task, or null if there is none: the thread stays refused, and its record as it
	 * is.
	 */
	Runnable migrate(Parked thread);
}
