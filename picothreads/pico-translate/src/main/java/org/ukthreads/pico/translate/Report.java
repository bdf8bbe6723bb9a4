// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.objectweb.asm.tree.MethodInsnNode;
import org.ukthreads.pico.translate.read.CodeSizes;

/** What was translated, what pins and why, and how the size grew. */
public final class Report {
	private final Set<String> translated = new LinkedHashSet<>();
	private final Set<String> twins = new LinkedHashSet<>();
	private final Map<String, Set<String>> pins = new TreeMap<>();
	private final Set<String> refused = new LinkedHashSet<>();
	private final Map<String, Integer> huge = new TreeMap<>();
	private final Map<String, String> because = new LinkedHashMap<>();
	int classes;
	int changed;
	int added;
	int methods;
	long before;
	long after;

	void add(Report r) {
		translated.addAll(r.translated);
		twins.addAll(r.twins);
		r.pins.forEach((why, l) -> pins.computeIfAbsent(why, k -> new LinkedHashSet<>())
			.addAll(l));
		refused.addAll(r.refused);
		huge.putAll(r.huge);
		changed += r.changed;
		added += r.added;
		after += r.after;
	}

	public void translated(String owner, String key) {
		translated.add(owner + '.' + key);
	}

	/** The method has a twin. */
	public void twin(String owner, String key) {
		twins.add(owner + '.' + key);
	}

	public void pin(String owner, String method, MethodInsnNode call, String why) {
		pins.computeIfAbsent(why, k -> new LinkedHashSet<>())
			.add(owner + (method.isEmpty() ? "" : "." + method) + " -> " + call.owner + '.'
				+ call.name + call.desc);
	}

	/**
	 * The method counts its entry, because untranslated code may call it: a wait below that pins.
	 */
	public void entered(String method) {
		pins.computeIfAbsent("where untranslated code calls them", k -> new LinkedHashSet<>())
			.add(method);
	}

	public void refused(String method, String why) {
		refused.add(method + ": " + why);
	}

	void cut(String budget) {
		cut = budget;
	}

	/** The budget that the analysis exceeded; null if it was completed. */
	public String cut() {
		return cut;
	}

	private String cut;

	void huge(String method, int bytes) {
		huge.put(method, bytes);
	}

	void because(String method, String callee) {
		because.put(method, callee);
	}

	public Set<String> translated() {
		return translated;
	}

	public Set<String> twins() {
		return twins;
	}

	public Set<String> refused() {
		return refused;
	}

	public Map<String, Set<String>> pins() {
		return pins;
	}

	/** Methods that the JIT does not compile because of the translation, and their sizes. */
	public Map<String, Integer> huge() {
		return huge;
	}

	public long sizeBefore() {
		return before;
	}

	public long sizeAfter() {
		return after;
	}

	/** The whole report as text. */
	public String text(boolean details) {
		StringBuilder b = new StringBuilder();
		b.append(String.format("classes: %d, rewritten %d, added %d%n", classes, changed,
			added));
		b.append(String.format("methods: %d, may suspend %d (%.0f %%)%n", methods,
			translated.size(), 100.0 * translated.size() / Math.max(1, methods)));
		b.append(String.format("suspend by returning: %d%n", twins.size()));
		if (details)
			twins.forEach(t -> b.append("  ").append(t).append('\n'));
		b.append(String.format("size: %,d to %,d bytes (x%.2f)%n", before, after,
			(double) after / Math.max(1, before)));
		for (Map.Entry<String, Set<String>> e : pins.entrySet()) {
			b.append(String.format("pins: %d, %s%n", e.getValue().size(), e.getKey()));
			if (details)
				e.getValue().forEach(p -> b.append("  ").append(p).append('\n'));
		}
		if (!huge.isEmpty())
			b.append(String.format("too large for the JIT now: %d (over %d bytes;"
				+ " -XX:-DontCompileHugeMethods compiles them)%n", huge.size(), CodeSizes.HUGE));
		if (details)
			huge.forEach((m, n) -> b.append("  ").append(m).append(", ").append(n).append('\n'));
		if (cut != null)
			b.append("receivers not analysed, because that takes more than ")
				.append(cut).append(": each may be of any class that fits its type\n");
		for (String r : refused)
			b.append("refused: ").append(r).append('\n');
		if (details) {
			b.append("methods that may suspend, each with the call that makes it so:\n");
			because.forEach((m, c) -> b.append("  ").append(m).append(" <- ").append(c)
				.append('\n'));
		}
		return b.toString();
	}
}
