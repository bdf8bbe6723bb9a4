// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * The published tests of libraries have the same outcome, test by test, on the original and on its
 * translation: undisturbed, with forced suspensions, and with each suspension followed by a load of
 * what was saved.
 *
 * <p>-Dpico.oracle=full (all) or none; -Dpico.oracle.only=LIBRARY,LIBRARY/CLASSES (a pattern);
 * -Dpico.oracle.modes=pico,chaos; -Dpico.turn=N: one of the modes.
 */
final class OracleTest {
	private static final Path WORK = Paths.get("target/oracle").toAbsolutePath();
	private static final long SEED = 20260101;
	/** One method entry in this many suspends. */
	private static final int EVERY = 7;

	private static final List<String> MODES = modes(System.getProperty("pico.oracle.modes",
		"pico,chaos,reload").split(","), Integer.getInteger("pico.turn"));

	private static List<String> modes(String[] all, Integer turn) {
		return turn == null ? List.of(all) : List.of(all[turn % all.length]);
	}

	private static Map<String, String> libraries() {
		Map<String, String> m = new LinkedHashMap<>();
		switch (System.getProperty("pico.oracle", "sample")) {
		case "none":
			return m;
		case "full":
			for (String s : new String[] {"commons-lang3", "commons-codec", "commons-text",
					"commons-csv", "commons-io", "commons-compress", "commons-math3",
					"commons-collections4"})
				m.put(s, ".*");
			break;
		default:
			m.put("commons-codec", ".*\\.(binary|net|language)\\.[^.]*");
		}
		String only = System.getProperty("pico.oracle.only");
		if (only == null)
			return m;
		String[] part = only.split("/", 2);
		m.keySet().retainAll(List.of(part[0].split(",")));
		if (part.length > 1)
			m.replaceAll((k, v) -> part[1]);
		return m;
	}

	@TestFactory
	Stream<DynamicTest> same_outcome_translated() {
		List<DynamicTest> tests = new ArrayList<>();
		libraries().forEach((name, classes) -> {
			Library l = new Library(name, classes);
			for (String mode : MODES)
				tests.add(DynamicTest.dynamicTest(name + " " + mode, () -> l.run(mode)));
		});
		return tests.stream();
	}

	/** Its modes run one after the other. */
	private static final class Library {
		private final String name;
		private final String classes;
		private Oracle oracle;
		private Oracle.Run plain;

		Library(String name, String classes) {
			this.name = name;
			this.classes = classes;
		}

		void run(String mode) throws Exception {
			if (oracle == null)
				oracle = new Oracle(name, classes, WORK);
			if (plain == null)
				plain = oracle.run("plain", 0, 0, null);
			parity(name, oracle, plain, mode);
		}
	}

