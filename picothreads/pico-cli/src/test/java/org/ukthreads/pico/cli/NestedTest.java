// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import jdk.security.jarsigner.JarSigner;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.read.Nested;

/** A jar with nested jars, and signed jars: run, translated, and under the agent. */
final class NestedTest {
	@TempDir
	Path dir;

	/** Like Spring Boot's launcher, except that it writes the nested jars to files. */
	private static final String LAUNCHER = "package l; import java.io.*; import java.net.*;"
		+ " import java.nio.file.*; import java.util.*; import java.util.jar.*;"
		+ " public class Launcher { public static void main(String[] args) throws Exception {"
		+ " File self = new File(Launcher.class.getProtectionDomain().getCodeSource()"
		+ ".getLocation().toURI()); List<URL> urls = new ArrayList<>();"
		+ " urls.add(new URL(\"jar:\" + self.toURI() + \"!/BOOT-INF/classes/\"));"
		+ " String start; try (JarFile j = new JarFile(self)) { start = j.getManifest()"
		+ ".getMainAttributes().getValue(\"Start-Class\");"
		+ " for (JarEntry e : Collections.list(j.entries()))"
		+ " if (e.getName().endsWith(\".jar\")) {"
		+ " if (e.getMethod() != 0) throw new Exception(e + \" is compressed\");"
		+ " Path p = Files.createTempFile(\"x\", \".jar\"); p.toFile().deleteOnExit();"
		+ " Files.copy(j.getInputStream(e), p, StandardCopyOption.REPLACE_EXISTING);"
		+ " urls.add(p.toUri().toURL()); } }"
		+ " ClassLoader c = new URLClassLoader(urls.toArray(new URL[0]),"
		+ " Launcher.class.getClassLoader()); Thread.currentThread().setContextClassLoader(c);"
		+ " Class.forName(start, true, c).getMethod(\"main\", String[].class)"
		+ ".invoke(null, (Object) args); } }";
	private static final String VOICE = "package b; public interface Voice { String sing()"
		+ " throws Exception; }";
	private static final String HIGH = "package b; public class High implements b.Voice {"
		+ " public String sing() throws Exception { Object lock = new Object(); String[] s = {\"\"};"
		+ " Thread[] t = new Thread[3]; for (int k = 0; k < 3; k++) { t[k] = new Thread(() -> {"
		+ " synchronized (lock) { try { Thread.sleep(2); } catch (InterruptedException e) {}"
		+ " s[0] += \"la\"; } }); t[k].start(); } for (Thread x : t) x.join();"
		+ " String c = t[0].getClass().getName(); try { Class<?> p = Class.forName("
		+ "\"org.ukthreads.pico.PicoThread\"); if (p.isInstance(t[0])) c = p.getName(); }"
		+ " catch (ClassNotFoundException e) { Thread.yield(); }"
		+ " return s[0] + \" \" + c; } }";
	private static final String LOW = HIGH.replace("package b", "package a").replace("High", "Low").replace("\"la\"", "\"lu\"");
	private static final String MAIN = "package a; import b.Voice; import java.util.*; public class Main {"
		+ " public static void main(String[] args) throws Exception {"
		+ " for (Voice v : ServiceLoader.load(Voice.class)) { Thread.yield();"
		+ " System.out.println(v.getClass().getSimpleName() + \" \" + v.sing()); }"
		+ " System.out.println(Main.class.getPackage().getImplementationVersion() + \" \""
		+ " + Low.class.getPackage().getImplementationVersion() + args[0]); } }";
	private static final String SUNG = "High lalala java.lang.Thread\n"
		+ "Low lululu java.lang.Thread\n7 7!\nexit 0";
	private static final String SUNG_BY_US = SUNG.replace("java.lang.Thread",
		"org.ukthreads.pico.PicoThread");

	private final Map<String, byte[]> files = new LinkedHashMap<>();

	/** Compiles the sources, and adds the classes to the entries of the next jar. */
	private void compile(String root, String... sources) throws Exception {
		Path to = Files.createDirectories(dir.resolve("classes" + files.size()));
		for (String s : sources) {
			String name = s.replaceAll("(?s).*?(class|interface) (\\w+).*", "$2");
			Harness.compile(to, name, s, "-cp", dir + java.io.File.pathSeparator
				+ dir.resolve("all"));
			Harness.compile(Files.createDirectories(dir.resolve("all")), name, s, "-cp",
				dir.resolve("all").toString());
		}
		new ClassPath(List.of(to)).entries().forEach((n, b) -> {
			if (n.endsWith(".class"))
				files.put(root + n, b);
		});
	}

