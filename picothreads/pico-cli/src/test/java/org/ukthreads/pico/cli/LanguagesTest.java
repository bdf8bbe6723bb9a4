// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.Grid;

/**
 * Languages whose compilers run with the program, and a program on Hazelcast. Each prints the same
 * as under `java`.
 */
@Tag("long")
final class LanguagesTest {
	/** The limit for a hang: the first run translates the whole language. */
	private static final int MINUTES = 20;
	/** The languages' own jars, which are not part of the tool. */
	private static final String CLOJURE = ".*[/\\\\](clojure|spec\\.alpha|core\\.specs).*\\.jar";
	private static final String GROOVY = ".*[/\\\\]groovy.*\\.jar";
	private static final String JRUBY = ".*[/\\\\]jruby.*\\.jar";
	private static final String HAZELCAST = ".*[/\\\\]hazelcast.*\\.jar";
	/** What is said once for each class: see "Scheduling and locks" in the README. */
	private static final String UNLOCKED =
		"(?m)^pico: .* below code that is not translated; .*\n";

	@TempDir
	Path dir;

	/** Returns the part of the class path that matches. */
	private static String path(String jars) {
		return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter(p -> p.matches(jars))
			.map(p -> Paths.get(p).toAbsolutePath().toString())
			.collect(Collectors.joining(File.pathSeparator));
	}

	private String run(List<String> words) throws Exception {
		List<String> c = Harness.java();
		c.addAll(List.of("-Xmx1g", "-Dpico.progress=false"));
		c.addAll(words);
		Path out = dir.resolve("out");
		ProcessBuilder b = new ProcessBuilder(c).redirectErrorStream(true)
			.redirectOutput(out.toFile());
		b.environment().put("PICO_CACHE", dir.resolve("cache").toString());
		Process p = b.start();
		boolean ended = p.waitFor(MINUTES, TimeUnit.MINUTES);
		p.destroyForcibly();
		return Files.readString(out).replaceAll(UNLOCKED, "") + "exit " + (ended ? p.waitFor() : "never");
	}

	private static String program(String kind) {
		return Paths.get("src/test/resources/languages/program." + kind).toAbsolutePath()
			.toString();
	}

	private void same(String... program) throws Exception {
		String want = run(List.of(program));
		assertTrue(want.endsWith("\nend\nexit 0"), want);
		String ours = "(?!" + CLOJURE + '|' + GROOVY + '|' + JRUBY + '|' + HAZELCAST
			+ ").*";
		List<String> pico = new ArrayList<>(List.of(LoaderTest.DOOR, "-cp", path(ours),
			"org.ukthreads.pico.cli.Main", "run", "--wait", "ever"));
		pico.addAll(List.of(program));
		assertEquals(want, run(pico));
		assertEquals(want, run(pico), "from the cache");
	}

	@Test
	@Tag("1/3")
	void clojure() throws Exception {
		same("-cp", path(CLOJURE), "clojure.main", program("clj"));
	}

	@Test
	@Tag("2/3")
	void groovy() throws Exception {
		same("-cp", path(GROOVY), "groovy.ui.GroovyMain", program("groovy"));
	}

	@Test
	@Tag("3/3")
	void jruby() throws Exception {
		same("-jar", path(JRUBY), program("rb"));
	}

	@Test
	@Tag("3/3")
	void hazelcast() throws Exception {
		same("-cp", Harness.classes(dir.resolve("grid"), Grid.class) + File.pathSeparator
			+ path(HAZELCAST), Grid.class.getName());
	}
}
