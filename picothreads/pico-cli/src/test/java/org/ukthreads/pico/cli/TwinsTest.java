// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.Capture;
import org.ukthreads.pico.PicoThread;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.analyse.Hot;
import org.ukthreads.pico.translate.read.ClassPath;

/** Methods that suspend by returning: which of them have a twin, and which callers never see it. */
final class TwinsTest {
	private static final String BASE = String.join("\n",
		"public class Base {",
		"	public static String seen = \"\";",
		"	public int f(int k) { Thread.yield(); return k; }",
		"	public final int twice(int k) { return f(k) + f(k); }",
		"	private int hidden(int k) { Thread.yield(); return k + 5; }",
		"	static int far(int k) { return near(k) + 1; }",
		"	private static int near(int k) { Thread.yield(); return k + 1; }",
		"	public static Runnable calls(Base b) {",
		"		return () -> seen += b.f(1) + \" \" + b.twice(10) + \" \" + far(5);",
		"	}",
		"	public static Runnable reflects(Base b) {",
		"		return () -> {",
		"			try {",
		"				java.lang.reflect.Method m = Base.class.getDeclaredMethod(\"hidden\","
			+ " int.class);",
		"				seen += m.invoke(b, 1) + \" \" + m.invoke(b, 2);",
		"			} catch (ReflectiveOperationException e) { seen += e; }",
		"		};",
		"	}",
		"	public static Runnable asks(java.util.function.ToIntFunction<Base> f, Base b) {",
		"		return () -> {",
		"			try { seen += f.applyAsInt(b); }",
		"			catch (RuntimeException e) { seen += e.getClass().getSimpleName(); }",
		"		};",
		"	}",
		"}");

	@TempDir
	Path dir;

	private Class<?> base(String hot) throws Exception {
		Path d = Harness.compile(Files.createDirectories(dir.resolve("base" + hot)), "Base",
			BASE);
		Translator.Options o = new Translator.Options();
		o.hot = Hot.of(hot);
		return PicoLoader.translate(new ClassPath(List.of(d)), Harness.libraries(), o,
			TwinsTest.class.getClassLoader(), r -> {}).loadClass("Base");
	}

	private static Set<String> twins(Class<?> c) {
		Set<String> s = new TreeSet<>();
		for (Method m : c.getDeclaredMethods()) {
			Class<?>[] p = m.getParameterTypes();
			if (p.length > 0 && p[p.length - 1] == Capture.class) {
				assertTrue(m.isSynthetic() && m.getName().matches("pico\\$.*\\$twin"),
					m::toString);
				s.add(m.getName().replaceAll("^pico\\$|\\$twin$", ""));
			}
		}
		return s;
	}

	/** Runs r on a pico thread. Returns what the class has seen, and what ended the thread. */
	private static String run(Class<?> base, Runnable r) throws Exception {
		PicoThread t = new PicoThread(r, "twins");
		Throwable[] thrown = new Throwable[1];
		t.setUncaughtExceptionHandler((x, e) -> thrown[0] = e);
		t.start();
		long end = System.nanoTime() + 20_000_000_000L;
		while (t.getState() != Thread.State.TERMINATED) {
			assertTrue(System.nanoTime() < end, "hangs");
			Thread.sleep(1);
		}
		return base.getField("seen").get(null) + (thrown[0] == null ? ""
			: " " + thrown[0].getClass().getSimpleName());
	}

	private static Runnable calls(Class<?> base, String how, Object on) throws Exception {
		return (Runnable) base.getMethod(how, base).invoke(null, on);
	}

	@Test
	void what_calls_a_primitive_has_a_twin_or_all_or_none() throws Exception {
		assertEquals(Set.of("f", "hidden", "near"), twins(base("direct")));
		assertTrue(twins(base("all")).containsAll(Set.of("f", "hidden", "near", "far",
			"twice")));
		assertEquals(Set.of(), twins(base("none")));
	}

	/** To such code (Mockito's inline mocks), a twin is a method of its own. */
	@Test
	void a_program_that_rewrites_loaded_classes_has_none() throws Exception {
		Path d = Harness.compile(Files.createDirectories(dir.resolve("rewrites")), "Base", BASE);
		Harness.compile(d, "Rewrites", "class Rewrites { void all("
			+ "java.lang.instrument.Instrumentation i) throws Exception {"
			+ " i.retransformClasses(Base.class); } }", "-cp", d.toString());
		PicoLoader l = PicoLoader.translate(new ClassPath(List.of(d)), Harness.libraries(),
			new Translator.Options(), TwinsTest.class.getClassLoader(), r -> {});
		assertEquals(Set.of(), twins(l.loadClass("Base")));
	}