	private void text(String name, String s) {
		files.put(name, s.getBytes(StandardCharsets.UTF_8));
	}

	/** Makes a jar of the files so far. */
	private Path jar(String name) throws Exception {
		Path p = dir.resolve(name);
		try (OutputStream o = Files.newOutputStream(p);
				ZipOutputStream z = new ZipOutputStream(o)) {
			for (Map.Entry<String, byte[]> e : files.entrySet()) {
				ZipEntry x = new ZipEntry(e.getKey());
				if (e.getKey().endsWith(".jar")) {
					CRC32 c = new CRC32();
					c.update(e.getValue());
					x.setMethod(ZipEntry.STORED);
					x.setSize(e.getValue().length);
					x.setCrc(c.getValue());
					x.setComment("UNPACK:1");
				}
				z.putNextEntry(x);
				z.write(e.getValue());
			}
		}
		files.clear();
		return p;
	}

	private Path signed(Path jar) throws Exception {
		Path keys = dir.resolve("keys");
		if (!Files.exists(keys))
			assertEquals("exit 0", run(List.of(Paths.get(
				System.getProperty("java.home"), "bin", "keytool").toString(), "-genkeypair",
				"-keystore", keys.toString(), "-storetype", "PKCS12", "-storepass", "secret",
				"-alias", "k", "-keyalg", "EC", "-dname", "CN=k"))
				.replaceFirst("(?s).*(exit \\d+)", "$1"));
		KeyStore s = KeyStore.getInstance(keys.toFile(), "secret".toCharArray());
		KeyStore.Entry k = s.getEntry("k",
			new KeyStore.PasswordProtection("secret".toCharArray()));
		Path out = Paths.get(jar.toString().replace(".jar", "-signed.jar"));
		try (ZipFile in = new ZipFile(jar.toFile());
				OutputStream o = Files.newOutputStream(out)) {
			new JarSigner.Builder((KeyStore.PrivateKeyEntry) k).build().sign(in, o);
		}
		return out;
	}

	private String run(List<String> c) throws Exception {
		Path out = dir.resolve("out");
		ProcessBuilder b = new ProcessBuilder(c).redirectErrorStream(true)
			.redirectOutput(out.toFile());
		b.environment().put("PICO_CACHE", dir.resolve("cache").toString());
		int rc = b.start().waitFor();
		return Files.readString(out) + "exit " + rc;
	}

	private String java(String... words) throws Exception {
		List<String> c = Harness.java();
		c.addAll(List.of(words));
		return run(c);
	}

	/** Returns the identity of the only stored translation. A new one would be another file. */
	private Object kept() throws Exception {
		try (Stream<Path> s = Files.list(dir.resolve("cache"))) {
			List<Path> l = s.filter(p -> p.toString().endsWith(".pico"))
				.collect(Collectors.toList());
			assertEquals(1, l.size());
			return Files.readAttributes(l.get(0), BasicFileAttributes.class).fileKey();
		}
	}

	/** Makes a jar of all that pico.jar has, including the agent. */
	private Path pico() throws Exception {
		ClassPath all = new ClassPath(Arrays.stream(System.getProperty("java.class.path")
			.split(java.io.File.pathSeparator)).filter(p -> p.matches(".*(pico-|asm|dnsjava|slf4j).*")
			&& !p.contains("test-classes")).map(Paths::get).collect(Collectors.toList()));
		all.entries().forEach((n, b) -> {
			if (n.endsWith(".class") && !n.endsWith("module-info.class"))
				files.put(n, b);
		});
		text(ClassPath.RULES, String.join("\n", all.rules()));
		Map<String, byte[]> classes = new LinkedHashMap<>(files);
		files.clear();
		text(JarFile.MANIFEST_NAME, "Manifest-Version: 1.0\n"
			+ "Main-Class: org.ukthreads.pico.cli.Main\n"
			+ "Premain-Class: org.ukthreads.pico.cli.Agent\n"
			+ "Can-Retransform-Classes: true\nAdd-Opens: java.base/java.util\n\n");
		files.putAll(classes);
		return jar("pico.jar");
	}

