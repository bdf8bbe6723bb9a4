// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import org.ukthreads.pico.Fiber;

/** One thread of a simulated program; the carrier's thread alone touches it. */
final class Task {
	/** Nobody: the clock moves on. */
	static final Task CLOCK = new Task(null, Schedule.CLOCK, null);

	final Fiber fiber;
	/** In the order in which threads were started, from 0: the same in each run. */
	final int id;
	/** Where it runs. */
	final Node node;
	/** Its node has stopped: it never runs again. */
	boolean dead;
	/** Decisions made where it stood. With id it names a place in a schedule. */
	int steps;
	/** Of PCT: who has the highest goes on. */
	double priority;
	/** How often it has asked for the time, at that time. */
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
