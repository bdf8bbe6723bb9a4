// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program of two jars finds the same as under `java -jar`: resources, services, itself. */
final class LoaderTest {
	@TempDir
	Path dir;

	private void jar(String name, String main, String path, String text, String... sources)
			throws Exception {
		Path classes = Files.createDirectories(dir.resolve(name + "-classes"));
		List<String> words = new ArrayList<>(List.of("-g", "-d", classes.toString(), "-cp",
			dir.resolve("two.jar").toString()));
		for (String s : sources) {
			Path f = dir.resolve(s.replaceAll("(?s).*class (\\w+).*", "$1") + ".java");
			if (s.contains("interface Voice"))
				f = dir.resolve("Voice.java");
			words.add(Files.writeString(f, s).toString());
		}
		assertEquals(0, javax.tools.ToolProvider.getSystemJavaCompiler().run(null, null, null,
			words.toArray(new String[0])));
		Manifest m = new Manifest();
		m.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
		m.getMainAttributes().put(Attributes.Name.MULTI_RELEASE, "true");
		m.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, name + "-7");
		if (main != null) {
			m.getMainAttributes().putValue("Add-Opens", "java.base/java.lang.ref no.such/x y");
			m.getMainAttributes().putValue("Add-Exports", "java.base/sun.net.dns");
			m.getMainAttributes().put(Attributes.Name.MAIN_CLASS, main);
			m.getMainAttributes().put(Attributes.Name.CLASS_PATH, path);
		}
		try (OutputStream o = Files.newOutputStream(dir.resolve(name + ".jar"));
				JarOutputStream z = new JarOutputStream(o, m);
				Stream<Path> all = Files.walk(classes)) {
			for (Path p : (Iterable<Path>) all.filter(Files::isRegularFile)::iterator)
				entry(z, classes.relativize(p).toString(), Files.readAllBytes(p));
			entry(z, "words/", new byte[0]);
			entry(z, "words/" + name + ".txt", text.getBytes(StandardCharsets.UTF_8));
			entry(z, "META-INF/services/a.Voice", ("a." + (main == null ? "High" : "Low"))
				.getBytes(StandardCharsets.UTF_8));
		}
	}

	private static void entry(JarOutputStream z, String name, byte[] b) throws Exception {
		z.putNextEntry(new ZipEntry(name));
		z.write(b);
	}

	private String run(String... words) throws Exception {
		List<String> c = Harness.java();
		c.add("-Dpico.progress=false");
		c.addAll(List.of(words));
		Path out = dir.resolve("out");
		int rc = new ProcessBuilder(c).redirectErrorStream(true).redirectOutput(out.toFile())
			.start().waitFor();
		return Files.readString(out) + "exit " + rc;
	}

	@Test
	void resources_services_and_places_are_those_of_the_jars() throws Exception {
		jar("two", null, null, "zwei", "package a; public interface Voice { String sing(); }",
			"package a; public class High implements Voice { public String sing() { try {"
			+ " Thread.sleep(1); } catch (InterruptedException e) {} return \"high\"; } }");
		jar("one", "a.Main", "two.jar", "eins",
			"package a; public class Low implements Voice { public String sing() {"
			+ " return \"low\"; } }",
			"package a; import java.net.URL; import java.util.*; public class Main {"
			+ " static void p(Object o) { System.out.println(o); }"
			+ " static String read(URL u) throws Exception { try (java.io.InputStream in ="
			+ " u.openStream()) { return new String(in.readAllBytes()); } }"
			/* Clojure does this to load the newer of a class and its source. */
			+ " static long age(URL u) throws Exception { java.net.URLConnection c ="
			+ " u.openConnection(); return u.getProtocol().equals(\"jar\") ?"
			+ " ((java.net.JarURLConnection) c).getJarEntry().getTime() : c.getLastModified(); }"
			+ " public static void main(String[] args) throws Exception {"
			+ " ClassLoader l = Main.class.getClassLoader();"
			+ " for (Voice v : ServiceLoader.load(Voice.class)) p(v.sing());"
			+ " for (String n : new String[] {\"one\", \"two\"}) {"
			+ " URL u = l.getResource(\"words/\" + n + \".txt\"); p(u); p(read(u));"
			+ " p(read(new URL(u.toString()))); p(read(new URL(u, \"two.txt\".replace(\"two\","
			+ " n)))); }"
			+ " p(Collections.list(l.getResources(\"META-INF/services/a.Voice\")).size());"
			+ " p(l == ClassLoader.getSystemClassLoader());"
			+ " p(ClassLoader.getSystemResource(\"words/one.txt\"));"
			+ " p(ClassLoader.getSystemResourceAsStream(\"a/Voice.class\") != null);"
			+ " p(Collections.list(ClassLoader.getSystemResources(\"words/\")).size());"
			+ " p(new java.net.URLClassLoader(new URL[0]).loadClass(\"a.High\") == High.class);"
			+ " URL h = l.getResource(\"a/High.class\"); p(h); p(age(h)); p(h.openStream().read());"
			+ " p(new URL(h.toString()).openStream().read()); p(new URL(h, \"Voice.class\"));"
			+ " p(read(new URL(h, \"/words/two.txt\")) + read(new URL(h, \"../words/two.txt\")));"
			+ " p(l.getResource(\"none\")); p(l.getResource(\"a/Voice.class\") != null);"
			+ " for (Class<?> c : new Class<?>[] {Main.class, High.class, Voice.class}) {"
			+ " p(c.getProtectionDomain().getCodeSource().getLocation());"
			+ " p(c.getPackage().getImplementationVersion()); }"
			+ " p(Arrays.toString(args) + System.getProperty(\"a.b\")); if (args.length > 2) System.exit(3); } }");
		String jar = dir.resolve("one.jar").toString();
		for (String[] args : new String[][] {{"x", "-cp"}, {"1", "2", "3"}}) {
			List<String> words = new ArrayList<>(List.of("-Da.b=c=d", "-jar", jar));
			words.addAll(List.of(args));
			String want = run(words.toArray(new String[0]));
			assertTrue(want.contains("high\n") && want.contains("low\n"), want);
			words.addAll(0, List.of("-cp", System.getProperty("java.class.path"),
				"org.ukthreads.pico.cli.Main", "run"));
			assertEquals(want, run(words.toArray(new String[0])));
		}
	}

	/**
	 * Programs wait until no other thread is left, and look for forgotten threads and stop them.
	 */
	@Test
	void the_threads_of_the_runtime_are_nobodys_but_its() throws Exception {
		Harness.compile(dir, "Main", "import java.util.*; import java.util.stream.*;"
			+ " public class Main { static void all(String s) { Thread[] a = new Thread[99];"
			+ " int n = Thread.enumerate(a); ThreadGroup g = Thread.currentThread().getThreadGroup();"
			+ " System.out.println(s + Thread.activeCount() + Arrays.stream(a, 0, n)"
			+ ".map(Thread::getName).collect(Collectors.toList()) + g.activeCount()"
			+ " + Thread.getAllStackTraces().keySet().stream().filter(t -> !t.isDaemon()"
			+ " || t.getThreadGroup() == g).map(Thread::getName).sorted()"
			+ ".collect(Collectors.toList())); }"
			+ " public static void main(String[] args) throws Exception { all(\"first \");"
			+ " System.out.println(new ProcessBuilder(\"sleep\", \"0.1\").start().waitFor());"
			+ " Thread t = new Thread(() -> { try { Thread.sleep(100000); }"
			+ " catch (InterruptedException e) { System.out.println(\"interrupted\"); } }, \"other\");"
			+ " t.start(); while (t.getState() != Thread.State.TIMED_WAITING) Thread.sleep(1);"
			+ " all(\"two \"); t.getThreadGroup().interrupt();"
			+ " boolean i = Thread.interrupted(); while (Thread.activeCount() > 1)"
			+ " Thread.sleep(1); t.join(); System.out.println(i); all(\"last \"); Object o = new Object(); synchronized (o) {"
			+ " o.wait(9); } } }");
		String want = run("-cp", dir.toString(), "Main");
		assertTrue(want.contains("last 1[main]1[main]"), want);
		assertEquals(want, run("-cp", System.getProperty("java.class.path"),
			"org.ukthreads.pico.cli.Main", "run", "-cp", dir.toString(), "Main"));
	}

	private static final String[] VOICES = {
		"package a; public class Voice { public String sing() { Thread.yield(); return name(); }"
		+ " String name() { return \"voice\"; } }",
		"package a; public class High extends Voice { String name() { return \"high\"; } }",
		"package a; public class Low extends Voice { String name() { return \"low\"; } }"};

	/** Runs the pico command with these words. */
	private String pico(String... words) throws Exception {
		List<String> c = new ArrayList<>(List.of("-cp", System.getProperty("java.class.path"),
			"org.ukthreads.pico.cli.Main"));
		c.addAll(List.of(words));
		return run(c.toArray(new String[0]));
	}

	/** Objects of two classes of a jar that only a manifest names meet in a local variable. */
	@Test
	void what_a_manifest_names_is_part_of_the_program() throws Exception {
		jar("two", null, null, "zwei", VOICES);
		jar("one", "a.Main", "two.jar", "eins",
			"package a; public class Main { static String sing(boolean high) { Voice v;"
			+ " if (high) v = new High(); else v = new Low(); Thread.yield(); return v.sing(); }"
			+ " public static void main(String[] args) {"
			+ " System.out.println(sing(true) + sing(false)); } }");
		String jar = dir.resolve("one.jar").toString();
		String want = "highlow\nexit 0";
		assertEquals(want, run("-cp", jar, "a.Main"));
		assertEquals(want, pico("run", "-cp", jar, "a.Main"));
		String out = dir.resolve("out.jar").toString();
		String said = pico("translate", jar, "-o", out);
		assertTrue(said.endsWith("exit 0"), said);
		assertEquals(want, pico("run", "--as-is", "-cp", out, "a.Main"));
		/* The jar may also be missing. The stack maps show what the two classes have in common. */
		Path two = dir.resolve("two.jar");
		Files.move(two, Files.createDirectories(dir.resolve("later")).resolve("two.jar"));
		said = pico("translate", jar, "-o", out);
		assertTrue(said.endsWith("exit 0"), said);
		assertEquals(want, pico("run", "--as-is", "-cp", out + java.io.File.pathSeparator
			+ dir.resolve("later/two.jar"), "a.Main"));
	}

	/** The manifest of pico.jar has the same. Only java -jar reads it. */
	static final String DOOR = "--add-exports=java.base/jdk.internal.access=ALL-UNNAMED";

	@Test
	void what_a_manifest_opens_is_open() throws Exception {
		jar("one", "a.Main", "", "eins", "package a; import java.lang.reflect.*;"
			+ " public class Main { static void p(Object o) { System.out.println(o); }"
			+ " public static void main(String[] args) throws Exception {"
			+ " Field f = java.lang.ref.Reference.class.getDeclaredField(\"referent\");"
			+ " f.setAccessible(true); p(f.get(new java.lang.ref.WeakReference<>(\"x\")));"
			+ " try { String.class.getDeclaredField(\"value\").setAccessible(true); p(\"open\"); }"
			+ " catch (RuntimeException e) { p(e.getClass()); }"
			+ " p(Class.forName(\"sun.net.dns.ResolverConfiguration\").getMethod(\"open\")"
			+ ".invoke(null) != null); } }");
		String jar = dir.resolve("one.jar").toString();
		String want = run("-jar", jar);
		assertTrue(want.startsWith("x\nclass java.lang.reflect.Inaccessible")
			&& want.endsWith("true\nexit 0"), want);
		assertEquals(want, run(DOOR, "-cp", System.getProperty("java.class.path"),
			"org.ukthreads.pico.cli.Main", "run", "--no-cache", "-jar", jar));
	}

	/**
	 * The list of loaded classes shows it: the JVM that runs the program does not load the
	 * translator.
	 */
	@Test
	@Tag("long")
	@Tag("3/3")
	void a_large_program_is_translated_by_a_jvm_of_its_own() throws Exception {
		Path classes = Files.createDirectories(dir.resolve("large"));
		Harness.compile(classes, "Main", "public class Main { public static void main("
			+ "String[] args) { Thread.yield(); System.out.println(\"ran \" + args[0]"
			+ " + System.getProperty(\"x\")); } }");
		String[] words = {"-verbose:class", "-Dpico.cache=" + dir.resolve("cache"), "-cp",
			System.getProperty("java.class.path"), "org.ukthreads.pico.cli.Main", "run",
			"-Dx=y z", "-cp", classes.toString(), "Main", "all of it"};
		String translator = "org.ukthreads.pico.translate.Translator source:";
		String small = run(words);
		assertTrue(small.contains("ran all of ity z\n") && small.contains(translator), small);
		Files.write(classes.resolve("large"), new byte[1 << 20]);
		Harness.compile(classes, "Other", "public class Other {}");
		for (int k = 0; k < 2; k++) {
			String large = run(words);
			assertTrue(large.contains("ran all of ity z\n") && large.endsWith("exit 0"), large);
			assertFalse(large.contains(translator));
		}
		try (Stream<Path> kept = Files.list(dir.resolve("cache"))) {
			assertEquals(2, kept.filter(p -> p.toString().endsWith(".pico")).count());
		}
	}

	@Test
	@Tag("long")
	void folders_stay_and_later_versions_do_not_hide_what_is_translated() throws Exception {
		jar("two", null, null, "zwei", VOICES);
		jar("one", "a.Main", "two.jar", "eins", VOICES[0], VOICES[1],
			"package a; public class Main { public static void main(String[] args) {"
			+ " System.out.println(new High().sing() + (Main.class.getResource(\"/words/\")"
			+ " != null)); } }");
		Path jar = dir.resolve("one.jar");
		Path later = Files.createDirectories(dir.resolve("later"));
		Harness.compile(later, "High", VOICES[1].replace("\"high\"", "super.name() + 11"),
			"-cp", dir.resolve("two.jar").toString());
		try (FileSystem fs = FileSystems.newFileSystem(jar, (ClassLoader) null)) {
			Path p = fs.getPath("META-INF/versions/11/a/High.class");
			Files.createDirectories(p.getParent());
			Files.copy(later.resolve("a/High.class"), p);
		}
		String want = "voice11true\nexit 0";
		assertEquals(want, run("-jar", jar.toString()));
		assertEquals(want, pico("run", "-jar", jar.toString()));
		String out = dir.resolve("out.jar").toString();
		String said = pico("translate", jar.toString(), "-o", out);
		assertTrue(said.endsWith("exit 0"), said);
		/* The output is one file for all versions of Java: the base classes, which is reported. */
		assertTrue(said.contains("left out: classes for later versions"), said);
		assertEquals("hightrue\nexit 0", pico("run", "--as-is", "-cp", out, "a.Main"));
		said = pico("translate", jar.toString(), "-o", out, "--release", "11");
		assertFalse(said.contains("left out"), said);
		assertEquals(want, pico("run", "--as-is", "-cp", out, "a.Main"));
	}

	@Test
	void bad_words_are_answered() throws Exception {
		String text = Files.writeString(dir.resolve("text.jar"), "text").toString();
		String[][] bad = {{"run", "-jar"}, {"run", "--nonsense"},
			{"sim", "--seeds", "many", "Main"}, {"translate", "/no/such.jar"},
			{"translate", text}, {"report", text}, {"run", "-cp", text, "Main"},
			{"run", "--rules", "/no/rules", "-cp", dir.toString(), "Main"}};
		String[] says = {"-jar needs a value", "no such option: --nonsense",
			"--seeds needs a number, not many", "no such file: /no/such.jar",
			text + ": ", text + ": ", text + ": ", "no such file: /no/rules"};
		for (int k = 0; k < bad.length; k++) {
			List<String> words = new ArrayList<>(List.of("-cp",
				System.getProperty("java.class.path"), "org.ukthreads.pico.cli.Main"));
			words.addAll(List.of(bad[k]));
			String got = run(words.toArray(new String[0]));
			assertTrue(got.startsWith(says[k]) && got.endsWith("exit 2"), got);
		}
	}

	/** What cannot be started ends as under java. For sim, exit code 1 means a seed that fails. */
	@Test
	void a_main_that_is_refused_ends_with_javas_exit_code() throws Exception {
		Harness.compile(dir, "None", "public class None { }");
		Harness.compile(dir, "A", "package a; class Main {"
			+ "public static void main(String[] a) { System.out.println(\"here\"); } }");
		String text = Files.writeString(dir.resolve("text.jar"), "text").toString();
		String d = dir.toString();
		String[][] bad = {{"-jar", "/no/such.jar"}, {"-jar", text}, {"-cp", d, "NoSuch"},
			{"-cp", d, "None"}};
		String[] says = {"-jar /no/such.jar: no such file", "-jar " + text + ": ",
			"no such class: NoSuch", "None has no public static void main(String[])"};
		for (int k = 0; k < bad.length; k++) {
			assertTrue(run(bad[k]).endsWith("exit 1"), "java");
			List<String> words = new ArrayList<>(List.of("run"));
			words.addAll(List.of(bad[k]));
			String got = pico(words.toArray(new String[0]));
			assertTrue(got.startsWith(says[k]) && got.endsWith("exit 1"), got);
		}
		assertTrue(pico("sim", "-cp", d, "NoSuch").endsWith("exit 2"));
		assertEquals("here\nexit 0", pico("run", "-cp", d, "a/Main"));
	}
}