	private Path boot() throws Exception {
		compile("", VOICE, HIGH);
		text("META-INF/services/b.Voice", "b.High");
		byte[] library = Files.readAllBytes(signed(jar("high.jar")));
		text(JarFile.MANIFEST_NAME, "Manifest-Version: 1.0\nMain-Class: l.Launcher\n"
			+ "Start-Class: a.Main\nImplementation-Version: 7\n\n");
		compile("", LAUNCHER);
		compile("BOOT-INF/classes/", LOW, MAIN);
		text("BOOT-INF/classes/META-INF/services/b.Voice", "a.Low");
		files.put("BOOT-INF/lib/high.jar", library);
		return jar("boot.jar");
	}

	private static String sorted(String s) {
		return Arrays.stream(s.split("\n")).sorted().collect(Collectors.joining("\n"));
	}

	private static void sings(String want, String got) {
		/* The order of the services depends on the launcher. */
		assertEquals(sorted(want.replace("7 7!", "7!").replace("null 7!", "7!")),
			sorted(got.replaceAll("(null|7) (null|7)!", "7!")));
	}

	@Test
	void jars_in_a_jar_are_translated() throws Exception {
		String boot = boot().toString();
		String pico = pico().toString();
		sings(SUNG, java("-jar", boot, "!"));
		/* The agent runs twice. The second time it finds the translation of the first. */
		sings(SUNG_BY_US, java("-javaagent:" + pico, "-jar", boot, "!"));
		Object made = kept();
		sings(SUNG_BY_US, java("-javaagent:" + pico, "-jar", boot, "!"));
		sings(SUNG_BY_US, java("-jar", pico, "run", "-jar", boot, "!"));
		sings(SUNG_BY_US, java("-jar", pico, "run", "-cp", boot, "l.Launcher", "!"));
		assertEquals(made, kept());
		String out = dir.resolve("out.jar").toString();
		String said = java("-jar", pico, "translate", "--verify", boot, "-o", out);
		assertTrue(said.endsWith("exit 0"), said);
		sings(SUNG_BY_US, java("-cp", out + java.io.File.pathSeparator + pico, "l.Launcher", "!"));
		sings(SUNG_BY_US, java("-jar", pico, "run", "--as-is", "-jar", out, "!"));
		try (ZipFile z = new ZipFile(out)) {
			ZipEntry e = z.getEntry("BOOT-INF/lib/high.jar");
			assertEquals(ZipEntry.STORED, e.getMethod());
			assertEquals("UNPACK:1", e.getComment());
			CRC32 c = new CRC32();
			try (InputStream in = z.getInputStream(e)) {
				c.update(in.readAllBytes());
			}
			assertEquals(e.getCrc(), c.getValue());
		}
	}

	/** A scan for the components of a package (as in Spring) asks for the package's folder. */
	@Test
	void the_folders_of_its_classes_are_there() throws Exception {
		for (String folder : List.of("BOOT-INF/", "BOOT-INF/classes/", "BOOT-INF/classes/a/"))
			text(folder, "");
		text("BOOT-INF/classes/a/x", "");
		ClassPath program = new ClassPath(Nested.unfold(List.of(jar("folders.jar"))));
		PicoLoader l = new PicoLoader(Map.of(), program, null);
		assertNotNull(l.getResource("a/x"));
		assertNotNull(l.getResource("a/"));
	}

	/** The starter is in none of our jars: it comes with the program, so it is translated. */
	@Test
	void the_spring_starter_is_the_programs() throws Exception {
		compile("", "package org.ukthreads.pico.durable.spring; public class Made {"
			+ " public void run() { Thread.yield(); } }");
		ClassPath program = new ClassPath(List.of(jar("starter.jar")));
		Map<String, byte[]> out = Translator.of(program, Main.libraries(List.of()),
			new Translator.Options()).run();
		assertTrue(out.containsKey("org/ukthreads/pico/durable/spring/Made$$Pico"),
			out.keySet().toString());
	}

