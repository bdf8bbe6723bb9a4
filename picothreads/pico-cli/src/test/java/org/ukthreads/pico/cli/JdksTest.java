// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the same Java 8 programs on every JDK that is found: those of -Dpico.jdks=HOME:HOME..., and
 * those in /usr/lib/jvm. The tests are skipped, with a message, if there is no other JDK. With
 * -Dpico.turn=N, the long tests run on one of them only.
 */
final class JdksTest {
	@TempDir
	Path dir;

	private static List<Path> javas() throws Exception {
		return javas(true);
	}

	/** The tool runs on Java 9 and later, which have modules. */
	private static List<Path> javas(boolean modular) throws Exception {
		List<Path> l = new ArrayList<>();
		for (String h : System.getProperty("pico.jdks", "").split(File.pathSeparator))
			if (!h.isEmpty())
				l.add(Paths.get(h));
		if (Files.isDirectory(Paths.get("/usr/lib/jvm")))
			try (Stream<Path> s = Files.list(Paths.get("/usr/lib/jvm"))) {
				s.filter(p -> !Files.isSymbolicLink(p)).forEach(l::add);
			}
		return l.stream().filter(p -> modular == Files.exists(p.resolve("lib/modules")))
			.map(p -> p.resolve("bin/java")).filter(Files::isExecutable)
			.collect(Collectors.toList());
	}

	private static List<Path> turn(List<Path> javas) {
		Integer turn = Integer.getInteger("pico.turn");
		return turn == null ? javas : List.of(javas.get(turn % javas.size()));
	}

	/** The tool needs Java 11. The translated classes and the libraries need Java 8. */
	@Test
	void what_was_translated_ahead_of_time_runs_on_java_8() throws Exception {
		List<Path> javas = javas(false);
		assumeTrue(!javas.isEmpty(), "no JDK 8: set -Dpico.jdks");
		Path src = Paths.get("src/test/java/org/ukthreads/fixtures");
		String libraries = Arrays.stream(System.getProperty("java.class.path")
			.split(File.pathSeparator)).filter(p -> p.matches(".*pico-(rt|juc|net)[/-].*"))
			.map(p -> Paths.get(p).toAbsolutePath().toString())
			.collect(Collectors.joining(File.pathSeparator));
		for (String name : new String[] {"Constructs", "Concurrency", "Making",
				"Synchronizers"}) {
			Path out = Files.createDirectories(dir.resolve(name));
			String text = new String(Files.readAllBytes(src.resolve(name + ".java")), "UTF-8");
			Harness.compile(out, name, text, "--release", "8");
			Path made = dir.resolve(name + "-pico");
			Main.main(new String[] {"translate", out.toString(), "-o", made.toString()});
			String main = "org.ukthreads.fixtures." + name;
			for (Path java : javas)
				assertEquals(sorted(started(java, "-cp", out.toString(), main)),
					sorted(started(java, "-Xverify:all", "-cp", made
						+ File.pathSeparator + libraries, main)), java + " " + name);
		}
	}

	@Test
	@Tag("long")
	void java_8_programs_print_the_same_on_every_jdk() throws Exception {
		List<Path> javas = javas();
		assumeTrue(javas.size() > 1, "no other JDK: set -Dpico.jdks");
		Path src = Paths.get("src/test/java/org/ukthreads/fixtures");
		for (String name : new String[] {"Constructs", "Concurrency", "Making",
				"Synchronizers"}) {
			Path out = Files.createDirectories(dir.resolve(name));
			String text = new String(Files.readAllBytes(src.resolve(name + ".java")), "UTF-8");
			Harness.compile(out, name, text, "--release", "8");
			String main = "org.ukthreads.fixtures." + name;
			String want = sorted(Harness.plain(out, main));
			for (Path java : turn(javas)) {
				assertEquals(want, sorted(run(java, out, main)), java + " " + name);
				assertEquals(want, sorted(run(java, out, main, "-Dpico.crowd=-1",
					"-Dpico.chaos=3")),
					java + " " + name + ", all frames packed");
			}
		}
	}

	/** Thread.Builder, Thread.join(Duration), hooks, and the exit code of a main that throws. */
	@Test
	@Tag("long")
	void java_21_programs_print_the_same() throws Exception {
		for (Path java : compilers("2[1-9]|[3-9]\\d")) {
			Path out = compiled(java, "Hooks");
			String want = sorted(plain(java, out, "Hooks", 1));
			String got = run(java, out, "Hooks");
			int end = got.indexOf("Exception in thread \"main\" java.lang.IllegalStateException");
			assertTrue(end > 0, got);
			assertEquals(want, sorted(got.substring(0, end)));
			assertTrue(got.substring(0, end).endsWith("slow end\nhook\n"), got);
		}
	}

	/** A class without a name, and an instance main that suspends. */
	@Test
	void java_25_programs_print_the_same() throws Exception {
		for (Path java : compilers("2[5-9]|[3-9]\\d")) {
			Path out = compiled(java, "Compact");
			assertEquals(plain(java, out, "Compact", 0), run(java, out, "Compact"));
		}
	}

	/** The JDKs of such a version that have a compiler. Without any, the test is skipped. */
	private static List<Path> compilers(String version) throws Exception {
		List<Path> l = new ArrayList<>();
		for (Path java : javas())
			if (Files.isExecutable(java.resolveSibling("javac"))
					&& Files.readString(java.getParent().resolveSibling("release"))
						.matches("(?s).*JAVA_VERSION=\"(" + version + ").*"))
				l.add(java);
		assumeTrue(!l.isEmpty(), "no such JDK: set -Dpico.jdks");
		return l;
	}

	private Path compiled(Path java, String name) throws Exception {
		Path out = Files.createTempDirectory(dir, "later");
		assertEquals(0, new ProcessBuilder(java.resolveSibling("javac").toString(), "-d",
			out.toString(), "src/test/resources/later/" + name + ".java").start().waitFor());
		return out;
	}

	private String plain(Path java, Path classes, String main, int exit) throws Exception {
		Path out = dir.resolve("plain");
		assertEquals(exit, new ProcessBuilder(java.toString(), "-cp", classes.toString(), main)
			.redirectOutput(out.toFile()).start().waitFor());
		return Files.readString(out);
	}

	private static String sorted(String s) {
		return Arrays.stream(s.split("\n")).sorted().collect(Collectors.joining("\n"));
	}

	private String run(Path java, Path classes, String main, String... options)
			throws Exception {
		List<String> c = new ArrayList<>(List.of("-Xverify:all",
			"-Dpico.progress=false"));
		c.addAll(List.of(options));
		c.addAll(List.of("-cp", System.getProperty("java.class.path"),
			"org.ukthreads.pico.cli.Main", "run", "-cp", classes.toString(), main));
		return started(java, c.toArray(new String[0]));
	}

	/** Returns what it prints, and also its stderr if it fails. */
	private String started(Path java, String... args) throws Exception {
		Path out = dir.resolve("out");
		List<String> c = new ArrayList<>(List.of(java.toString()));
		c.addAll(List.of(args));
		Process p = new ProcessBuilder(c).redirectOutput(out.toFile())
			.redirectError(dir.resolve("err").toFile()).start();
		if (!p.waitFor(600, TimeUnit.SECONDS)) {
			p.destroyForcibly();
			throw new AssertionError(java + " hangs");
		}
		return new String(Files.readAllBytes(out), "UTF-8")
			+ (p.exitValue() == 0 ? "" : new String(Files.readAllBytes(dir.resolve("err"))));
	}
}
