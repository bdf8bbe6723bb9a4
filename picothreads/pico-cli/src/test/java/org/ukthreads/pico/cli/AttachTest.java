// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.translate.read.ClassPath;

/** pico dump and pico jstack of a JVM that runs. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class AttachTest {
	@TempDir
	Path dir;

	/** Two threads in a dead-lock, of which one holds a lock for which a third waits. */
	private static final String PROGRAM = String.join("\n",
		"import java.util.concurrent.*;",
		"import java.util.concurrent.locks.*;",
		"public class Dead {",
		"static final Object A = new Object(), B = new Object();",
		"static final ReentrantLock L = new ReentrantLock();",
		"static final CountDownLatch BOTH = new CountDownLatch(2);",
		"static void both(Object first, Object second) throws Exception {",
		"  synchronized (first) {",
		"    if (first == A) L.lock();",
		"    BOTH.countDown(); BOTH.await();",
		"    synchronized (second) { System.out.println(\"never\"); }",
		"  }",
		"}",
		"static Thread start(String name, Callable<?> c) {",
		"  Thread t = new Thread(() -> {",
		"    try { c.call(); } catch (Exception e) { e.printStackTrace(); }",
		"  }, name);",
		"  t.start(); return t;",
		"}",
		"static void until(Thread t, Thread.State s) throws Exception {",
		"  while (t.getState() != s) Thread.sleep(1);",
		"}",
		"public static void main(String[] a) throws Exception {",
		"  Thread one = start(\"one\", () -> { both(A, B); return 1; });",
		"  Thread two = start(\"two\", () -> { both(B, A); return 2; });",
		"  until(one, Thread.State.BLOCKED); until(two, Thread.State.BLOCKED);",
		"  Thread three = start(\"three\", () -> { L.lock(); return 3; });",
		"  until(three, Thread.State.WAITING);",
		"  System.out.println(\"stuck\");",
		"  System.in.read();",
		"  System.exit(0);",
		"}",
		"}");

	/** The command, from a jar, because a JVM loads agents from jars only. */
	private List<String> pico(String... words) throws Exception {
		String path = System.getProperty("java.class.path");
		String own = Main.self().toString();
		Path jar = dir.resolve("pico-cli.jar");
		if (!Files.exists(jar)) {
			Manifest m = new Manifest();
			m.getMainAttributes().putValue("Manifest-Version", "1.0");
			m.getMainAttributes().putValue("Agent-Class", Agent.class.getName());
			try (JarOutputStream o = new JarOutputStream(Files.newOutputStream(jar), m)) {
				for (var e : new ClassPath(List.of(Main.self())).entries().entrySet()) {
					if (e.getKey().startsWith("META-INF/"))
						continue;
					o.putNextEntry(new ZipEntry(e.getKey()));
					o.write(e.getValue());
				}
			}
		}
		List<String> c = Harness.java();
		c.addAll(List.of("-Dpico.progress=false", "-cp", jar + File.pathSeparator
			+ Arrays.stream(path.split(File.pathSeparator)).filter(p -> !p.equals(own))
				.collect(Collectors.joining(File.pathSeparator)),
			"org.ukthreads.pico.cli.Main"));
		c.addAll(List.of(words));
		return c;
	}

	private Process start(List<String> c) throws Exception {
		ProcessBuilder b = new ProcessBuilder(c).redirectError(
			dir.resolve("errors").toFile());
		b.environment().put("PICO_CACHE", "off");
		return b.start();
	}

	private String told(String what, Process of) throws Exception {
		Process p = start(pico(what, "" + of.pid()));
		String out = new String(p.getInputStream().readAllBytes());
		assertEquals(0, p.waitFor(), this::errors);
		return out;
	}

	private String errors() {
		try {
			return Files.readString(dir.resolve("errors"));
		} catch (IOException e) {
			return e.toString();
		}
	}

	@Test
	void a_running_jvm_tells_its_threads_in_both_formats() throws Exception {
		Path classes = Files.createDirectories(dir.resolve("dead"));
		Harness.compile(classes, "Dead", PROGRAM);
		Process p = start(pico("run", "-cp", classes.toString(), "Dead"));
		try {
			assertEquals("stuck", new BufferedReader(
				new InputStreamReader(p.getInputStream())).readLine(), this::errors);
			dumped(told("dump", p));
			jstack(told("jstack", p));
		} finally {
			p.destroyForcibly().waitFor();
		}
	}

	private static void dumped(String d) {
		assertTrue(d.contains("deadlock of 2 threads:\n"), d);
		assertTrue(d.matches("(?s).*\"three\" #\\d+ WAITING, parked at .*, held by \"one\"\n.*"), d);
	}

	private static void jstack(String d) {
		String object = "<0x[0-9a-f]{16}> \\(a java.lang.Object\\)";
		String lock = "<0x[0-9a-f]{16}> \\(a java.util.concurrent.locks."
			+ "ReentrantLock\\$NonfairSync\\)";
		has(d, "\"main\" #\\d+ prio=5 tid=0x[0-9a-f]{16} nid=na runnable\n"
			+ "   java.lang.Thread.State: RUNNABLE\n");
		has(d, "\"one\" #\\d+ prio=5 tid=0x[0-9a-f]{16} nid=na waiting for monitor entry\n"
			+ "   java.lang.Thread.State: BLOCKED \\(on object monitor\\)\n"
			+ "\tat Dead.both\\(Dead.java:11\\)\n\t- waiting to lock " + object + "\n"
			+ "(\tat [^\n]*\n)*\n   Locked ownable synchronizers:\n\t- " + lock + "\n\n"
			+ "   Locked monitors:\n\t- " + object + "\n\n");
		has(d, "\"three\" #\\d+ [^\n]* waiting on condition\n"
			+ "   java.lang.Thread.State: WAITING \\(parking\\)\n"
			+ "\tat java.util.concurrent.locks.LockSupport.park\\(LockSupport.java\\)\n"
			+ "\t- parking to wait for  " + lock + "\n");
		has(d, "Found one Java-level deadlock:\n=+\n\"one\":\n  waiting to lock monitor "
			+ object + ",\n  which is held by \"two\"\n\"two\":\n  waiting to lock monitor "
			+ object + ",\n  which is held by \"one\"\n");
		assertTrue(d.endsWith("Found 1 deadlock.\n"), d);
	}

	private static void has(String text, String pattern) {
		assertTrue(Pattern.compile(pattern).matcher(text).find(),
			() -> pattern + "\n" + text);
	}
}