	/**
	 * Signed classes lose their signatures. The JVM must not reject the added classes as forged.
	 */
	@Test
	@Tag("long")
	@Tag("1/3")
	void signed_jars_are_translated() throws Exception {
		compile("", VOICE, HIGH, LOW, MAIN);
		text("META-INF/services/b.Voice", "b.High\na.Low");
		Map<String, byte[]> classes = new LinkedHashMap<>(files);
		files.clear();
		text(JarFile.MANIFEST_NAME, "Manifest-Version: 1.0\nMain-Class: a.Main\n"
			+ "Implementation-Version: 7\n\n");
		files.putAll(classes);
		String jar = signed(jar("plain.jar")).toString();
		String pico = pico().toString();
		assertEquals(SUNG, java("-jar", jar, "!"));
		assertEquals(SUNG_BY_US, java("-jar", pico, "run", "-jar", jar, "!"));
		for (int k = 0; k < 2; k++)
			assertEquals(SUNG_BY_US, java("-javaagent:" + pico, "-jar", jar, "!"));
		String out = dir.resolve("out.jar").toString();
		String said = java("-jar", pico, "translate", jar, "-o", out);
		assertTrue(said.endsWith("exit 0"), said);
		assertEquals(SUNG_BY_US, java("-cp", out + java.io.File.pathSeparator + pico, "a.Main",
			"!"));
	}

	/** What the JDK's pools and a program's own loaders find, by all ways to run it. */
	@Test
	void pools_have_the_programs_loader_and_others_load_the_same_class() throws Exception {
		Path classes = Harness.compile(Files.createDirectories(dir.resolve("loaders")), "Main",
			Files.readString(Path.of("src/test/resources/loaders/Main.java")));
		Files.writeString(Files.createDirectories(classes.resolve("META-INF/services"))
			.resolve("Main$Greeter"), "Main$English");
		String[] words = {"-cp", classes.toString(), "Main"};
		String want = pooled(words);
		assertTrue(want.contains("common pool truehello true") && want.endsWith("exit 0"), want);
		assertEquals(want, pooled("-cp", System.getProperty("java.class.path"),
			"org.ukthreads.pico.cli.Main", "run", "-cp", classes.toString(), "Main"));
		assertEquals(want, pooled("-javaagent:" + pico(), "-cp", classes.toString(), "Main"));
	}

	/** Late is no class of the program: its say() calls super.say(), which waits. */
	private static final String HOST = "package h; import java.lang.invoke.MethodHandles;"
		+ " import java.net.*; import java.nio.file.*; public class Host {"
		+ " public String say() throws Exception { Thread.sleep(1); return \"host\"; }"
		+ " static class Own extends URLClassLoader { Own(URL[] u) {"
		+ " super(u, Host.class.getClassLoader()); } }"
		+ " static Class<?> late(String how, Path dir) throws Exception {"
		+ " URL[] u = {dir.toUri().toURL()}; ClassLoader me = Host.class.getClassLoader();"
		+ " switch (how) { case \"lookup\": return MethodHandles.lookup().defineClass("
		+ "Files.readAllBytes(dir.resolve(\"h/Late.class\")));"
		+ " case \"url\": return new URLClassLoader(u, me).loadClass(\"h.Late\");"
		+ " case \"instance\": return URLClassLoader.newInstance(u, me).loadClass(\"h.Late\");"
		+ " default: return new Own(u).loadClass(\"h.Late\"); } }"
		+ " public static void main(String[] args) throws Exception { Host h = (Host) late(args[0],"
		+ " Paths.get(args[1])).getConstructor().newInstance(); Thread t = new Thread(() -> {"
		+ " try { System.out.println(h.say() + \" \" + h.say()); }"
		+ " catch (Exception e) { System.out.println(e); } }); t.start(); t.join(); } }";

	@Test
	void classes_from_elsewhere_pin_and_lose_no_frame() throws Exception {
		compile("", HOST);
		String jar = jar("host.jar").toString();
		String late = Harness.compile(Files.createDirectories(dir.resolve("late")), "Late",
			"package h; public class Late extends Host { public String say() throws Exception {"
			+ " return super.say() + \" late\"; } }", "-cp", jar).toString();
		String pico = pico().toString();
		String out = dir.resolve("out.jar").toString();
		assertTrue(java("-jar", pico, "translate", jar, "-o", out).endsWith("exit 0"));
		String both = out + java.io.File.pathSeparator + pico;
		String want = "host late host late\nexit 0";
		for (String how : List.of("lookup", "url", "instance", "own")) {
			assertEquals(want, java("-cp", jar, "h.Host", how, late));
			assertEquals(want, java("-jar", pico, "run", "-cp", jar, "h.Host", how, late), how);
			assertEquals(want, java("-Dpico.progress=false", "-javaagent:" + pico, "-cp", jar,
				"h.Host", how, late), how);
			assertEquals(want, java("-cp", both, "h.Host", how, late), how);
		}
	}

