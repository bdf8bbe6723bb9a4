// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.objectweb.asm.ClassReader;
import org.ukthreads.pico.translate.Report;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/*
 * One library: its jar and the jar of its tests, laid out once per mode. Each mode runs in its own
 * JVM, with every class verified.
 *
 *   plain/    as published, with the commons libraries that it and its tests use
 *   pico/     translated, with the assertions of JUnit (they call the tests' lambdas back)
 *   chaos/    the same with a possible suspension at the entry of every method; also for
 *             the mode reload, where a stopped fiber continues with loaded frames
 *   cwd/      src/test/resources, where the tests look for files
 */
public final class Oracle {
	/** One mode's outcome: test to "ok" or what went wrong; "#..." are counts. */
	public static final class Run {
		public final Map<String, String> tests = new TreeMap<>();
		public final Map<String, Long> counts = new TreeMap<>();
		public String failure = "";
	}

	private static final Pattern TEST = Pattern.compile(
		"(.*/)?(Test[^/$]*|[^/$]*Tests?|[^/$]*TestCase)\\.class");
	/*
	 * Left out unless classes are named: measurements; tests that need an OSGi container; 2,037
	 * tests of the JDK's time zone names, some of which take a minute each.
	 */
	private static final Pattern LEFT_OUT = Pattern.compile(
		".*(jmh_generated|PerformanceTest|Osgi.*ITest|FastDateParser_TimeZoneStrategyTest).*");
	/** Compilers for OtherCompilersTest, which the libraries do not use. */
	private static final Pattern TOOLS = Pattern.compile(
		"(kotlin|kotlinx|scala|trove4j|jline|jna|java-diff-utils|annotations)-.*");
	private static final Pattern ASSERTIONS = Pattern.compile(
		"org/junit/jupiter/api/Assert[^/]*\\.class|org/junit/Assert\\.class"
		+ "|org/junit/function/.*\\.class|org/junit/internal/[^/]*Comparison[^/]*\\.class"
		+ "|junit/framework/Assert\\.class");

	private final String artifact;
	private final Pattern only;
	private final Path work;
	private final List<Path> path;
	private final Path jar;
	private final Path tests;
	private ClassPath program;
	private ClassPath libraries;
	private final Map<String, Report> reports = new LinkedHashMap<>();

	/** only: pattern of the class names (a.b.C) that take part. */
	public Oracle(String artifact, String only, Path work) throws IOException {
		this.artifact = artifact;
		this.only = Pattern.compile(only);
		this.work = work.resolve(artifact).toAbsolutePath();
		path = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
			.map(Paths::get).filter(p -> !TOOLS.matcher(p.getFileName().toString()).matches())
			.collect(Collectors.toList());
		jar = find("\\.jar");
		tests = find("-tests\\.jar");
	}

	private Path find(String end) {
		Pattern p = Pattern.compile(Pattern.quote(artifact) + "-[0-9][0-9.]*" + end);
		return path.stream().filter(f -> p.matcher(f.getFileName().toString()).matches())
			.findFirst().orElseThrow(() -> new IllegalStateException(
				"not on the class path: " + p));
	}

	private static boolean ours(Path p) {
		return p.toString().matches(".*[/\\\\]((pico-(rt|juc|net|durable|translate|oracle))|asm|dnsjava|slf4j).*");
	}

	private void lay() throws IOException {
		if (program != null)
			return;
		delete(work);
		Path plain = work.resolve("plain");
		ClassPath both = new ClassPath(List.of(jar, tests));
		both.entries().forEach((n, b) -> write(plain.resolve(n), b));
		ClassPath all = new ClassPath(path.stream().filter(p -> !p.toString()
			.endsWith("-tests.jar")).collect(Collectors.toList()));
		uses(both).forEach((n, b) -> write(plain.resolve(n), b));
		all.entries().forEach((n, b) -> {
			if (ASSERTIONS.matcher(n).matches() || n.startsWith("org/ukthreads/oracle/"))
				write(plain.resolve(n), b);
		});
		new ClassPath(List.of(tests)).entries().forEach((n, b) -> {
			if (!n.endsWith(".class") && !n.startsWith("META-INF/"))
				write(work.resolve("cwd/src/test/resources").resolve(n), b);
		});
		program = new ClassPath(List.of(plain));
		libraries = all;
	}

	/** The classes of other libraries that these use: they are part of the program. */
	private Map<String, byte[]> uses(ClassPath these) {
		Map<String, byte[]> others = new HashMap<>();
		path.stream().filter(p -> !p.equals(jar)
			&& p.getFileName().toString().matches("commons-.*-[0-9.]*\\.jar"))
			.forEach(p -> others.putAll(new ClassPath(List.of(p)).entries()));
		others.keySet().removeIf(n -> !ClassPath.isClass(n));
		Map<String, byte[]> used = new TreeMap<>();
		ArrayDeque<byte[]> todo = new ArrayDeque<>();
		these.entries().forEach((n, b) -> {
			if (ClassPath.isClass(n))
				todo.add(b);
		});
		for (byte[] file; (file = todo.poll()) != null;)
			for (String n : referred(file)) {
				byte[] b = others.remove(n);
				if (b != null) {
					used.put(n, b);
					todo.add(b);
				}
			}
		return used;
	}

	private static Set<String> referred(byte[] file) {
		Set<String> names = new HashSet<>();
		ClassReader r = new ClassReader(file);
		char[] buffer = new char[r.getMaxStringLength()];
		for (int k = 1; k < r.getItemCount(); k++)
			if (r.getItem(k) > 0 && r.readByte(r.getItem(k) - 1) == CLASS)
				names.add(r.readUTF8(r.getItem(k), buffer) + ".class");
		return names;
	}

