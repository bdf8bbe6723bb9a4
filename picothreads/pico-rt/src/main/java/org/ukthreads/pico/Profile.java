// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Which methods suspend: with -Dpico.profile=FILE each frame that is pushed is counted
 * under its method, and the JVM writes FILE when it ends. The translator reads it
 * (`--hot`) and gives twins to those that suspend often.
 *
 *   suspensions N
 *   COUNT CLASS NAME DESCRIPTOR          most first
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

	/** A primitive unwinds. */
	static void suspension() {
		SUSPENSIONS.incrementAndGet();
	}

	/** m's frame was pushed, or m was passed. */
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
