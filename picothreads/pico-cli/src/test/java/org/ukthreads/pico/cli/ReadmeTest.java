// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The programs in README.md do what it says of them. */
final class ReadmeTest {
	@TempDir
	Path dir;

	@BeforeEach
	void compile() throws Exception {
		Matcher m = Pattern.compile("```java\n(.*?public class (\\w+).*?)```", Pattern.DOTALL)
			.matcher(Files.readString(Paths.get("../README.md")));
		while (m.find())
			Harness.compile(dir, m.group(2), m.group(1));
	}

	private Process pico(String... words) throws Exception {
		List<String> c = new ArrayList<>(Harness.java());
		c.addAll(List.of("-Dpico.progress=false", "-cp", System.getProperty("java.class.path"),
			Main.class.getName()));
		c.addAll(List.of(words));
		ProcessBuilder b = new ProcessBuilder(c).directory(dir.toFile()).redirectErrorStream(true);
		b.environment().put("PICO_CACHE", "off");
		return b.start();
	}

	private static String first(BufferedReader out, String line) throws Exception {
		for (String s; (s = out.readLine()) != null;)
			if (s.startsWith(line))
				return s;
		return null;
	}

	@Test
	void a_thread_outlives_its_process() throws Exception {
		Process p = pico("run", "-cp", ".", "Days");
		assertEquals("day 3", first(p.inputReader(), "day 3"));
		p.destroyForcibly().waitFor();
		p = pico("run", "-cp", ".", "Days");
		/* Day 3 is printed again if its wait had not been stored. */
		String next = first(p.inputReader(), "day ");
		assertTrue(next.equals("day 3") || next.equals("day 4"), next);
		assertEquals("day 5", first(p.inputReader(), "day 5"));
		assertEquals(0, p.waitFor());
	}

	@Test
	void a_thread_can_be_copied() throws Exception {
		Process p = pico("run", "-cp", ".", "Paths");
		String out = new String(p.getInputStream().readAllBytes());
		assertEquals("LLL LLR LRL LRR RLL RLR RRL RRR ", out.replace('\n', ' '));
		assertEquals(0, p.waitFor());
	}

	@Test
	void a_schedule_can_be_repeated() throws Exception {
		Process p = pico("sim", "-cp", ".", "Race");
		String again = first(p.inputReader(), "again: pico sim ");
		assertEquals(1, p.waitFor());
		String token = again.replaceAll(".*--replay (\\S+) Race", "$1");
		assertTrue(Files.readString(Paths.get("../README.md")).contains(token), again);
		p = pico("sim", "-cp", ".", "--replay", token, "Race");
		assertTrue(first(p.inputReader(), "java.lang.AssertionError: money -40") != null);
		assertEquals(1, p.waitFor());
	}
}
