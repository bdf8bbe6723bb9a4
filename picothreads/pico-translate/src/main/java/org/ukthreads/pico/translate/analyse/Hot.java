// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Which methods suspend so often that they get a twin:
 *
 *   direct     those that call a primitive themselves (the default); none if the program
 *              rewrites loaded classes
 *   FILE       these, and those that a profile (-Dpico.profile, `pico run --profile`)
 *              shows in one of a hundred suspensions
 *   all, none  mostly for tests
 */
public final class Hot {
	private static final int ONE_IN = 100;

	private enum Rule { NONE, DIRECT, ALL }

	private final Rule rule;
	private final Set<String> methods;

	private Hot(Rule rule, Set<String> methods) {
		this.rule = rule;
		this.methods = methods;
	}

	/** what: all, none, direct or a file, as for -Dpico.hot. */
	public static Hot of(String what) {
		switch (what) {
		case "all": return new Hot(Rule.ALL, Set.of());
		case "none": return new Hot(Rule.NONE, Set.of());
		case "direct": return new Hot(Rule.DIRECT, Set.of());
		default: return new Hot(Rule.DIRECT, read(Paths.get(what)));
		}
	}

	/**
	 * For a program that rewrites loaded classes: to its code a twin is a method of its own, so
	 * only methods of a profile have one.
	 */
	public Hot rewritten() {
		return rule == Rule.DIRECT ? new Hot(Rule.NONE, methods) : this;
	}

	private static Set<String> read(Path file) {
		List<String> lines;
		try {
			lines = Files.readAllLines(file, StandardCharsets.UTF_8);
		} catch (IOException e) {
			throw new IllegalArgumentException("cannot read the profile: " + e, e);
		}
		Set<String> s = new HashSet<>();
		long all = -1;
		for (String l : lines) {
			String[] w = l.split(" ");
			try {
				if (w.length == 2 && w[0].equals("suspensions") && all < 0)
					all = Long.parseLong(w[1]);
				else if (w.length != 4 || all < 0)
					throw new NumberFormatException();
				else if (Long.parseLong(w[0]) >= all / ONE_IN)
					s.add(w[1] + '.' + w[2] + w[3]);
			} catch (NumberFormatException e) {
				throw new IllegalArgumentException(file + ": not a profile: " + l, e);
			}
		}
		return s;
	}

	boolean is(String method, boolean callsPrimitive) {
		return rule == Rule.ALL || rule == Rule.DIRECT && callsPrimitive
			|| methods.contains(method);
	}
}
