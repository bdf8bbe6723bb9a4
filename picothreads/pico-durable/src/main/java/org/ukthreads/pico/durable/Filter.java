// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.ukthreads.pico.NeverBlocks;

/*
 * Which classes a snapshot may name. The patterns are those of jdk.serialFilter; the first match
 * decides:
 *
 *   com.acme.Order   com.acme.*  (the package)   com.acme.**  (and below)   *  (all)
 *   !pattern         refused;   separated by ;   what matches nothing is refused
 *
 * It works the same on every JDK, because this module's decoder asks it, and so does the object
 * stream that reads classes with their own serial form.
 */
@NeverBlocks
public final class Filter {
	private final List<String> patterns = new ArrayList<>();
	private final ConcurrentHashMap<String, Boolean> known = new ConcurrentHashMap<>();

	/** Allows values of the JDK. Add your own patterns to it. */
	public static final String JDK = "java.lang.invoke.SerializedLambda;!java.lang.invoke.**;"
		+ "!java.lang.reflect.**;java.lang.*;java.math.*;java.time.**;java.util.*;"
		+ "java.util.concurrent.*;java.util.concurrent.atomic.*;java.util.concurrent.locks.*;!java.rmi.**;!sun.**;"
		+ "!com.sun.**;!javax.**;!java.**";

	/** Allows every Serializable class of the program. For stores that nobody else can write. */
	public static final Filter PROGRAM = new Filter(JDK + ";*");

	public Filter(String patterns) {
		for (String p : patterns.split(";"))
			if (!p.trim().isEmpty())
				this.patterns.add(p.trim());
	}

	public boolean allows(String name) {
		Boolean b = known.get(name);
		if (b == null) {
			b = decide(element(name));
			if (known.size() < 10_000)
				known.put(name, b);
		}
		return b;
	}

	/** Returns the innermost element type of an array's class name; other names as they are. */
	private static String element(String n) {
		int k = 0;
		while (k < n.length() && n.charAt(k) == '[')
			k++;
		if (k == 0)
			return n;
		return n.charAt(k) == 'L' ? n.substring(k + 1, n.length() - 1) : "java.lang.Object";
	}

	private boolean decide(String n) {
		for (String p : patterns) {
			boolean not = p.startsWith("!");
			if (matches(not ? p.substring(1) : p, n))
				return !not;
		}
		return false;
	}

	private static boolean matches(String p, String n) {
		if (p.endsWith(".**"))
			return n.startsWith(p.substring(0, p.length() - 2));
		if (p.endsWith(".*")) {
			String at = p.substring(0, p.length() - 1);
			return n.startsWith(at) && n.indexOf('.', at.length()) < 0;
		}
		if (p.endsWith("*"))
			return n.startsWith(p.substring(0, p.length() - 1));
		return p.equals(n);
	}

	void check(String name) {
		if (!allows(name))
			throw new DurableException("the filter refuses " + name);
	}
}
