// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.ukthreads.pico.Dump;
import org.ukthreads.pico.PicoThread;
import org.ukthreads.pico.Pins;
import org.ukthreads.pico.Reflect;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/** Runs the same classes (and jars) untranslated and translated, and returns what they print. */
final class Harness {
	private static final String[] PATH = System.getProperty("java.class.path")
		.split(File.pathSeparator);
	private static ClassPath libraries;

	private Harness() {}

	private static synchronized ClassPath libraries() {
		if (libraries == null)
			libraries = new ClassPath(Arrays.stream(PATH)
				.filter(p -> p.matches(".*pico-(rt|juc|net)[/-].*"))
				.filter(p -> !p.contains("test-classes")).map(Paths::get)
				.collect(Collectors.toList()));
		return libraries;
	}

	/** Returns the program: the classes of the fixture, and the jars of these artifacts. */
	static List<Path> program(Path to, Class<?> c, String... jars) throws Exception {
		Path dir = Paths.get(c.getProtectionDomain().getCodeSource().getLocation().toURI())
			.resolve(c.getPackageName().replace('.', '/'));
		Path out = to.resolve(c.getPackageName().replace('.', '/'));
		Files.createDirectories(out);
		try (var s = Files.list(dir)) {
			for (Path p : (Iterable<Path>) s::iterator)
				if (p.getFileName().toString().matches(c.getSimpleName() + "(\\$.*)?\\.class"))
					Files.copy(p, out.resolve(p.getFileName()));
		}
		List<Path> all = new ArrayList<>(List.of(to));
		for (String j : jars)
			all.add(jar(j));
		return all;
	}

	private static Path jar(String start) {
		for (String p : PATH)
			if (Paths.get(p).getFileName().toString().matches(start + "-[0-9].*\\.jar"))
				return Paths.get(p);
		throw new IllegalStateException(start + " is not on the class path");
	}

	static String plain(List<Path> program, Class<?> main, String... args) throws Exception {
		URL[] urls = new URL[program.size()];
		for (int k = 0; k < urls.length; k++)
			urls[k] = program.get(k).toUri().toURL();
		try (URLClassLoader l = new URLClassLoader(urls,
				ClassLoader.getPlatformClassLoader())) {
			Method m = main(l, main.getName());
			return printed(() -> {
				Thread t = new Thread(() -> {
					try {
						m.invoke(null, (Object) args);
					} catch (InvocationTargetException e) {
						e.getCause().printStackTrace(System.out);
					} catch (IllegalAccessException e) {
						throw new IllegalStateException(e);
					}
				}, "main");
				t.setContextClassLoader(l);
				t.start();
				t.join(300_000);
				if (t.isAlive())
					throw new IllegalStateException("the original did not end in 300 s");
			});
		}
	}

	static String pico(List<Path> program, Class<?> main, String... args) throws Exception {
		PicoLoader l = PicoLoader.translate(new ClassPath(program), libraries(),
			new Translator.Options(), Harness.class.getClassLoader(), r -> {});
		Method m = main(l, main.getName());
		ClassLoader old = Thread.currentThread().getContextClassLoader();
		Thread.currentThread().setContextClassLoader(l);
		long pins = Pins.blocked();
		try {
			return printed(() -> {
				PicoThread t = new PicoThread(null, Reflect.task(m, new Object[] {args}),
					"main");
				t.setContextClassLoader(l);
				t.setUncaughtExceptionHandler((x, e) -> e.printStackTrace(System.out));
				t.start();
				long end = System.nanoTime() + 300_000_000_000L;
				while (t.getState() != Thread.State.TERMINATED) {
					if (System.nanoTime() > end)
						throw new IllegalStateException("the translation did not end in 300 s\n"
							+ Dump.all());
					Thread.sleep(1);
				}
			});
		} finally {
			Thread.currentThread().setContextClassLoader(old);
			pinned = Pins.blocked() - pins;
		}
	}

	/** The number of times that the last translated run blocked the OS thread of a carrier. */
	static long pinned;

	private static Method main(ClassLoader l, String main) throws Exception {
		Method m = l.loadClass(main).getMethod("main", String[].class);
		m.setAccessible(true);
		return m;
	}

	interface Action {
		void run() throws Exception;
	}

	private static String printed(Action a) throws Exception {
		PrintStream old = System.out;
		ByteArrayOutputStream b = new ByteArrayOutputStream();
		System.setOut(new PrintStream(b, true, "UTF-8"));
		try {
			a.run();
		} catch (IllegalStateException e) {
			throw new IllegalStateException(b.toString("UTF-8"), e);
		} finally {
			System.setOut(old);
		}
		return b.toString("UTF-8");
	}
}
