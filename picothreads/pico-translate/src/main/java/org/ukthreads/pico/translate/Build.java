// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.objectweb.asm.ClassReader;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * Translates a library of ours during its build: a folder of classes, in place, marked so that
 * programs can be translated against it. Classes that an earlier run has translated stay as they
 * are.
 */
public final class Build {
	private Build() {}

	/** Arguments: the folder, and the class path that it was compiled with. */
	public static void main(String[] args) throws IOException {
		Path dir = Paths.get(args[0]);
		List<Path> path = new ArrayList<>();
		for (String p : args[1].split(File.pathSeparator))
			if (!Paths.get(p).equals(dir))
				path.add(Paths.get(p));
		Translator.Options o = new Translator.Options();
		o.library = true;
		o.verify = true;
		System.out.print(inPlace(dir, path, o).text(false));
	}

	private static final String RUNTIME = "org/ukthreads/pico/PicoThread.class";

	/**
	 * The warning of a plugin about a class path without the runtime; empty if it has the runtime.
	 */
	public static String lacks(List<Path> path) throws IOException {
		for (Path p : path)
			if (has(p, RUNTIME))
				return "";
		return "not translated, and its threads stay JVM threads: add a dependency on"
			+ " org.ukthreads.pico:pico-juc";
	}

	private static boolean has(Path p, String entry) throws IOException {
		if (!Files.isRegularFile(p))
			return Files.exists(p.resolve(entry));
		try (ZipFile z = new ZipFile(p.toFile())) {
			return z.getEntry(entry) != null;
		} catch (ZipException e) {
			/* Not a jar, for example a pom. */
			return false;
		}
	}

	/** Translates a folder of classes in place. */
	public static Report inPlace(Path dir, List<Path> path, Translator.Options o)
			throws IOException {
		finish(dir);
		ClassPath program = new ClassPath(List.of(dir));
		ClassPath libraries = new ClassPath(path);
		byte[] old = program.entries().get(STAMPS);
		Set<String> done = new TreeSet<>();
		if (old != null)
			done.addAll(List.of(new String(old, StandardCharsets.UTF_8).split("\n")));
		Translator t = Translator.over(libraries, program, o);
		boolean made = program.entries().entrySet().stream().anyMatch(e ->
			ClassPath.isClass(e.getKey(), e.getValue()) && !isTranslated(e.getValue())
			&& !done.contains(stamp(e.getKey(), e.getValue()))
			&& !done.contains(SAME + stamp(e.getKey(), e.getValue())));
		program.entries().forEach((name, b) -> {
			if (!ClassPath.isClass(name, b))
				return;
			if (done.contains(stamp(name, b)) || isTranslated(b)
					|| !made && done.contains(SAME + stamp(name, b)))
				t.library(b);
			else
				t.add(b);
		});
		Path aside = dir.resolve(ASIDE);
		Set<String> replaced = new TreeSet<>();
		for (Map.Entry<String, byte[]> e : t.run().entrySet()) {
			String name = e.getKey() + ".class";
			byte[] before = program.entries().get(name);
			if (Arrays.equals(before, e.getValue())) {
				if (!done.contains(stamp(name, before)))
					done.add(SAME + stamp(name, before));
				continue;
			}
			done.add(stamp(name, e.getValue()));
			if (before != null)
				replaced.add(stamp(name, before));
			write(aside.resolve(name), e.getValue());
		}
		write(aside.resolve(STAMPS), lines(done));
		write(aside.resolve(REPLACED), lines(replaced));
		Files.move(aside, dir.resolve(READY), StandardCopyOption.ATOMIC_MOVE);
		finish(dir);
		return t.report();
	}

	/*
	 * A run may be killed at any time, and the next one must not take its partial output for
	 * classes of the compiler. So everything is first written to ASIDE, which is then renamed to
	 * READY and moved into place by this run or the next. A class that the compiler has remade
	 * since then is not overwritten.
	 */
	private static final String ASIDE = "META-INF/pico/aside";
	private static final String READY = "META-INF/pico/ready";
	private static final String REPLACED = "META-INF/pico/replaced";

	private static void finish(Path dir) throws IOException {
		delete(dir.resolve(ASIDE));
		Path ready = dir.resolve(READY);
		Path list = ready.resolve(REPLACED);
		if (Files.exists(list)) {
			Set<String> replaced = Set.of(Files.readString(list).split("\n"));
			for (Path f : files(ready)) {
				String name = ready.relativize(f).toString().replace('\\', '/');
				Path to = dir.resolve(name);
				if (f.equals(list) || Files.exists(to) && !name.equals(STAMPS)
						&& !replaced.contains(stamp(name, Files.readAllBytes(to))))
					continue;
				Files.createDirectories(to.getParent());
				Files.move(f, to, StandardCopyOption.REPLACE_EXISTING);
			}
			Files.delete(list);
		}
		delete(ready);
	}

	private static List<Path> files(Path dir) throws IOException {
		try (Stream<Path> s = Files.walk(dir)) {
			return s.filter(Files::isRegularFile).collect(Collectors.toList());
		}
	}

	private static void delete(Path dir) throws IOException {
		if (!Files.exists(dir))
			return;
		try (Stream<Path> s = Files.walk(dir)) {
			for (Path f : s.sorted(Comparator.reverseOrder()).collect(Collectors.toList()))
				Files.delete(f);
		}
	}

	private static void write(Path f, byte[] b) throws IOException {
		Files.createDirectories(f.getParent());
		Files.write(f, b);
	}

	private static byte[] lines(Set<String> s) {
		return String.join("\n", s).getBytes(StandardCharsets.UTF_8);
	}

	/**
	 * What earlier runs wrote, as name and CRC. A class that the compiler has remade since then is
	 * translated again; one that is still a run's output is not (it would be bracketed twice). A
	 * class that does not change is marked SAME, and is analysed again if another class was remade:
	 * a class outside the analysis is assumed to do anything, and a library's guards would become
	 * our monitors.
	 */
	private static final String SAME = "=";
	private static final String STAMPS = "META-INF/pico/stamps";

	private static String stamp(String name, byte[] b) {
		CRC32 c = new CRC32();
		c.update(b);
		return name + ' ' + Long.toHexString(c.getValue());
	}

	/** True if the class was translated: it is a companion or names its companion. */
	public static boolean isTranslated(byte[] file) {
		String name = new ClassReader(file).getClassName();
		return name.endsWith("$$Pico")
			|| new String(file, StandardCharsets.ISO_8859_1).contains(name + "$$Pico");
	}
}
