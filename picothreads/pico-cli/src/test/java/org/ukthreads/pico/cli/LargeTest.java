// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * Methods whose resume copy, or whose body with handlers, does not fit into 64 KB, and methods that
 * the JIT no longer compiles.
 */
final class LargeTest {
	@TempDir
	Path dir;

	private static String program(String name, int calls, boolean loop) {
		StringBuilder b = new StringBuilder("public class " + name + " { " + YIELDS
			+ "static long all(int a, long b, String c) { long r = 0;\n"
			+ (loop ? "for (int i = 0; i < 2; i++) {\n" : "{\n"));
		for (int k = 0; k < calls; k++)
			b.append("r = r * 31 + s(a + ").append(k).append(") + b + c.length();\n");
		return b.append("} return r; }\npublic static void main(String[] a) {"
			+ " System.out.println(all(1, 2, \"three\")); } }\n").toString();
	}

	private void same(String name, int calls, boolean loop) throws Exception {
		Harness.compile(dir, name, program(name, calls, loop));
		assertEquals(Harness.plain(dir, name), Harness.pico(dir, name, 0, 1));
	}

	@Test
	void a_copy_too_large_is_cut_into_parts() throws Exception {
		same("Parts", 1000, false);
	}

	/**
	 * 150 calls take about 4,500 bytes, and each adds a handler. 600 calls are too large for the
	 * JIT before the translation.
	 */
	@Test
	void the_report_names_what_grew_too_large_for_the_jit() throws Exception {
		for (int calls : new int[] {10, 150, 600}) {
			String name = "Grown" + calls;
			Path classes = Files.createDirectory(dir.resolve(name));
			Harness.compile(classes, name, program(name, calls, true));
			PicoLoader.translate(new ClassPath(List.of(classes)), Harness.libraries(),
				new Translator.Options(), Harness.class.getClassLoader(), r -> {
					assertEquals(calls == 150, r.huge().containsKey(name
						+ ".all(IJLjava/lang/String;)J"), calls + ": " + r.huge());
					assertEquals(calls > 10, r.text(false).contains("too large for the JIT"));
				});
		}
	}

	@Test
	void a_method_too_large_for_handlers_runs_pinned() throws Exception {
		same("Refused", 2300, true);
	}

	/**
	 * Straight-line code, which no number of copies makes smaller. This is seen before any copy is
	 * made.
	 */
	@Test
	void what_cannot_fit_is_not_analysed_twice() throws Exception {
		Harness.compile(dir, "Once", program("Once", 2000, false));
		List<String> said = new ArrayList<>();
		Translator.Options o = new Translator.Options();
		o.progress = said::add;
		Translator t = Translator.of(new ClassPath(List.of(dir)), Harness.libraries(), o);
		t.run();
		assertEquals(1, said.stream().filter(s -> s.startsWith("reading")).count(),
			said.toString());
		assertEquals(Set.of("Once.all(IJLjava/lang/String;)J"), t.report().refused().stream()
			.map(r -> r.replaceAll(":.*", "")).collect(Collectors.toSet()));
		assertEquals(Harness.plain(dir, "Once"), Harness.pico(dir, "Once", 0, 1));
	}

	private void refused(String name, String source) throws Exception {
		Path classes = Files.createDirectory(dir.resolve(name));
		Harness.compile(classes, name, source);
		String want = Harness.plain(classes, name);
		assertEquals(want, Harness.pico(classes, name, 0, 1));
		PicoLoader.translate(new ClassPath(List.of(classes)), Harness.libraries(),
			new Translator.Options(), Harness.class.getClassLoader(),
			r -> assertTrue(r.text(false).contains("refused: "), r.text(false)));
	}

	/** Yields now and then only: on a busy machine, a yield of a JVM thread costs milliseconds. */
	private static final String YIELDS = "static int n; static int s(int k) {"
		+ " if (k % 64 == 0) Thread.yield(); return k + n++; }\n";

	/**
	 * Each field takes nine bytes; a bracket takes 13, and the one around all of them takes ten.
	 */
	private static String initialiser(String name, int fields) {
		StringBuilder b = new StringBuilder("public class " + name + " { " + YIELDS
			+ "static class Big {\n");
		for (int k = 0; k < fields; k++)
			b.append("static final int F").append(k).append(" = s(").append(k + 1000)
				.append(");\n");
		return b.append("}\npublic static void main(String[] a) throws Exception { long r = 0;"
			+ " for (java.lang.reflect.Field f : Big.class.getDeclaredFields()) {"
			+ " f.setAccessible(true); r = r * 31 + f.getInt(null); }"
			+ " System.out.println(r); } }").toString();
	}

	@Test
	@Tag("long")
	@Tag("1/4")
	void a_static_initialiser_too_large_for_brackets_runs_pinned() throws Exception {
		refused("Half", initialiser("Half", 4000));
		refused("Whole", initialiser("Whole", 7279));
		refused("Brim", initialiser("Brim", 7281));
	}

	@Test
	void an_enum_too_large_for_brackets_runs_pinned() throws Exception {
		StringBuilder b = new StringBuilder("public class Enums { " + YIELDS + "enum E {\n");
		for (int k = 0; k < 2500; k++)
			b.append("E").append(k).append("(s(").append(k).append(")),\n");
		refused("Enums", b.append("; final int v; E(int v) { this.v = v + s(1); } }\n"
			+ "public static void main(String[] a) { long r = 0; for (E e : E.values())"
			+ " r = r * 31 + e.v; System.out.println(r); } }").toString());
	}

	/**
	 * The constructor suspends before super(...), and leaves by return and by exception. After that
	 * nothing is pinned.
	 */
	@Test
	@Tag("long")
	@Tag("2/4")
	void a_constructor_too_large_for_brackets_runs_pinned() throws Exception {
		StringBuilder b = new StringBuilder("public class Makes { " + YIELDS
			+ "static class Base { final int b; Base(int b) { this.b = b + s(1); } }\n"
			+ "static class Big extends Base {\n");
		for (int k = 0; k < 6000; k++)
			b.append("final int f").append(k).append(" = s(").append(k + 1000).append(");\n");
		refused("Makes", b.append("Big(int how) { super(s(how)); if (how == 1) return;"
			+ " try { if (how == 2) throw new IllegalStateException(\"two\"); }"
			+ " finally { s(2); } }\n"
			+ "Big() { this(s(7)); } }\n"
			+ "public static void main(String[] a) {"
			+ " System.out.println(new Big(1).f5999 + new Big().b + new Big(0).f0);"
			+ " try { new Big(2); } catch (IllegalStateException e) { System.out.println(e); }"
			+ " System.out.println(n); } }").toString());
	}
}
