// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.gradle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Builds and runs a project with the Gradle of the PATH and checks when
 * it is translated again.
 */
final class PluginTest {
	@TempDir
	Path dir;

	private Path project;

	private static String gradle() {
		return Arrays.stream(System.getenv("PATH").split(File.pathSeparator))
			.map(p -> p + "/gradle")
			.filter(p -> Files.isExecutable(Paths.get(p))).findFirst().orElse(null);
	}

	/** The entries of the class path whose paths match. */
	private static String path(String names) {
		return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter(p -> p.matches(".*(" + names + ").*") && !p.endsWith("test-classes"))
			.collect(Collectors.joining(File.pathSeparator));
	}

	@BeforeEach
	void copy() throws Exception {
		project = dir.resolve("project");
		Path from = Paths.get("src/test/project");
		try (Stream<Path> s = Files.walk(from)) {
			for (Path p : (Iterable<Path>) s.filter(Files::isRegularFile)::iterator) {
				Path to = project.resolve(from.relativize(p).toString());
				Files.createDirectories(to.getParent());
				Files.copy(p, to);
			}
		}
	}

	private String gradle(String... tasks) throws Exception {
		String gradle = gradle();
		assumeTrue(gradle != null, "no Gradle");
		List<String> c = new ArrayList<>(List.of(gradle, "--offline", "--no-daemon",
			"--console=plain", "--stacktrace", "-g", dir.resolve("home").toString(),
			"-Pplugin=" + path("pico-gradle.target|/pico-(translate|rt)|/asm-"),
			"-Plibraries=" + path("/pico-(rt|juc)")));
		c.addAll(List.of(tasks));
		Path out = dir.resolve("out");
		int rc = new ProcessBuilder(c).directory(project.toFile()).redirectErrorStream(true)
			.redirectOutput(out.toFile()).start().waitFor();
		String said = Files.readString(out);
		assertEquals(0, rc, said);
		return said;
	}

	@Test
	void what_a_project_compiles_is_translated_and_runs() throws Exception {
		String first = gradle("run");
		assertTrue(first.contains("42 on a PicoThread\n"), first);
		assertTrue(Files.exists(project.resolve("build/classes/java/main/demo/Main$$Pico.class")));
		String second = gradle("run");
		assertTrue(second.contains("42 on a PicoThread\n"), second);
		assertTrue(second.contains(":compileJava UP-TO-DATE"), second);
		Path main = project.resolve("src/main/java/demo/Main.java");
		Files.writeString(main, Files.readString(main).replace("k * 6", "k * 7"));
		String third = gradle("run");
		assertTrue(third.contains("49 on a PicoThread\n"), third);
		assertFalse(third.contains(":compileJava UP-TO-DATE"), third);
		/* Another setting in pico {}: the project is compiled and translated again. */
		Path build = project.resolve("build.gradle");
		Files.writeString(build, Files.readString(build).replace("demo.made", "demo.other"));
		assertFalse(gradle("run").contains(":compileJava UP-TO-DATE"));
	}
}
