// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Records which methods suspend. With -Dpico.profile=FILE each pushed frame is counted under
 * its method, and the JVM writes FILE when it ends. The translator reads it (`--hot`) and makes
 * twins of the methods that suspend often.
 *
 *   suspensions N
 *   COUNT CLASS NAME DESCRIPTOR          highest count first
 */
final class Profile {
	private static final String FILE = System.getProperty("pico.profile");
	static final boolean ON = FILE != null;
	private static final AtomicLong SUSPENSIONS = new AtomicLong();

	static {
		if (ON)
			Runtime.getRuntime().addShutdownHook(new Thread((ThreadGroup) null,
				Profile::write, "pico profile", 0));
	}

	private Profile() {}

	/** Counts a suspension. */
	static void suspension() {
		SUSPENSIONS.incrementAndGet();
	}

	/** Counts a frame of m that was pushed, or m that was passed. */
	static void pushed(MethodRef m) {
		m.suspended.incrementAndGet();
	}

	private static void write() {
		List<MethodRef> ms = new ArrayList<>();
		for (MethodRef m : Code.methods())
			if (m.suspended.get() > 0)
				ms.add(m);
		ms.sort((a, b) -> Long.compare(b.suspended.get(), a.suspended.get()));
		try (PrintWriter w = new PrintWriter(FILE, "UTF-8")) {
			w.println("suspensions " + SUSPENSIONS);
			for (MethodRef m : ms)
				w.println(m.suspended + " " + m.owner + ' ' + m.name + ' ' + m.desc);
		} catch (IOException e) {
			System.err.println("pico: no profile written: " + e);
		}
	}
}
