// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import org.ukthreads.pico.Fiber;

/** One thread of a simulated program. Only the carrier's thread uses it. */
final class Task {
	/** In place of a thread: the clock moves on. */
	static final Task CLOCK = new Task(null, Schedule.CLOCK, null);

	final Fiber fiber;
	/** The order in which threads were started, from 0: the same in each run. */
	final int id;
	/** The node on which it runs. */
	final Node node;
	/** Its node has stopped, so it never runs again. */
	boolean dead;
	/**
	 * Decisions that were made while it was the last to run. With the id this names a place in a
	 * schedule.
	 */
	int steps;
	/** For PCT: the ready thread with the highest priority goes on. */
	double priority;
	/** How often it has asked for the time at the moment askedAt. */
	int asked;
	long askedAt;

	Task(Fiber fiber, int id, Node node) {
		this.node = node;
		this.fiber = fiber;
		this.id = id;
	}

	@Override
	public String toString() {
		return fiber.asThread().getName();
	}
}
