// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.analyse.Hot;
import org.ukthreads.pico.translate.read.ClassPath;

/** Translates fixtures into a folder and runs them in JVMs of their own. */
final class Children {
	/** The resources of a program that has none. */
	static final ClassPath NOTHING = new ClassPath(List.of());

	private Children() {}

	static List<Path> pico() {
		return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter(p -> p.contains("pico-") && !p.contains("test-classes")
				&& !p.contains("pico-translate")).map(Paths::get)
			.collect(Collectors.toList());
	}

	/** JDBC drivers on the class path. */
	static String drivers() {
		return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter(p -> p.matches(".*/(h2|sqlite-jdbc|postgresql|mariadb-java-client|slf4j-[a-z]+)-[^/]*\\.jar"))
			.collect(Collectors.joining(File.pathSeparator));
	}

	/** The class files of a fixture: the class and its nested ones. */
	static Path copy(Path to, Class<?> c) throws Exception {
		Path dir = Paths.get(c.getProtectionDomain().getCodeSource().getLocation().toURI())
			.resolve(c.getPackageName().replace('.', '/'));
		Path out = to.resolve(c.getPackageName().replace('.', '/'));
		Files.createDirectories(out);
		try (Stream<Path> s = Files.list(dir)) {
			for (Path p : (Iterable<Path>) s::iterator)
				if (p.getFileName().toString().matches(c.getSimpleName() + "(\\$.*)?\\.class"))
					Files.copy(p, out.resolve(p.getFileName()));
		}
		return to;
	}

	static Map<String, byte[]> translate(Path from) {
		return translate(from, new Translator.Options());
	}

	private static Map<String, byte[]> translate(Path from, Translator.Options o) {
		return Translator.of(new ClassPath(List.of(from)), new ClassPath(pico()), o).run();
	}

	static Path translated(Path from, Path to) throws Exception {
		return write(translate(from), to);
	}

	/** Translates with that value of -Dpico.hot: all methods suspend by returning, or none. */
	static Path translated(Path from, Path to, String hot) throws Exception {
		Translator.Options o = new Translator.Options();
		o.hot = Hot.of(hot);
		return write(translate(from, o), to);
	}

	private static Path write(Map<String, byte[]> classes, Path to) throws Exception {
		for (Map.Entry<String, byte[]> e : classes.entrySet()) {
			Path f = to.resolve(e.getKey() + ".class");
			Files.createDirectories(f.getParent());
			Files.write(f, e.getValue());
		}
		return to;
	}

	/** Starts a JVM whose output and errors go to the file. */
	static Process run(Path home, Path classes, Path out, String main, String... args)
			throws Exception {
		return run(home, List.of("-cp", classes + File.pathSeparator + pico().stream()
			.map(Path::toString).collect(Collectors.joining(File.pathSeparator))), out, main,
			args);
	}

	static Process run(Path home, List<String> options, Path out, String main,
			String... args) throws Exception {
		List<String> c = new ArrayList<>();
		c.add(home.resolve("bin/java").toString());
		c.addAll(List.of("-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xmx256m"));
		c.addAll(options);
		c.add(main);
		c.addAll(Arrays.asList(args));
		return new ProcessBuilder(c).redirectErrorStream(true)
			.redirectOutput(ProcessBuilder.Redirect.appendTo(out.toFile())).start();
	}

	/** Makes one jar of the classes and of all of pico. A class data archive can be made of it. */
	static Path jar(Path classes, Path to) throws Exception {
		List<Path> from = new ArrayList<>(List.of(classes));
		from.addAll(pico());
		Map<String, byte[]> entries = new ClassPath(from).entries();
		try (ZipOutputStream z = new ZipOutputStream(Files.newOutputStream(to))) {
			for (Map.Entry<String, byte[]> e : entries.entrySet()) {
				z.putNextEntry(new ZipEntry(e.getKey()));
				z.write(e.getValue());
			}
		}
		return to;
	}

	static Path home() {
		return Paths.get(System.getProperty("java.home"));
	}

	/** Returns the JDKs of -Dpico.jdks=HOME:HOME... and those in /usr/lib/jvm. */
	static List<Path> homes() throws Exception {
		List<Path> l = new ArrayList<>();
		for (String h : System.getProperty("pico.jdks", "").split(File.pathSeparator))
			if (!h.isEmpty())
				l.add(Paths.get(h));
		if (Files.isDirectory(Paths.get("/usr/lib/jvm")))
			try (Stream<Path> s = Files.list(Paths.get("/usr/lib/jvm"))) {
				s.filter(p -> !Files.isSymbolicLink(p)).forEach(l::add);
			}
		l.removeIf(p -> !Files.isExecutable(p.resolve("bin/java")));
		return l;
	}
}
