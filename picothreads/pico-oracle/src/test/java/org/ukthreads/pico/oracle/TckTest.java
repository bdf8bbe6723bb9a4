// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * The translated JSR-166 TCK has the same outcome as the original on the same JDK: on this one, and
 * on those of -Dpico.jdks=HOME:HOME and /usr/lib/jvm that are 17 or 25. Tests that fail on the JDK
 * itself are ignored: these are the tests of 17, and 25 has another default executor.
 * -Dpico.tck=FOLDER has the sources (scripts/tck fetches them). A test that differs is run once
 * more, alone: many wait at most 10 s, and a busy machine takes longer. known-tck lists what cannot
 * be the same, with reasons; a line there that is alike is an error, too. With -Dpico.turn=N, one
 * quarter of the classes runs on one of the JDKs.
 */
final class TckTest {
	private static final Pattern VERSION = Pattern.compile("JAVA_VERSION=\"(17|25)[.\"].*");
	private static final String MAIN = "org.ukthreads.oracle.Tck";

	@TempDir
	static Path dir;

	private static final Integer TURN = Integer.getInteger("pico.turn");
	private static final int PARTS = TURN == null ? 1 : 4;

	private static Path plain;
	private static Path pico;

	@TestFactory
	Stream<DynamicTest> every_test_of_the_tck_comes_out_the_same() throws Exception {
		String tck = System.getProperty("pico.tck", "");
		assumeTrue(!tck.isEmpty(), "no TCK: -Dpico.tck=FOLDER, see scripts/tck");
		plain = program(Paths.get(tck));
		pico = Files.createDirectories(dir.resolve("pico"));
		Map<String, byte[]> all = Translator.of(new ClassPath(List.of(plain)),
			new ClassPath(path(".*pico-(rt|juc|net)[/-].*")), new Translator.Options()).run();
		for (Map.Entry<String, byte[]> e : all.entrySet()) {
			Path to = pico.resolve(e.getKey() + ".class");
			Files.createDirectories(to.getParent());
			Files.write(to, e.getValue());
		}
		List<Map.Entry<String, Path>> javas = new ArrayList<>(javas().entrySet());
		if (TURN == null)
			return javas.stream().map(e -> test(e, 0));
		return Stream.of(test(javas.get(TURN % javas.size()), TURN / javas.size() % PARTS));
	}

	private static DynamicTest test(Map.Entry<String, Path> java, int part) {
		return DynamicTest.dynamicTest("java " + java.getKey() + ", part " + (part + 1) + " of "
			+ PARTS, () -> same(java.getKey(), java.getValue(), part));
	}

	/** Version to bin/java. */
	private static Map<String, Path> javas() throws IOException {
		List<Path> homes = new ArrayList<>(List.of(Paths.get(System.getProperty("java.home"))));
		for (String h : System.getProperty("pico.jdks", "").split(File.pathSeparator))
			if (!h.isEmpty())
				homes.add(Paths.get(h));
		if (Files.isDirectory(Paths.get("/usr/lib/jvm")))
			try (Stream<Path> s = Files.list(Paths.get("/usr/lib/jvm"))) {
				s.forEach(homes::add);
			}
		Map<String, Path> m = new TreeMap<>();
		for (Path h : homes) {
			if (!Files.isExecutable(h.resolve("bin/java")) || !Files.exists(h.resolve("release")))
				continue;
			for (String l : Files.readAllLines(h.resolve("release"))) {
				java.util.regex.Matcher v = VERSION.matcher(l);
				if (v.matches())
					m.putIfAbsent(v.group(1), h.resolve("bin/java"));
			}
		}
		return m;
	}

	private static List<Path> path(String pattern) {
		return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter(p -> p.matches(pattern)).map(Paths::get).collect(Collectors.toList());
	}