	@Test
	void results_are_the_same_in_every_mode() throws Exception {
		for (String hot : new String[] {"direct", "all", "none"}) {
			Class<?> b = base(hot);
			assertEquals("1 20 7", run(b, calls(b, "calls",
				b.getConstructor().newInstance())), hot);
		}
	}

	@Test
	void a_class_that_nobody_translated_overrides_a_method_with_a_twin() throws Exception {
		Path plain = Harness.compile(Files.createDirectories(dir.resolve("plain")), "Base",
			BASE);
		Path d = Files.createDirectories(dir.resolve("late"));
		Harness.compile(d, "Late", "public class Late extends Base {"
			+ " public int f(int k) { return 100 + k; } }", "-cp", plain.toString());
		Harness.compile(d, "Heir", "public class Heir extends Base { }", "-cp",
			plain.toString());
		for (String hot : new String[] {"direct", "all"}) {
			Class<?> b = base(hot);
			try (URLClassLoader l = new URLClassLoader(new URL[] {d.toUri().toURL()},
					b.getClassLoader())) {
				assertEquals("101 220 7", run(b, calls(b, "calls",
					l.loadClass("Late").getConstructor().newInstance())), hot);
				b.getField("seen").set(null, "");
				assertEquals("1 20 7", run(b, calls(b, "calls",
					l.loadClass("Heir").getConstructor().newInstance())), hot);
			}
		}
	}

	@Test
	void reflection_calls_the_method_and_not_its_twin() throws Exception {
		Class<?> b = base("all");
		assertEquals("6 7", run(b, calls(b, "reflects", b.getConstructor().newInstance())));
	}

	/**
	 * A suspension below untranslated code that calls by name fails loudly, as it does without
	 * twins.
	 */
	@Test
	void a_private_method_that_suspends_is_no_result_for_others() throws Exception {
		Class<?> b = base("all");
		Method hidden = b.getDeclaredMethod("hidden", int.class);
		hidden.setAccessible(true);
		java.util.function.ToIntFunction<Object> f = o -> {
			try {
				return (int) hidden.invoke(o, 1);
			} catch (ReflectiveOperationException e) {
				throw new IllegalStateException(e);
			}
		};
		assertEquals("IllegalStateException PinnedException", run(b, (Runnable) b.getMethod(
			"asks", java.util.function.ToIntFunction.class, b).invoke(null, f,
			b.getConstructor().newInstance())));
	}

	@Test
	void a_run_counts_what_suspends_and_the_next_translation_uses_it() throws Exception {
		Path d = Harness.compile(Files.createDirectories(dir.resolve("in")), "Deep",
			"public class Deep { static int a(int k) throws Exception { return b(k) + 1; }"
			+ " static int b(int k) throws Exception { return c(k) + 1; }"
			+ " static int c(int k) throws Exception { Thread.sleep(0, k); return k; }"
			+ " static int rare() { Thread.yield(); return 1; }"
			+ " static int once() { return rare(); }"
			+ " public static void main(String[] x) throws Exception { int s = once();"
			+ " for (int k = 0; k < 300; k++) s += a(1); System.out.println(s); } }");
		Path profile = dir.resolve("profile");
		List<String> c = Harness.java();
		c.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName(),
			"run", "--profile", profile.toString(), "-cp", d.toString(), "Deep"));
		Path out = dir.resolve("out");
		assertEquals(0, new ProcessBuilder(c).redirectErrorStream(true)
			.redirectOutput(out.toFile()).start().waitFor(), () -> read(out));
		assertEquals("901" + System.lineSeparator(), read(out));
		String p = read(profile);
		assertTrue(p.matches("(?s)suspensions 30[1-9]\n.*"), p);
		assertTrue(p.contains("300 Deep a (I)I\n") && p.contains("300 Deep b (I)I\n")
			&& p.contains("1 Deep once ()I\n"), p);
		Translator.Options o = new Translator.Options();
		o.hot = Hot.of(profile.toString());
		Class<?> deep = PicoLoader.translate(new ClassPath(List.of(d)), Harness.libraries(), o,
			TwinsTest.class.getClassLoader(), r -> {}).loadClass("Deep");
		assertEquals(Set.of("a", "b", "c", "main", "rare"), twins(deep));
	}

	private static String read(Path p) {
		try {
			return Files.readString(p);
		} catch (java.io.IOException e) {
			return e.toString();
		}
	}

	@Test
	void what_is_no_profile_is_refused() throws Exception {
		assertThrows(IllegalArgumentException.class, () -> Hot.of(dir + File.separator + "no"));
		Path p = dir.resolve("bad");
		for (String s : new String[] {"hello\n", "suspensions x\n", "1 A b ()V\n",
				"suspensions 1\n1 A b\n"}) {
			Files.writeString(p, s);
			IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
				() -> Hot.of(p.toString()));
			assertTrue(e.getMessage().contains("not a profile"), e.getMessage());
		}
	}
}
