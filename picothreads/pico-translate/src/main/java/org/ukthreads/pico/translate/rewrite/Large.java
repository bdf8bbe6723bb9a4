package org.ukthreads.pico.translate.rewrite;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Methods that came out over the 64 KB of a method. A resume copy is cut into 4, 16 or 32
 * parts by entry (each part loses what it cannot reach); a body that is too large with
 * its handlers, or a copy that parts do not help, runs pinned. The translation is run
 * again after each finding; there are few such methods.
 */
public final class Large {
	private static final int MAX_PARTS = 32;
	private final Map<String, Integer> parts = new HashMap<>();
	private final Set<String> refused = new HashSet<>();
	/** Resume method to the method it resumes. */
	private final Map<String, String> resumes = new HashMap<>();

	int parts(String method) {
		return parts.getOrDefault(method, 1);
	}

	/** Has it come out too large in any way? */
	public boolean isLarge(String method) {
		return refused(method) || parts(method) > 1;
	}

	public boolean refused(String method) {
		return refused.contains(method);
	}

	void resumes(String resumer, String method) {
		resumes.put(resumer, method);
	}

	/** A method of the output is too large. */
	public void found(String owner, String name, String desc) {
		String of = desc.equals(Companion.RESUME_DESC) ? resumes.get(owner + '.' + name) : null;
		if (of == null)
			refused.add(owner + '.' + name + desc);
		else if (parts(of) >= MAX_PARTS)
			refused.add(of);
		else
			parts.put(of, Math.min(MAX_PARTS, parts(of) * 4));
	}
}
