// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.durable.Moves;

/** Moves a thread from each JDK to each other one. The first process is killed in a sleep. */
final class MovesTest {
	@TempDir
	Path dir;

	private static String text(Path p) throws Exception {
		return new String(Files.readAllBytes(p), StandardCharsets.ISO_8859_1);
	}

	/** It also changes to a build whose methods suspend by throws instead of returns, or back. */
	@Test
	@Tag("long")
	@Timeout(600)
	@Tag("1/2")
	void resumes_on_another_jdk() throws Exception {
		Path in = Files.createDirectories(dir.resolve("in"));
		/* Compiled for JDK 8, because the tests' own class files are too new for JDK 11. */
		assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-g",
			"--release", "8", "-nowarn", "-cp", System.getProperty("java.class.path"),
			"-d", in.toString(), "src/test/java/" + Moves.class.getName().replace('.', '/')
			+ ".java"));
		Path[] builds = {Children.translated(in, dir.resolve("returns"), "all"),
			Children.translated(in, dir.resolve("throws"), "none")};
		List<Path> homes = Children.homes();
		if (homes.isEmpty())
			homes = List.of(Children.home());
		String whole = null;
		int n = 0;
		for (Path from : homes)
			for (Path to : homes) {
				if (homes.size() > 1 && from.equals(to))
					continue;
				Path work = Files.createDirectories(dir.resolve("work" + n++));
				Path out = work.resolve("out");
				Process p = Children.run(from, builds[n % 2], out, Moves.class.getName(),
					work.toString(), "asleep");
				Path record = work.resolve("store").resolve("t%2Ftrip.pico");
				/* It is stored at its start, and again in its sleep, with frames of down(). */
				while (!Files.exists(record) || !text(record).contains("down"))
					if (p.waitFor(5, TimeUnit.MILLISECONDS))
						fail(from + " ended: " + text(out));
				p.destroyForcibly().waitFor();
				Path out2 = work.resolve("out2");
				p = Children.run(to, builds[(n + 1) % 2], out2, Moves.class.getName(),
					work.toString());
				p.waitFor();
				assertEquals("before\n", Files.readString(out));
				String s = Files.readString(out2);
				assertEquals("after\ndepth 11 true-58364-3001.53.141592653589793"
					+ "-9223372036854775808 truetruetruetruetrue212.502024-02-29"
					+ "3truetrue7true\n", s);
				assertTrue(whole == null || whole.equals(s));
				whole = s;
				System.out.println(from.getFileName() + " -> " + to.getFileName() + ": ok, "
					+ n);
			}
	}
}
