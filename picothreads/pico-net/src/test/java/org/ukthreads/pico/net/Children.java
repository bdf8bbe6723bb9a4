// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/** Runs fixtures in JVMs of their own, also of other JDKs. They are translated here. */
final class Children {
	private Children() {}

	private static List<Path> path(String matching) {
		return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter(p -> p.matches(matching) && !p.contains("test-classes")).map(Paths::get)
			.collect(Collectors.toList());
	}

	/** Compiles the sources for Java 11, the oldest version on which they must run. */
	static Path compiled(Path to, Class<?>... fixtures) throws Exception {
		JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
		List<String> words = new ArrayList<>(List.of("--release", "11", "-nowarn", "-d",
			to.toString()));
		for (Class<?> c : fixtures)
			words.add("src/test/java/" + c.getName().replace('.', '/') + ".java");
		if (javac.run(null, null, null, words.toArray(new String[0])) != 0)
			throw new IllegalStateException("javac failed: " + words);
		return to;
	}

	static Path translated(Path from, Path to) throws Exception {
		Map<String, byte[]> classes = Translator.of(new ClassPath(List.of(from)),
			new ClassPath(path(".*pico-(rt|juc|net)[/-].*")), new Translator.Options()).run();
		for (Map.Entry<String, byte[]> e : classes.entrySet()) {
			Path f = to.resolve(e.getKey() + ".class");
			Files.createDirectories(f.getParent());
			Files.write(f, e.getValue());
		}
		return to;
	}

	/** Returns what Boot prints on that JDK. */
	static String run(Path home, Path classes, List<String> jvm, String... args)
			throws Exception {
		List<String> c = new ArrayList<>(List.of(home.resolve("bin/java").toString(),
			"-Xverify:all", "-XX:-PrintWarnings", "-Xmx512m", "-cp", classes
			+ File.pathSeparator + path(".*(pico-(rt|juc|net)[/-]|dnsjava|slf4j).*").stream()
			.map(Path::toString).collect(Collectors.joining(File.pathSeparator))));
		c.addAll(jvm);
		c.add("org.ukthreads.fixtures.Boot");
		c.addAll(List.of(args));
		Path out = Files.createTempFile("pico-net", ".out");
		Path err = Files.createTempFile("pico-net", ".err");
		try {
			Process p = new ProcessBuilder(c).redirectError(err.toFile())
				.redirectOutput(out.toFile()).start();
			boolean ended = p.waitFor(600, TimeUnit.SECONDS);
			if (!ended)
				p.destroyForcibly().waitFor();
			String s = Files.readString(out);
			if (!ended || p.exitValue() != 0)
				throw new IllegalStateException((ended ? "exit " + p.exitValue() : "timed out")
					+ ": " + String.join(" ", c) + "\n" + s + Files.readString(err));
			return s;
		} finally {
			Files.delete(out);
			Files.delete(err);
		}
	}

	/** Returns all JDKs, or with -Dpico.turn=N one of them. */
	static List<Path> homes() throws Exception {
		List<Path> l = all();
		Integer turn = Integer.getInteger("pico.turn");
		return turn == null ? l : List.of(l.get(turn % l.size()));
	}

	/** Returns this JDK, those of -Dpico.jdks=HOME:HOME..., and those in /usr/lib/jvm. */
	static List<Path> all() throws Exception {
		List<Path> l = new ArrayList<>();
		l.add(Paths.get(System.getProperty("java.home")));
		for (String h : System.getProperty("pico.jdks", "").split(File.pathSeparator))
			if (!h.isEmpty())
				l.add(Paths.get(h));
		if (Files.isDirectory(Paths.get("/usr/lib/jvm")))
			try (Stream<Path> s = Files.list(Paths.get("/usr/lib/jvm"))) {
				s.filter(p -> !Files.isSymbolicLink(p)).forEach(l::add);
			}
		l.removeIf(p -> !Files.isExecutable(p.resolve("bin/java")));
		List<Path> real = new ArrayList<>();
		for (Path p : l)
			if (!real.contains(p.toRealPath()))
				real.add(p.toRealPath());
		return real;
	}
}