	/** Makes one folder of classes: the TCK, its main class, and JUnit 4. */
	private static Path program(Path tck) throws Exception {
		Path out = Files.createDirectories(dir.resolve("plain"));
		for (Path jar : path(".*[/\\\\](junit-4|hamcrest).*\\.jar"))
			try (java.util.zip.ZipFile z = new java.util.zip.ZipFile(jar.toFile())) {
				for (java.util.zip.ZipEntry e : java.util.Collections.list(z.entries())) {
					if (!e.getName().endsWith(".class"))
						continue;
					Path to = out.resolve(e.getName());
					Files.createDirectories(to.getParent());
					try (java.io.InputStream in = z.getInputStream(e)) {
						Files.write(to, in.readAllBytes());
					}
				}
			}
		Path own = out.resolve(MAIN.replace('.', '/') + ".class");
		Files.createDirectories(own.getParent());
		try (java.io.InputStream in = TckTest.class.getResourceAsStream("/"
				+ MAIN.replace('.', '/') + ".class")) {
			Files.write(own, in.readAllBytes());
		}
		List<String> args = new ArrayList<>(List.of("-nowarn", "-proc:none", "-d",
			out.toString(), "-cp", out.toString()));
		try (Stream<Path> s = Files.list(tck)) {
			s.map(Path::toString).filter(p -> p.endsWith(".java")).forEach(args::add);
		}
		assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, new java.io.
			ByteArrayOutputStream(), new java.io.ByteArrayOutputStream(),
			args.toArray(new String[0])), "the TCK does not compile");
		return out;
	}

	private static void same(String version, Path java, int part) throws Exception {
		Map<String, String> want = run(java, false, ".*", part);
		Map<String, String> got = run(java, true, ".*", part);
		assertTrue(want.size() > (PARTS == 1 ? 3000 : 300), want.size() + " tests");
		Set<String> bad = differences(want, got);
		int again = 0;
		for (String id : List.copyOf(bad)) {
			String alone = Pattern.quote(id.replaceAll("#.*", "")) + "(#.*)?";
			if (known(version).contains(id))
				continue;
			if ("ok".equals(run(java, true, alone, part).get(id))) {
				bad.remove(id);
				again++;
			}
		}
		Set<String> known = known(version);
		if (PARTS > 1)
			known.retainAll(want.keySet());
		Set<String> alike = new LinkedHashSet<>(known);
		alike.removeAll(bad);
		bad.removeAll(known);
		long own = want.values().stream().filter(s -> !s.equals("ok")).count();
		System.err.println("tck on " + version + ": " + want.size() + " tests, "
			+ (want.size() - own - bad.size() - known.size()) + " alike (" + again
			+ " at a second try), " + known.size() + " known, " + own
			+ " fail on the JDK, " + bad.size() + " differ");
		StringBuilder b = new StringBuilder();
		for (String id : bad)
			b.append(id).append("\n  want ").append(want.get(id)).append("\n  got  ")
				.append(got.get(id)).append('\n');
		assertEquals("", b.toString());
		assertEquals(Set.of(), alike, "listed in known-tck, but alike");
	}

	private static Set<String> differences(Map<String, String> want, Map<String, String> got) {
		Set<String> s = new LinkedHashSet<>();
		for (String id : want.keySet())
			if (want.get(id).equals("ok") && !"ok".equals(got.get(id)))
				s.add(id);
		return s;
	}

	private static Set<String> known(String version) throws IOException {
		Set<String> s = new LinkedHashSet<>();
		for (String l : Files.readAllLines(Paths.get("src/test/resources/known-tck"))) {
			String[] w = l.split(" ", 3);
			if (!l.startsWith("#") && w.length == 3 && version.matches(w[0]))
				s.add(w[1]);
		}
		return s;
	}

	/** only: a pattern of names. */
	private static Map<String, String> run(Path java, boolean translated, String only, int part)
			throws Exception {
		Path out = dir.resolve("out");
		Files.deleteIfExists(out);
		List<String> c = new ArrayList<>(List.of(java.toString(), "-Xmx1g", "-cp"));
		if (translated) {
			StringBuilder cp = new StringBuilder(pico.toString());
			/* The translated classes come first. */
			for (Path p : path(".*pico-(rt|juc|net|oracle)[/-].*|.*dnsjava.*|.*slf4j-api.*"))
				cp.append(File.pathSeparatorChar).append(p);
			c.addAll(List.of(cp.toString(), "org.ukthreads.pico.oracle.Start"));
		} else {
			c.add(plain.toString());
		}
		c.addAll(List.of(MAIN, out.toString(), only, "" + part, "" + PARTS));
		Process p = new ProcessBuilder(c).redirectOutput(ProcessBuilder.Redirect.DISCARD)
			.redirectError(ProcessBuilder.Redirect.DISCARD).start();
		if (!p.waitFor(20, TimeUnit.MINUTES))
			p.destroyForcibly().waitFor();
		Map<String, String> m = new LinkedHashMap<>();
		for (String l : Files.readAllLines(out)) {
			String[] w = l.split("\t", 2);
			m.put(w[0], w.length > 1 && !w[1].isEmpty() ? w[1] : "hangs");
		}
		/* Without this line, the last line is the test that hangs. */
		m.remove("#end");
		return m;
	}
}
