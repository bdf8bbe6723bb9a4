// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
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
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.ukthreads.pico.Chaos;
import org.ukthreads.pico.Clock;
import org.ukthreads.pico.PicoRuntime;
import org.ukthreads.pico.PicoThread;
import org.ukthreads.pico.Reflect;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.analyse.Hot;
import org.ukthreads.pico.translate.read.ClassPath;

/** Runs the same classes in the original and translated, and returns what they print. */
final class Harness {
	private static ClassPath libraries;

	private Harness() {}

	static synchronized ClassPath libraries() {
		if (libraries == null)
			libraries = new ClassPath(Arrays.stream(System.getProperty("java.class.path")
				.split(java.io.File.pathSeparator)).filter(p -> p.contains("pico-"))
				.filter(p -> !p.contains("test-classes"))
				.map(Paths::get).collect(Collectors.toList()));
		return libraries;
	}

	/** Returns the class files of a fixture: the class, its nested ones, and others by name. */
	static Path classes(Path to, Class<?>... roots) throws Exception {
		for (Class<?> c : roots) {
			Path dir = Paths.get(c.getProtectionDomain().getCodeSource().getLocation()
				.toURI()).resolve(c.getPackageName().replace('.', '/'));
			Path out = to.resolve(c.getPackageName().replace('.', '/'));
			Files.createDirectories(out);
			try (var s = Files.list(dir)) {
				for (Path p : (Iterable<Path>) s::iterator)
					if (p.getFileName().toString().matches(c.getSimpleName()
							+ "(\\$.*)?\\.class"))
						Files.copy(p, out.resolve(p.getFileName()));
			}
		}
		return to;
	}

	static Path compile(Path to, String name, String source, String... options)
			throws Exception {
		Path f = to.resolve(name + ".java");
		Files.write(f, source.getBytes("UTF-8"));
		JavaCompiler j = ToolProvider.getSystemJavaCompiler();
		String[] args = new String[options.length + 5];
		System.arraycopy(options, 0, args, 5, options.length);
		args[0] = "-g";
		args[1] = "-nowarn";
		args[2] = "-d";
		args[3] = to.toString();
		args[4] = f.toString();
		ByteArrayOutputStream err = new ByteArrayOutputStream();
		if (j.run(null, null, err, args) != 0)
			throw new IllegalStateException(err + "\n" + source);
		return to;
	}

	/** The words that start a JVM with the same JIT options as this one. */
	static List<String> java() {
		List<String> c = new ArrayList<>(List.of(Paths.get(System.getProperty("java.home"),
			"bin", "java").toString()));
		c.addAll(Arrays.asList(System.getProperty("pico.test.jit", "").split(" ")));
		c.remove("");
		return c;
	}

	static String plain(Path classes, String main) throws Exception {
		Map<String, byte[]> m = new LinkedHashMap<>();
		ClassPath cp = new ClassPath(List.of(classes));
		cp.entries().forEach((n, b) -> {
			if (n.endsWith(".class"))
				m.put(n.substring(0, n.length() - 6), b);
		});
		PicoLoader l = new PicoLoader(m, cp, Harness.class.getClassLoader());
		Method run = main(l, main);
		return printed(() -> {
			Thread t = new Thread(() -> {
				try {
					run.invoke(null, (Object) new String[0]);
				} catch (InvocationTargetException e) {
					System.out.println("threw " + e.getCause());
				} catch (IllegalAccessException e) {
					throw new IllegalStateException(e);
				}
			}, "main");
			t.start();
			t.join(300_000);
			if (t.isAlive())
				throw new IllegalStateException("the original hangs");
		});
	}

	/**
	 * Runs the translation. With chaos 0 nothing is forced. With chaos n one call in n suspends:
	 * the program's methods suspend by throwing if n is even, and by returning if n is odd.
	 */
	static String pico(Path classes, String main, int chaos, long seed) throws Exception {
		return pico(classes, main, chaos, seed, 1);
	}

	/** The same in its own runtime. */
	static String pico(Path classes, String main, int chaos, long seed, int carriers)
			throws Exception {
		PicoRuntime old = PicoRuntime.main();
		PicoRuntime rt = new PicoRuntime("test", carriers, null, Clock.REAL);
		PicoRuntime.install(rt);
		try {
			return translated(classes, main, chaos, seed);
		} finally {
			PicoRuntime.install(old);
			rt.shutdown();
		}
	}

	private static String translated(Path classes, String main, int chaos, long seed)
			throws Exception {
		Translator.Options o = new Translator.Options();
		o.chaos = chaos > 0;
		if (chaos > 0 && System.getProperty("pico.hot") == null)
			o.hot = Hot.of(chaos % 2 == 0 ? "none" : "all");
		PicoLoader l = PicoLoader.translate(new ClassPath(List.of(classes)), libraries(), o,
			Harness.class.getClassLoader(), r -> {});
		Method run = main(l, main);
		Chaos.set(chaos, seed);
		try {
			return printed(() -> {
				PicoThread t = new PicoThread(null, Reflect.task(run,
					new Object[] {new String[0]}), "main");
				t.setUncaughtExceptionHandler((x, e) -> {
					System.out.println("threw " + e);
					if (e instanceof org.ukthreads.pico.PinnedException)
						e.printStackTrace();
				});
				t.start();
				long end = System.nanoTime() + 300_000_000_000L;
				while (t.getState() != Thread.State.TERMINATED) {
					if (System.nanoTime() > end)
						throw new IllegalStateException("the translation hangs\n"
							+ org.ukthreads.pico.Dump.all());
					Thread.sleep(1);
				}
			});
		} finally {
			Chaos.set(0, 1);
		}
	}

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
		} finally {
			System.setOut(old);
		}
		return b.toString("UTF-8");
	}
}
