// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Methods that came out over the 64 KB of a method. A resume copy is cut into 4, 16 or 32
 * parts by entry (each part loses what it cannot reach); a body that is too large with
 * its handlers, or a copy that parts do not help, runs pinned. A constructor or static
 * initialiser that leaves no room for that, either, stays bare. The translation is run again
 * after each finding; there are few such methods. Classes are written by many threads; what is
 * found of a method is asked for by who writes its class.
 */
public final class Large {
	private static final int MAX_PARTS = 32;
	private final Map<String, Integer> parts = new HashMap<>();
	private final Set<String> refused = new HashSet<>();
	private final Set<String> bare = new HashSet<>();
	/** Classes with a method that has no room for longer instructions, either. */
	private final Set<String> full = new HashSet<>();
	/** Resume method to the method it resumes. */
	private final Map<String, String> resumes = new HashMap<>();

	synchronized int parts(String method) {
		return parts.getOrDefault(method, 1);
	}

	synchronized void parts(String method, int n) {
		parts.put(method, n);
	}

	/** Has it come out too large in any way? */
	public synchronized boolean isLarge(String method) {
		return refused(method) || parts(method) > 1;
	}

	public synchronized boolean refused(String method) {
		return refused.contains(method);
	}

	synchronized boolean bare(String method) {
		return bare.contains(method);
	}

	/** Must its constants keep their places? Another may need a longer instruction. */
	public synchronized boolean isFull(String owner) {
		return full.contains(owner);
	}

	synchronized void resumes(String resumer, String method) {
		resumes.put(resumer, method);
	}

	/** The next number of parts to try; 0: there is none. */
	static int more(int parts) {
		return parts >= MAX_PARTS ? 0 : Math.min(MAX_PARTS, parts * 4);
	}

	/** It cannot fit, which was seen in time: what else was found out stays true. */
	synchronized void refuse(String method) {
		refused.add(method);
	}

	/** A method of the output is too large; false: and was when nothing was done to it. */
	public synchronized boolean found(String owner, String name, String desc) {
		String of = desc.equals(Companion.RESUME_DESC) ? resumes.get(owner + '.' + name) : null;
		if (of != null && more(parts(of)) > 0) {
			parts.put(of, more(parts(of)));
			return true;
		}
		full.add(owner);
		String m = of != null ? of : owner + '.' + name + desc;
		return refused.add(m) || name.startsWith("<") && bare.add(m);
	}
}
