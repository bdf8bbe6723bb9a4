// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.TimerTask;

/** The superclass of a program's TimerTask. */
public abstract class PicoTimerTask extends TimerTask {
	/* Guarded by lock(). DONE: ran once. */
	static final int NEW = 0, QUEUED = 1, DONE = 2, CANCELLED = 3;
	int state;
	/** Milliseconds. */
	long next;
	/** 0: once; positive: at this rate; negative: with this delay. */
	long period;

	protected PicoTimerTask() {}

	@Override
	public boolean cancel() {
		synchronized (lock()) {
			boolean b = state == QUEUED;
			state = CANCELLED;
			return b;
		}
	}

	@Override
	public long scheduledExecutionTime() {
		synchronized (lock()) {
			return period < 0 ? next + period : next - period;
		}
	}

	private final Object guard = new Object();

	final Object lock() {
		return guard;
	}
}