	/** The tag of a class in a constant pool. */
	private static final int CLASS = 7;

	/** Translates once. Returns the folder of the mode's classes. */
	private Path layout(String mode) throws IOException {
		lay();
		Path dir = work.resolve(mode);
		if (Files.exists(dir))
			return dir;
		Translator.Options o = new Translator.Options();
		o.chaos = mode.equals("chaos");
		Translator t = Translator.of(program, libraries, o);
		Map<String, byte[]> out = t.run();
		program.entries().forEach((n, b) -> write(dir.resolve(n), b));
		out.forEach((n, b) -> write(dir.resolve(n + ".class"), b));
		reports.put(mode, t.report());
		return dir;
	}

	/** The report of the translation, after run(mode). */
	public Report report(String mode) {
		return reports.get(mode.equals("reload") ? "chaos" : mode);
	}

	/** The classes to run: those that Surefire would take. */
	private List<String> classes() {
		return new TreeSet<>(new ClassPath(List.of(tests)).entries().keySet()).stream()
			.filter(n -> TEST.matcher(n).matches())
			.filter(n -> !only.pattern().equals(".*") || !LEFT_OUT.matcher(n).matches())
			.map(n -> n.substring(0, n.length() - 6).replace('/', '.'))
			.filter(n -> only.matcher(n).matches()).collect(Collectors.toList());
	}

	/** mode: plain, pico, chaos or reload; every 0: no chaos; ids null: all. */
	public Run run(String mode, int every, long seed, List<String> ids)
			throws IOException, InterruptedException {
		Path dir = layout(mode.equals("reload") ? "chaos" : mode);
		List<String> what = ids != null ? ids : classes();
		Path out = work.resolve(mode + (ids != null ? "-again" : "") + ".out");
		Path list = Files.write(work.resolve(mode + ".list"), what);
		List<String> c = new ArrayList<>(List.of(
			Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
			"-Xmx1g", "-Xss2m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-Xverify:all", "-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US",
			"-Djava.io.tmpdir=" + Files.createDirectories(work.resolve("tmp"))));
		for (String p : new String[] {"java.lang", "java.lang.reflect", "java.util",
				"java.util.concurrent", "java.util.stream", "java.time", "java.time.chrono",
				"java.net", "java.io", "java.text", "java.util.regex", "sun.nio.ch",
				"java.nio", "jdk.internal.misc"}) {
			c.add("--add-opens");
			c.add("java.base/" + p + "=ALL-UNNAMED");
		}
		c.add("-cp");
		c.add(path.stream().filter(Oracle::ours).map(Path::toString)
			.collect(Collectors.joining(File.pathSeparator)));
		/* A test that spins until another thread acts needs a second carrier. */
		if (mode.equals("pico"))
			c.add("-Dpico.carriers=2");
		/* Also tests the frames of a crowd: packed at each stop. */
		if (mode.equals("chaos"))
			c.add("-Dpico.crowd=-1");
		c.addAll(List.of(Worker.class.getName(), mode.equals("chaos") ? "pico" : mode,
			"" + every, "" + seed, out.toString(), list.toString(), dir + File.separator));
		path.stream().filter(p -> !ours(p) && !p.equals(jar)
			&& !p.toString().endsWith("-tests.jar")).forEach(p -> c.add(p.toString()));
		Path log = work.resolve(mode + ".log");
		Process p = new ProcessBuilder(c).directory(Files.createDirectories(
			work.resolve("cwd")).toFile()).redirectErrorStream(true)
			.redirectOutput(log.toFile()).start();
		Run r = new Run();
		try {
			if (!p.waitFor(20, TimeUnit.MINUTES))
				r.failure = "time limit reached, see " + log;
			else if (p.exitValue() != 0)
				r.failure = "exit " + p.exitValue() + ", see " + log;
		} finally {
			p.destroyForcibly().waitFor();
		}
		read(out, r);
		if (r.failure.isEmpty() && !r.counts.containsKey("lost"))
			r.failure = "output incomplete, see " + log;
		return r;
	}

	private static void read(Path out, Run r) throws IOException {
		if (!Files.exists(out))
			return;
		for (String s : Files.readAllLines(out)) {
			String[] part = s.split("\t");
			if (part.length < 3)
				continue;
			String id = part[0];
			String v = part[1];
			if (id.startsWith("#"))
				r.counts.put(id.substring(1), Long.parseLong(v));
			else
				r.tests.merge(id, v, (x, y) -> x.equals("ok") ? y : x);
		}
	}

	/** Tests whose outcome differs, to both outcomes. */
	public static Map<String, String> differences(Run a, Run b) {
		Map<String, String> d = new TreeMap<>();
		TreeSet<String> ids = new TreeSet<>(a.tests.keySet());
		ids.addAll(b.tests.keySet());
		for (String id : ids) {
			if (differs(a, b, id))
				d.put(id, "original: " + a.tests.get(id) + "\n  translated: "
					+ b.tests.get(id));
		}
		return d;
	}

	public static boolean differs(Run a, Run b, String id) {
		return !kind(a.tests.getOrDefault(id, "MISSING")).equals(
			kind(b.tests.getOrDefault(id, "MISSING")));
	}

	private static String kind(String s) {
		int k = s.indexOf(' ');
		return k < 0 ? s : s.substring(0, k);
	}

	private static void write(Path to, byte[] b) {
		try {
			Files.createDirectories(to.getParent());
			Files.write(to, b);
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	private static void delete(Path dir) throws IOException {
		if (!Files.exists(dir))
			return;
		List<Path> all;
		try (var s = Files.walk(dir)) {
			all = s.collect(Collectors.toList());
		}
		for (int k = all.size() - 1; k >= 0; k--)
			Files.delete(all.get(k));
	}
}
