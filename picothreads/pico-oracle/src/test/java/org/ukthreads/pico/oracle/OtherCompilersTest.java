// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.Chaos;
import org.ukthreads.pico.Dump;
import org.ukthreads.pico.PicoThread;
import org.ukthreads.pico.Pins;
import org.ukthreads.pico.Reflect;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * Programs of other compilers, with their libraries, print the same as they are, translated, and
 * with forced suspensions. The compilers need -Dpico.oracle=full.
 */
final class OtherCompilersTest {
	private static final List<Path> PATH = Arrays.stream(System.getProperty("java.class.path")
		.split(File.pathSeparator)).map(Paths::get).collect(Collectors.toList());

	@TempDir
	Path dir;

	private static List<Path> jars(String name) {
		return PATH.stream().filter(p -> p.getFileName().toString().matches(name))
			.collect(Collectors.toList());
	}

	private static boolean has(String type) {
		try {
			Class.forName(type);
			return true;
		} catch (ClassNotFoundException e) {
			return false;
		}
	}

	private Path source(String name) throws Exception {
		try (var in = getClass().getResourceAsStream("/others/" + name)) {
			return Files.write(dir.resolve(name), in.readAllBytes());
		}
	}

	private static String path(List<Path> l) {
		return l.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
	}

	/** Runs a compiler in its own JVM, which it may end. */
	private void compile(String main, String... args) throws Exception {
		List<String> c = new ArrayList<>(List.of(Paths.get(System.getProperty("java.home"),
			"bin", "java").toString(), "-Xmx1g", "-XX:TieredStopAtLevel=1", "-cp", path(PATH),
			main));
		c.addAll(List.of(args));
		Process p = new ProcessBuilder(c).redirectErrorStream(true).start();
		String out = new String(p.getInputStream().readAllBytes());
		assertEquals(0, p.waitFor(), out);
	}

	@Test
	void a_kotlin_program_prints_the_same() throws Exception {
		assumeTrue(has("org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"), "no Kotlin compiler");
		List<Path> library = jars("kotlin-stdlib-[0-9.]*\\.jar|annotations-13.*\\.jar");
		Path out = Files.createDirectories(dir.resolve("out"));
		compile("org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", source("Kotlin.kt").toString(),
			"-d", out.toString(), "-no-stdlib", "-no-reflect", "-cp", path(library));
		same(out, library, "KotlinKt", new Class<?>[0]);
	}

	@Test
	void a_scala_program_prints_the_same() throws Exception {
		assumeTrue(has("scala.tools.nsc.Main"), "no Scala compiler");
		List<Path> library = jars("scala-library-.*\\.jar");
		Path out = Files.createDirectories(dir.resolve("out"));
		compile("scala.tools.nsc.Main", "-d", out.toString(), "-cp", path(library),
			source("Scala.scala").toString());
		same(out, library, "Scala", new Class<?>[] {String[].class});
	}

	private static void same(Path classes, List<Path> library, String main, Class<?>[] type)
			throws Exception {
		List<Path> all = new ArrayList<>(List.of(classes));
		all.addAll(library);
		ClassPath program = new ClassPath(all);
		ClassPath ours = new ClassPath(PATH.stream().filter(p -> p.toString().matches(
			".*[/\\\\]pico-(rt|juc|net)[/\\\\].*")).collect(Collectors.toList()));
		Map<String, byte[]> m = new LinkedHashMap<>();
		program.entries().forEach((n, b) -> {
			if (n.endsWith(".class"))
				m.put(n.substring(0, n.length() - 6), b);
		});
		Object[] args = type.length == 0 ? new Object[0] : new Object[] {new String[0]};
		Method plain = new PicoLoader(m, program, parent()).loadClass(main)
			.getMethod("main", type);
		String want = printed(new Thread(() -> {
			try {
				plain.invoke(null, args);
			} catch (ReflectiveOperationException e) {
				System.out.println("threw " + e.getCause());
			}
		}, "main"));
		assertTrue(want.length() > 200 && !want.contains("BAD"), want);
		long lost = Pins.lostFrames();
		for (boolean chaos : new boolean[] {false, true}) {
			Translator.Options o = new Translator.Options();
			o.chaos = chaos;
			Map<String, byte[]> out = Translator.of(program, ours, o).run();
			for (int every : chaos ? new int[] {3, 50} : new int[] {0}) {
				/* A loader for each run: a library may keep System.out. */
				Method run = new PicoLoader(out, program, parent()).loadClass(main)
					.getMethod("main", type);
				Chaos.set(every, 7);
				assertEquals(want, printed(new PicoThread(null, Reflect.task(run, args),
					"main")), "seed 7 every " + every);
			}
			Chaos.set(0, 1);
		}
		assertEquals(lost, Pins.lostFrames());
	}

	/** Has the runtime, but neither of the libraries. */
	private static ClassLoader parent() {
		return new ClassLoader(OtherCompilersTest.class.getClassLoader()) {
			@Override
			protected Class<?> loadClass(String name, boolean resolve)
					throws ClassNotFoundException {
				if (name.startsWith("kotlin.") || name.startsWith("scala."))
					throw new ClassNotFoundException(name);
				return super.loadClass(name, resolve);
			}
		};
	}

	private static String printed(Thread t) throws Exception {
		PrintStream old = System.out;
		ByteArrayOutputStream b = new ByteArrayOutputStream();
		System.setOut(new PrintStream(b, true, "UTF-8"));
		try {
			t.setUncaughtExceptionHandler((x, e) -> e.printStackTrace(System.out));
			t.start();
			long end = System.nanoTime() + 120_000_000_000L;
			while (t.getState() != Thread.State.TERMINATED) {
				if (System.nanoTime() > end)
					throw new IllegalStateException("hangs\n" + b + Dump.all());
				Thread.sleep(5);
			}
		} finally {
			System.setOut(old);
		}
		return b.toString("UTF-8");
	}
}
