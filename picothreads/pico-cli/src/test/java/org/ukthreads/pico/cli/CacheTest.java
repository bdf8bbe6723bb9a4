// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.PicoThread;
import org.ukthreads.pico.Reflect;
import org.ukthreads.pico.Threads;
import org.ukthreads.pico.translate.Classes;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Stored;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/** Stored translations: they are found again, and are never incomplete, too many, or wrong. */
final class CacheTest {
	@TempDir
	Path dir;

	private static final Map<String, byte[]> SOME = Map.of("a/B", new byte[] {1, 2, 3},
		"a/B$$Pico", new byte[1000]);

	private Cache cache(long limit) {
		return new Cache(dir.resolve("cache"), limit);
	}

	private Path entry(String key) {
		return dir.resolve("cache").resolve(key + ".pico");
	}

	@Test
	void the_key_is_the_sum_of_all_that_matters() throws Exception {
		Path p = Files.createDirectories(dir.resolve("program"));
		Path f = Files.write(p.resolve("A.class"), new byte[] {1, 2});
		Files.setLastModifiedTime(f, FileTime.fromMillis(0));
		Cache c = cache(1 << 20);
		String key = c.key(List.of(p), List.of());
		assertEquals(key, c.key(List.of(p), List.of()));
		assertNotEquals(key, c.key(List.of(p), List.of("chaos")));
		assertNotEquals(key, c.key(List.of(p, p), List.of()));
		/* The same size with other contents. */
		Files.write(f, new byte[] {1, 3});
		assertNotEquals(key, c.key(List.of(p), List.of()));
		Files.write(f, new byte[] {1, 2});
		assertEquals(key, c.key(List.of(p), List.of()));
		Files.delete(f);
		assertNotEquals(key, c.key(List.of(p), List.of()));
		Files.write(p.resolve("B.class"), new byte[] {1, 2});
		assertNotEquals(key, c.key(List.of(p), List.of()));
	}

