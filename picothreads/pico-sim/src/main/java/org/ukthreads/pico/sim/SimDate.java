// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.Date;
import org.ukthreads.pico.Threads;

/** Replaces `new Date()` in a simulated program. */
public class SimDate extends Date {
	private static final long serialVersionUID = 1;

	public SimDate() {
		super(Threads.currentTimeMillis());
	}

	public SimDate(long time) {
		super(time);
	}

	@Deprecated
	public SimDate(int year, int month, int date) {
		super(year, month, date);
	}

	@Deprecated
	public SimDate(int year, int month, int date, int hours, int minutes) {
		super(year, month, date, hours, minutes);
	}

	@Deprecated
	public SimDate(int year, int month, int date, int hours, int minutes, int seconds) {
		super(year, month, date, hours, minutes, seconds);
	}

	@Deprecated
	public SimDate(String s) {
		super(s);
	}
}
