// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

/** Describes where a thread is, for people: its name, and the program's innermost line. */
final class Story {
	private Story() {}

	/** running: the thread is the caller. */
	static String of(Task t, boolean running) {
		Thread th = t.fiber.asThread();
		String at = running ? "" : t.fiber.isDone() ? " (ended)" : " (waits)";
		StackTraceElement e = line(th.getStackTrace());
		return '"' + th.getName() + '"' + (e == null ? "" : " at " + e) + at;
	}

	/** Returns the innermost frame of the program; null: there is none. */
	static StackTraceElement line(StackTraceElement[] stack) {
		for (StackTraceElement e : stack)
			if (!isOurs(e.getClassName()))
				return e;
		return null;
	}

	private static boolean isOurs(String c) {
		return c.startsWith("java.") || c.startsWith("jdk.")
			|| c.startsWith("org.ukthreads.pico.");
	}
}