	/**
	 * The folder that `pico cache dir` prints with these variables. bin/pico must find the same
	 * one.
	 */
	private String place(String... variables) throws Exception {
		List<String> words = new ArrayList<>(Harness.java());
		words.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName(),
			"cache", "dir"));
		ProcessBuilder b = new ProcessBuilder(words).redirectErrorStream(true);
		b.environment().keySet().removeAll(List.of("HOME", "XDG_CACHE_HOME", "PICO_CACHE"));
		for (int k = 0; k < variables.length; k += 2)
			b.environment().put(variables[k], variables[k + 1]);
		return new String(b.start().getInputStream().readAllBytes()).trim();
	}

	@Test
	void it_is_in_the_home_that_is_told() throws Exception {
		assertEquals(System.getProperty("user.home") + "/.cache/pico", place());
		assertEquals("/h/.cache/pico", place("HOME", "/h", "PICO_CACHE", ""));
		assertEquals("/x/pico", place("HOME", "/h", "XDG_CACHE_HOME", "/x"));
		assertEquals("/h/.cache/pico", place("HOME", "/h", "XDG_CACHE_HOME", "relative"));
		assertEquals("/c", place("HOME", "/h", "PICO_CACHE", "/c"));
	}

	/**
	 * Runs bin/pico with a java that prints its arguments, and that makes archives if MAKES is set.
	 */
	private String command(String cache, String makes) throws Exception {
		Path java = dir.resolve("jvm/bin/java");
		Files.createDirectories(java.getParent());
		Files.createDirectories(dir.resolve("bin"));
		Files.createDirectories(dir.resolve("pico-cli/target"));
		if (!Files.exists(java)) { // once: the archive is named by the jar's and java's times
			Files.write(dir.resolve("pico-cli/target/pico.jar"), new byte[0]);
			Files.copy(Path.of("../bin/pico"), dir.resolve("bin/pico"));
			Files.writeString(java, String.join("\n", "#!/bin/sh", "case $1 in",
				"-XX:ArchiveClassesAtExit=*)",
				"  [ -z \"$MAKES\" ] || echo archive >\"${1#*=}\"; exit 0 ;;", "esac",
				"echo java \"$@\""));
			assertTrue(java.toFile().setExecutable(true));
		}
		ProcessBuilder b = new ProcessBuilder("sh", dir.resolve("bin/pico").toString(), "version")
			.redirectErrorStream(true);
		b.environment().putAll(Map.of("JAVA_HOME", dir.resolve("jvm").toString(), "PICO_CACHE",
			cache, "MAKES", makes, "PICO_PROGRESS", "false"));
		return new String(b.start().getInputStream().readAllBytes()).trim();
	}

	/** Also, a disk that was full once must not make the command slow for ever. */
	@Test
	void the_command_runs_where_its_archive_cannot_be_written() throws Exception {
		assertTrue(command("/proc/self/ns", "").startsWith("java -Dpico.home="));
		Path c = dir.resolve("kept");
		assertTrue(command(c.toString(), "").startsWith("java -Dpico.home="));
		assertTrue(command(c.toString(), "yes").startsWith("java -Dpico.home="), "too soon");
		try (DirectoryStream<Path> all = Files.newDirectoryStream(c, "*.jsa")) {
			for (Path p : all)
				Files.setLastModifiedTime(p, FileTime.fromMillis(
					System.currentTimeMillis() - 50 * 3_600_000L));
		}
		assertTrue(command(c.toString(), "yes").startsWith("java -XX:SharedArchiveFile="));
	}

	@Test
	void sums_that_are_no_text_are_made_again() throws Exception {
		Cache c = cache(1 << 20);
		String key = c.key(List.of(dir.resolve("none")), List.of());
		Files.createDirectories(dir.resolve("cache"));
		Files.write(dir.resolve("cache/sums"), new byte[] {(byte) 0xff, (byte) 0xfe, 9, 10});
		assertEquals(key, c.key(List.of(dir.resolve("none")), List.of()));
	}

	@Test
	void what_is_not_whole_is_not_there() throws Exception {
		Cache c = cache(1 << 20);
		assertNull(c.find("k"));
		c.store("k", true, SOME, "rules", List.of("java/lang/Object"));
		assertNotNull(c.find("k"));
		byte[] all = Files.readAllBytes(entry("k"));
		for (int n : new int[] {0, 3, 15, 16, 40, all.length - 1}) {
			Files.write(entry("k"), Arrays.copyOf(all, n));
			assertNull(c.find("k"), n + " bytes of it");
		}
		for (int n = 0; n < all.length; n += 13) {
			byte[] one = all.clone();
			one[n] ^= 16;
			Files.write(entry("k"), one);
			assertNull(c.find("k"), "byte " + n + " is another");
		}
		Files.write(entry("k"), all);
		assertNotNull(c.find("k"));
	}

	@Test
	void a_writer_that_died_leaves_nothing_that_is_found() throws Exception {
		Cache c = cache(1 << 20);
		c.store("k", true, SOME, "", List.of());
		Path half = dir.resolve("cache/other.7-1.tmp");
		Path now = dir.resolve("cache/other.8-1.tmp");
		Files.write(half, new byte[10]);
		Files.write(now, new byte[10]);
		Files.setLastModifiedTime(half, FileTime.fromMillis(0));
		c.store("l", true, SOME, "", List.of());
		assertFalse(Files.exists(half));
		assertTrue(Files.exists(now), "its writer may live");
		assertNull(c.find("other"));
	}

	@Test
	void the_one_unused_for_longest_goes_first() throws Exception {
		Cache c = cache(4_000);
		for (int k = 0; k < 3; k++) {
			c.store("k" + k, true, SOME, "", List.of());
			Files.setLastModifiedTime(entry("k" + k), FileTime.fromMillis(1000 * (k + 1)));
		}
		assertNotNull(c.find("k0"));
		c.store("k3", true, SOME, "", List.of());
		assertFalse(Files.exists(entry("k1")));
		assertTrue(Files.exists(entry("k0")));
		assertTrue(Files.exists(entry("k3")));
		c.store("large", true, Map.of("x", new byte[5_000]), "", List.of());
		assertNull(c.find("large"));
		assertTrue(Files.exists(entry("k3")));
	}

	@Test
	void where_nothing_can_be_kept_the_run_goes_on() throws Exception {
		/* A file is in the place of the folder. */
		Files.write(dir.resolve("cache"), new byte[1]);
		Cache c = cache(1 << 20);
		c.store("k", true, SOME, "", List.of());
		assertNull(c.find("k"));
		assertNotNull(c.key(List.of(dir), List.of()));
	}

	@Test
	void many_write_the_same_and_read_it_meanwhile() throws Exception {
		Thread[] ts = new Thread[4];
		Throwable[] bad = new Throwable[1];
		for (int k = 0; k < ts.length; k++) {
			ts[k] = new Thread(() -> {
				try {
					Cache c = cache(2_500);
					for (int n = 0; n < 40; n++) {
						Stored s = c.find("k");
						if (s != null)
							assertEquals(1000, Classes.of(s, List.of(), false)
								.get("a/B$$Pico").length);
						c.store(n % 3 == 0 ? "other" + n : "k", true, SOME, "", List.of());
					}
				} catch (Throwable e) {
					bad[0] = e;
				}
			});
			ts[k].start();
		}
		for (Thread t : ts)
			t.join();
		assertNull(bad[0], () -> String.valueOf(bad[0]));
	}

	private static final String TWO = "import java.util.*; public class Two { static class In"
		+ " { int v; synchronized int up() { Thread.yield(); return ++v; } }"
		+ " static final class Plain { int x = 3; }"
		+ " public static void main(String[] a) throws Exception { In in = new In();"
		+ " Thread[] t = new Thread[5]; for (int k = 0; k < 5; k++) { t[k] = new Thread(() ->"
		+ " { for (int j = 0; j < 10; j++) in.up(); }); t[k].start(); }"
		+ " for (Thread x : t) x.join();"
		+ " done = in.v + new Plain().x + \" \" + Two.class.getProtectionDomain()"
		+ ".getCodeSource().getLocation().getPath().endsWith(\"two/\") + \" \""
		+ " + (Two.class.getResource(\"Two$Plain.class\") != null); }"
		+ " public static String done; }";

	private static String run(ClassLoader l) throws Exception {
		Class<?> c = l.loadClass("Two");
		PicoThread t = new PicoThread(null, Reflect.task(c.getMethod("main", String[].class),
			new Object[] {new String[0]}), "main");
		t.start();
		Threads.join(t);
		return (String) c.getField("done").get(null);
	}

	@Test
	void a_kept_translation_runs_as_the_one_that_was_made() throws Exception {
		Path p = Files.createDirectories(dir.resolve("two"));
		Harness.compile(p, "Two", TWO);
		Files.delete(p.resolve("Two.java"));
		ClassPath program = new ClassPath(List.of(p));
		Translator t = Translator.of(program, Harness.libraries(), new Translator.Options());
		Map<String, byte[]> out = t.run();
		assertEquals("53 true true", run(new PicoLoader(Classes.of(out, program, t.dynamic()),
			CacheTest.class.getClassLoader())));
		out.values().removeAll(program.entries().values());
		assertFalse(out.containsKey("Two$Plain"), "it is as it was");
		Cache c = cache(1 << 20);
		c.store("two", true, out, t.rules(), t.locks());
		assertEquals("53 true true", run(new PicoLoader(Classes.of(c.find("two"), List.of(p), true),
			CacheTest.class.getClassLoader())));
	}
}