	private static void parity(String name, Oracle o, Oracle.Run plain, String mode)
			throws Exception {
		int every = mode.equals("pico") ? 0 : EVERY;
		long start = System.nanoTime();
		Oracle.Run run = o.run(mode, every, SEED, null);
		Map<String, String> bad = Oracle.differences(plain, run);
		List<String> second = new ArrayList<>();
		List<String> known = new ArrayList<>();
		Map<String, String> expected = expected();
		String at = name + " " + mode + " ";
		bad.keySet().removeIf(id -> expected.entrySet().stream().anyMatch(x ->
			x.getKey().startsWith(at) && id.contains(x.getKey().substring(at.length()))
				&& known.add(id + ": " + x.getValue()))
			|| mode.equals("reload") && onlyHashes(run.tests.get(id))
				&& known.add(id + ": " + HASHES));
		/* A test that failed because of timing passes alone, with the same seed. */
		if (!bad.isEmpty() && bad.size() < 100 && run.failure.isEmpty()) {
			List<String> ids = new ArrayList<>(bad.keySet());
			Oracle.Run again = o.run(mode, every, SEED, ids);
			Oracle.Run first = ids.stream().allMatch(id -> "ok".equals(plain.tests.get(id)))
				? plain : o.run("plain", 0, 0, ids);
			bad.keySet().removeIf(id -> first.tests.containsKey(id)
				&& !Oracle.differs(first, again, id) && second.add(id));
		}
		long ok = plain.tests.values().stream().filter("ok"::equals).count();
		long same = plain.tests.size() - bad.size() - known.size();
		StringBuilder line = new StringBuilder(String.format("oracle %s %s: %d tests (%d pass as "
			+ "published), %d alike, %d differ, %d known, %d of them alike at a second try; "
			+ "seed %d every %d, %s, growth x%.2f, %d s", name, mode, plain.tests.size(), ok,
			same, bad.size(), known.size(), second.size(), SEED, every, counts(run),
			(double) o.report(mode).sizeAfter() / o.report(mode).sizeBefore(),
			(System.nanoTime() - start) / 1_000_000_000));
		run.counts.entrySet().stream().filter(e -> e.getKey().startsWith(STAYS))
			.sorted((x, y) -> Long.compare(y.getValue(), x.getValue())).limit(25)
			.forEach(e -> line.append("\n  ").append(e.getKey()).append(", ")
				.append(e.getValue()).append(" times"));
		second.forEach(id -> line.append("\n  second try: ").append(id));
		known.forEach(k -> line.append("\n  known: ").append(k));
		System.out.println(line);
		TOTALS.merge(mode, new long[] {plain.tests.size(), same, bad.size()}, (x, y) ->
			new long[] {x[0] + y[0], x[1] + y[1], x[2] + y[2]});
		StringBuilder b = new StringBuilder();
		bad.forEach((id, s) -> b.append('\n').append(id).append("\n  ").append(
			s.length() > 3000 ? s.substring(0, 3000) : s));
		assertTrue(plain.failure.isEmpty(), () -> "the original: " + plain.failure);
		assertTrue(run.failure.isEmpty(), () -> run.failure + b);
		assertTrue(ok > 0, "no test passes as published");
		assertTrue(every == 0 || run.counts.get("suspensions") > 0, "nothing was suspended");
		assertTrue(bad.isEmpty(), () -> "seed " + SEED + " every " + every + b);
	}

	private static final String HASHES = "an identity hash that the test wrote into a string "
		+ "before a load; the copy has another";
	private static final Pattern EQUALS = Pattern.compile(
		".*?expected: <(.*)> but was: <(.*)>(\\\\n)?");

	/** True if assertEquals saw two strings that differ only in identity hashes. */
	private static boolean onlyHashes(String outcome) {
		Matcher m = EQUALS.matcher(outcome == null ? "" : outcome.split("\\\\n\\\\tat ")[0]);
		return m.matches() && m.group(1).replaceAll("@[0-9a-f]+", "@").equals(
			m.group(2).replaceAll("@[0-9a-f]+", "@"));
	}

	private static final String STAYS = "stays: ";
	/** Mode to: tests, alike, differ. */
	private static final Map<String, long[]> TOTALS = new ConcurrentSkipListMap<>();

	private static Map<String, Long> counts(Oracle.Run run) {
		Map<String, Long> m = new TreeMap<>(run.counts);
		m.keySet().removeIf(k -> k.startsWith(STAYS));
		return m;
	}

	@AfterAll
	static void totals() {
		StringBuilder b = new StringBuilder("oracle, all:");
		TOTALS.forEach((mode, n) -> b.append(String.format(" %s %d tests, %d alike, %d differ;",
			mode, n[0], n[1], n[2])));
		System.out.println(b.append(" seed ").append(SEED).append(" every ").append(EVERY));
	}

	/** "library mode part-of-the-id" to the reason for a different outcome. */
	private static Map<String, String> expected() throws Exception {
		Map<String, String> m = new LinkedHashMap<>();
		try (var in = OracleTest.class.getResourceAsStream("/known-differences")) {
			for (String s : new String(in.readAllBytes(), StandardCharsets.UTF_8)
					.split("\n"))
				if (!s.isBlank() && !s.startsWith("#"))
					m.put(s.substring(0, s.indexOf(" : ")).trim(),
						s.substring(s.indexOf(" : ") + 3).trim());
		}
		return m;
	}
}
