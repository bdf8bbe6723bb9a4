// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

/**
 * Asked when a thread cannot go on because its code has changed. The answer is a task that
 * goes on for it, under its id and with the messages that it has not taken, made of what the
 * old one left: Parked.find(Order.class), Parked.exposed.
 */
public interface Migration {
	/** Null: there is none; it stays refused, and its record as it is. */
	Runnable migrate(Parked thread);
}
