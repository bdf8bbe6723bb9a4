// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

/** Where a thread stands, for people: its name and the innermost line that is not ours. */
final class Story {
	private Story() {}

	/** running: it is the caller. */
	static String of(Task t, boolean running) {
		Thread th = t.fiber.asThread();
		StackTraceElement[] st = running ? new Throwable().getStackTrace()
			: th.getStackTrace();
		String at = running ? "" : t.fiber.isDone() ? " (ended)" : " (waits)";
		for (StackTraceElement e : st)
			if (!isOurs(e.getClassName()))
				return '"' + th.getName() + "\" at " + e + at;
		return '"' + th.getName() + '"' + at;
	}

	private static boolean isOurs(String c) {
		return c.startsWith("java.") || c.startsWith("jdk.")
			|| c.startsWith("org.ukthreads.pico.");
	}
}
