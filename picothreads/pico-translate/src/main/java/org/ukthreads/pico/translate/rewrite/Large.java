// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Methods that became larger than 64 KB. A resume copy is cut into 4, 16 or 32 parts by entry; each
 * part omits what it cannot reach. If parts do not help, or the body is too large with its
 * handlers, the method runs pinned. A constructor or static initialiser that is too large for that,
 * too, stays bare. After each finding the translation runs again; there are few such methods. Many
 * threads write classes, and each asks only about methods of the class that it writes.
 */
public final class Large {
	private static final int MAX_PARTS = 32;
	private final Map<String, Integer> parts = new HashMap<>();
	private final Set<String> refused = new HashSet<>();
	private final Set<String> bare = new HashSet<>();
	/** Classes with a method that is also too large for longer instructions. */
	private final Set<String> full = new HashSet<>();
	/** Resume method to the method that it resumes. */
	private final Map<String, String> resumes = new HashMap<>();

	synchronized int parts(String method) {
		return parts.getOrDefault(method, 1);
	}

	synchronized void parts(String method, int n) {
		parts.put(method, n);
	}

	/** True if it became too large in any way. */
	public synchronized boolean isLarge(String method) {
		return refused(method) || parts(method) > 1;
	}

	public synchronized boolean refused(String method) {
		return refused.contains(method);
	}

	synchronized boolean bare(String method) {
		return bare.contains(method);
	}

	/** True if its constants must keep their places: another may need a longer instruction. */
	public synchronized boolean isFull(String owner) {
		return full.contains(owner);
	}

	synchronized void resumes(String resumer, String method) {
		resumes.put(resumer, method);
	}

	/** The next number of parts to try; 0 if there is none. */
	static int more(int parts) {
		return parts >= MAX_PARTS ? 0 : Math.min(MAX_PARTS, parts * 4);
	}

	/** Records that the method cannot fit; this needs no other pass. */
	synchronized void refuse(String method) {
		refused.add(method);
	}

	/** A method of the output is too large. False: it was already when it was left unchanged. */
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
