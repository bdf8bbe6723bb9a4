// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.jmh;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.stream.Collectors;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Report;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * Loads the work's classes translated, together with the libraries whose jar names have the
 * given prefixes.
 */
final class Translated {
	private static final String WORK = "org/ukthreads/bench/work/";
	Report report;
	final PicoLoader loader;

	Translated(String... libraries) throws IOException {
		List<Path> all = Arrays.stream(System.getProperty("java.class.path")
			.split(File.pathSeparator)).map(Paths::get).collect(Collectors.toList());
		Path dir = Files.createTempDirectory("pico-bench");
		new ClassPath(all.stream().filter(p -> p.toString().matches(".*pico-bench[^/]*"
			+ "(\\.jar|/classes/?)")).collect(Collectors.toList())).entries()
			.forEach((n, b) -> {
				if (n.startsWith(WORK) && (libraries.length > 0
						|| !n.startsWith(WORK + "lib/")))
					write(dir.resolve(n), b);
			});
		List<Path> program = new ArrayList<>(List.of(dir));
		for (String l : libraries)
			all.stream().filter(p -> p.getFileName().toString().startsWith(l))
				.forEach(program::add);
		loader = PicoLoader.translate(new ClassPath(program), new ClassPath(all),
			new Translator.Options(), Translated.class.getClassLoader(), r -> report = r);
	}

	private static void write(Path p, byte[] b) {
		try {
			Files.createDirectories(p.getParent());
			Files.write(p, b);
			p.toFile().deleteOnExit();
		} catch (IOException e) {
			throw new java.io.UncheckedIOException(e);
		}
	}

	Method method(String c, String name, Class<?>... args) throws ReflectiveOperationException {
		return loader.loadClass("org.ukthreads.bench.work." + c).getMethod(name, args);
	}

	/** Makes virtual threads, by reflection because this is built for Java 17. */
	static ThreadFactory virtual() throws ReflectiveOperationException {
		Object b = Thread.class.getMethod("ofVirtual").invoke(null);
		return (ThreadFactory) Class.forName("java.lang.Thread$Builder").getMethod("factory")
			.invoke(b);
	}
}