	/**
	 * As Mockito's inline mocks: calls that the translator has not seen, in a translated class.
	 * The names of two methods are exchanged in its file.
	 */
	private static final String REWRITER = "import java.lang.instrument.*; import java.util.*;"
		+ " import java.util.function.*; import java.nio.charset.StandardCharsets;"
		+ " public class Rewriter { static Instrumentation inst;"
		+ " public static void premain(String a, Instrumentation i) { inst = i; }"
		+ " static class Slow implements Supplier<Object> { public Object get() { try {"
		+ " Thread.sleep(5); } catch (InterruptedException e) {} return \"slow\"; }"
		+ " Object gut() { return \"fast\"; } }"
		+ " static class User { Object use(Slow s) { return s.gut(); }"
		+ " void waits() throws Exception { Thread.sleep(1); } }"
		+ " public static void main(String[] args) throws Exception { Slow s = new Slow();"
		+ " User u = new User(); u.waits();"
		+ " System.out.println(u.use(s) + \" \" + Optional.empty().orElseGet(s));"
		+ " inst.addTransformer(new ClassFileTransformer() { public byte[] transform("
		+ "ClassLoader l, String n, Class<?> k, java.security.ProtectionDomain d, byte[] b) {"
		+ " return k != User.class ? null : new String(b, StandardCharsets.ISO_8859_1)"
		+ ".replace(\"\\3gut\", \"\\3get\").getBytes(StandardCharsets.ISO_8859_1); } }, true);"
		+ " inst.retransformClasses(User.class); Thread[] ts = new Thread[2];"
		+ " List<Object> got = Collections.synchronizedList(new ArrayList<>());"
		+ " for (int k = 0; k < 2; k++) { ts[k] = new Thread(() -> got.add(u.use(s)));"
		+ " ts[k].start(); } for (Thread t : ts) t.join(); System.out.println(got); } }";

	@Test
	void calls_that_an_agent_inserts_pin() throws Exception {
		compile("", REWRITER);
		Map<String, byte[]> classes = new LinkedHashMap<>(files);
		files.clear();
		text(JarFile.MANIFEST_NAME, "Manifest-Version: 1.0\nPremain-Class: Rewriter\n"
			+ "Can-Retransform-Classes: true\n\n");
		files.putAll(classes);
		String jar = jar("rewriter.jar").toString();
		String[] words = {"-Dpico.progress=false", "-javaagent:" + jar, "-cp", jar, "Rewriter"};
		String want = "fast slow\n[slow, slow]\nexit 0";
		assertEquals(want, java(words));
		words[1] = "-javaagent:" + pico();
		List<String> both = new ArrayList<>(List.of(words));
		both.add(2, "-javaagent:" + jar);
		assertEquals(want, java(both.toArray(new String[0])));
	}

	/** With one processor the JDK's futures would not use the common pool. */
	private String pooled(String... words) throws Exception {
		List<String> all = new ArrayList<>(List.of("-Dpico.progress=false",
			"-Djava.util.concurrent.ForkJoinPool.common.parallelism=3"));
		all.addAll(List.of(words));
		return java(all.toArray(new String[0]));
	}

	/**
	 * The agent does not translate the current folder instead, and starts no second JVM that looks
	 * for the module.
	 */
	@Test
	void modules_are_left_alone_by_the_agent_which_says_so() throws Exception {
		Path mods = Files.createDirectories(dir.resolve("mods/m"));
		Path src = Files.createDirectories(dir.resolve("src/a"));
		Path info = Files.writeString(dir.resolve("src/module-info.java"), "module m {}");
		Path main = Files.writeString(src.resolve("M.java"), "package a; public class M {"
			+ " public static void main(String[] s) { System.out.println(M.class.getModule());"
			+ " } }");
		assertEquals(0, javax.tools.ToolProvider.getSystemJavaCompiler().run(null, null, null,
			"-d", mods.toString(), info.toString(), main.toString()));
		String said = java("-Dpico.progress=false", "-javaagent:" + pico(), "-p",
			dir.resolve("mods").toString(), "-m", "m/a.M");
		assertTrue(said.matches("pico: classes on the module path are not translated.*\\n"
			+ "module m\\nexit 0"), said);
	}
}
