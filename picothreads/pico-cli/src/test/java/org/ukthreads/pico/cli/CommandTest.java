// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * How bin/pico builds its jar, with a mvn that writes a line to `builds` and the jar in two halves,
 * and a java that prints the jar.
 */
@Timeout(60)
class CommandTest {
	@TempDir
	Path dir;
	private final List<Process> started = new ArrayList<>();

	@BeforeEach
	void project() throws Exception {
		write("pom.xml", "");
		write("pico-rt/src/main/java/A.java", "");
		Files.setLastModifiedTime(dir.resolve("pom.xml"), FileTime.fromMillis(0));
		Files.setLastModifiedTime(dir.resolve("pico-rt/src/main/java/A.java"),
			FileTime.fromMillis(0));
		write("bin/pico", Files.readString(Path.of("../bin/pico")));
		script("jvm/bin/java", "while [ \"$1\" != -jar ]; do shift; done", "cat \"$2\"");
		/* With HOLD, mvn opens a pipe in the middle: the test sees that, and mvn waits for it. */
		script("tools/mvn", "jar=pico-cli/target/pico.jar", "for word; do",
			"	case $word in -Dpico.jar=*) jar=${word#*=} ;; esac", "done",
			"cd \"$PROJECT\" && mkdir -p pico-cli/target", "printf half >\"$jar\"", "echo >>builds",
			"[ -z \"$HOLD\" ] || read -r word <hold",
			"[ -z \"$BREAK\" ] || { seq 1000; echo '[ERROR] A.java does not compile'; exit 7; }",
			"printf whole >\"$jar\"", "printf 'no end of line'");
	}

	@AfterEach
	void end() {
		for (Process p : started)
			kill(p);
	}

	private static void kill(Process p) {
		List<ProcessHandle> all = p.descendants().toList();
		p.destroyForcibly();
		all.forEach(ProcessHandle::destroyForcibly);
	}

	private void write(String name, String text) throws Exception {
		Files.createDirectories(dir.resolve(name).getParent());
		Files.writeString(dir.resolve(name), text);
	}

	private void script(String name, String... lines) throws Exception {
		write(name, "#!/bin/sh\n" + String.join("\n", lines) + "\n");
		assertTrue(dir.resolve(name).toFile().setExecutable(true));
	}

	private ProcessBuilder command() {
		ProcessBuilder b = new ProcessBuilder("sh", dir.resolve("bin/pico").toString(), "version")
			.redirectErrorStream(true);
		b.environment().put("PATH", dir.resolve("tools") + ":" + System.getenv("PATH"));
		b.environment().put("JAVA_HOME", dir.resolve("jvm").toString());
		b.environment().put("PROJECT", dir.toString());
		b.environment().put("PICO_CACHE", "off");
		return b;
	}

	private Process start(String... variables) throws Exception {
		ProcessBuilder b = command();
		for (String variable : variables)
			b.environment().put(variable, "yes");
		Process p = b.start();
		started.add(p);
		return p;
	}

	private static List<String> output(Process p) throws Exception {
		return new String(p.getInputStream().readAllBytes()).lines().toList();
	}

	private String run() throws Exception {
		return String.join("\n", output(start()));
	}

	private long builds() throws Exception {
		return Files.readString(dir.resolve("builds")).lines().count();
	}

	private void pipe() throws Exception {
		assertEquals(0, new ProcessBuilder("mkfifo", dir.resolve("hold").toString()).start()
			.waitFor());
	}

	private void building() throws Exception {
		while (!Files.exists(dir.resolve("builds")))
			Thread.sleep(10);
	}

	private long time(String name) throws Exception {
		return Files.getLastModifiedTime(dir.resolve(name)).toMillis();
	}

	/** Waits until mvn has opened the pipe, and lets it go on. */
	private void release() throws Exception {
		Files.writeString(dir.resolve("hold"), "\n");
	}

	@Test
	void it_builds_when_the_sources_are_newer_than_the_jar() throws Exception {
		assertTrue(run().endsWith("whole"));
		assertEquals("whole", run());
		assertEquals(1, builds());
		Files.setLastModifiedTime(dir.resolve("pico-rt/src/main/java/A.java"),
			FileTime.fromMillis(System.currentTimeMillis() + 3_600_000));
		assertTrue(run().endsWith("whole"));
		assertEquals(2, builds());
	}

	/** An edit during a build may have come too late for it. */
	@Test
	void what_is_edited_during_a_build_is_built_again() throws Exception {
		pipe();
		Process p = start("HOLD");
		building();
		do
			write("pico-rt/src/main/java/A.java", "class A {}");
		while (time("pico-rt/src/main/java/A.java") <= time("builds"));
		release();
		assertEquals(0, p.waitFor());
		run();
		assertEquals(2, builds());
	}

	@Test
	void the_second_of_two_waits_for_the_build() throws Exception {
		pipe();
		Process one = start("HOLD");
		building();
		Process two = start("HOLD");
		BufferedReader out = new BufferedReader(new InputStreamReader(two.getInputStream()));
		assertEquals("pico: waiting for another build", out.readLine());
		release();
		assertEquals("whole", out.readLine());
		assertTrue(output(one).contains("whole"));
		assertEquals(1, builds());
	}

	@Test
	void a_jar_of_an_interrupted_build_is_not_used() throws Exception {
		pipe();
		Process p = start("HOLD");
		building();
		kill(p);
		p.waitFor();
		assertTrue(run().endsWith("whole"));
	}

	@Test
	void a_failed_build_ends_with_mavens_code_and_the_end_of_its_output() throws Exception {
		Process p = start("BREAK");
		List<String> lines = output(p);
		assertEquals(7, p.waitFor());
		assertTrue(lines.contains("[ERROR] A.java does not compile"), lines.toString());
		assertFalse(lines.contains("900"), lines.toString());
		assertTrue(run().endsWith("whole"));
	}

	@Test
	void an_old_jar_is_used_where_there_is_no_maven() throws Exception {
		write("pico-cli/target/pico.jar", "old");
		Files.setLastModifiedTime(dir.resolve("pico-cli/target/pico.jar"), FileTime.fromMillis(0));
		write("pico-rt/src/main/java/A.java", "class A {}");
		Files.delete(dir.resolve("tools/mvn"));
		for (String tool : List.of("cat", "dirname", "find", "readlink"))
			script("tools/" + tool, "exec /usr/bin/" + tool + " \"$@\"");
		ProcessBuilder b = command();
		b.environment().put("PATH", dir.resolve("tools").toString());
		List<String> lines = output(b.start());
		assertEquals(2, lines.size(), lines.toString());
		assertTrue(lines.get(0).contains("cannot be built"), lines.toString());
		assertEquals("old", lines.get(1));
	}
}
