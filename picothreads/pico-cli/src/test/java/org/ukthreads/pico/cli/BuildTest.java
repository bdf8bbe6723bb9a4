// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.translate.Build;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/** Translation in place, as in the build of a library. */
final class BuildTest {
	@TempDir
	Path dir;

	private static final String SOURCE = "public class Lib {"
		+ " static class A { static void a() { Thread.yield(); } }"
		+ " static class B { static long b() { return System.nanoTime(); } }"
		+ " static class C { static void c() { A.a(); B.b(); } }"
		+ " public static void all(Runnable r) { C.c(); r.run(); all(() -> C.c()); } }";

	private Path compiled(String name, String source) throws Exception {
		return Harness.compile(Files.createDirectory(dir.resolve(name)), "Lib", source);
	}

	private static String build(Path p) throws IOException {
		Translator.Options o = new Translator.Options();
		o.library = true;
		return Build.inPlace(p, Harness.libraries().paths(), o).text(false);
	}

	/** Maps each file name to the contents of the file. */
	private static Map<String, String> tree(Path p) {
		Map<String, String> m = new TreeMap<>();
		new ClassPath(java.util.List.of(p)).entries()
			.forEach((n, b) -> m.put(n, Arrays.toString(b)));
		return m;
	}

	@Test
	void a_build_that_ended_in_the_middle_is_finished_by_the_next() throws Exception {
		Path whole = compiled("whole", SOURCE);
		build(whole);
		Map<String, String> want = tree(whole);
		for (String f : want.keySet()) {
			if (!f.endsWith(".class") || !f.contains("$$"))
				continue;
			Path p = compiled("half-" + f, SOURCE);
			Path in = p.resolve(f);
			Files.createDirectories(in.resolve("in the way"));
			assertThrows(IOException.class, () -> build(p), f);
			Files.delete(in.resolve("in the way"));
			Files.delete(in);
			build(p);
			assertEquals(want, tree(p), f);
		}
		build(whole);
		assertEquals(want, tree(whole));
	}

	@Test
	void what_was_compiled_anew_in_between_is_translated_again() throws Exception {
		String changed = SOURCE.replace("nanoTime", "currentTimeMillis");
		Path whole = compiled("whole", changed);
		build(whole);
		Path p = compiled("anew", SOURCE);
		Path in = Files.createDirectories(p.resolve("Lib$A$$Pico.class/in the way"));
		assertThrows(IOException.class, () -> build(p));
		Files.delete(in);
		Files.delete(in.getParent());
		Harness.compile(p, "Lib", changed);
		build(p);
		Files.delete(whole.resolve("META-INF/pico/stamps"));
		Files.delete(p.resolve("META-INF/pico/stamps"));
		Files.delete(p.resolve("Lib.java"));
		Files.delete(whole.resolve("Lib.java"));
		assertEquals(tree(whole), tree(p));
	}

	/** This includes classes that the translation does not change. */
	@Test
	void what_is_compiled_again_is_analysed_as_a_whole() throws Exception {
		String source = SOURCE.replace("static class C", "static class D { int d; } static class C");
		Path p = compiled("again", source);
		String first = build(p);
		Map<String, String> want = tree(p);
		assertTrue(build(p).contains("classes: 0"));
		assertEquals(want, tree(p));
		Harness.compile(p, "Lib", source);
		assertEquals(first, build(p));
		assertEquals(want, tree(p));
	}

	/**
	 * Without this check, a project without the runtime would stay untranslated without a message.
	 */
	@Test
	void a_class_path_without_the_runtime_is_seen() throws Exception {
		assertEquals("", Build.lacks(Harness.libraries().paths()));
		Path text = Files.writeString(dir.resolve("no.jar"), "no jar");
		assertTrue(Build.lacks(java.util.List.of(dir, text, dir.resolve("none")))
			.contains("org.ukthreads.pico:pico-juc"));
	}
}
