// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * Every class of large libraries passes the JVM's verifier, translated and with chaos, or fails
 * like the original, which misses a class. Run with -Xverify:all.
 */
final class VerifyTest {
	private static final List<Path> PATH = Arrays.stream(System.getProperty("java.class.path")
		.split(File.pathSeparator)).map(Paths::get).collect(Collectors.toList());

	@TestFactory
	Stream<DynamicTest> every_class_verifies() {
		String want = System.getProperty("pico.oracle", "sample").equals("full")
			? "(h2|scala-library|kotlin-stdlib|guava|assertj-core|byte-buddy|commons-.*|xz"
				+ "|junit-jupiter-(api|engine|params))-[0-9][0-9.]*(-jre|-tests)?\\.jar"
			: "commons-(codec|lang3)-[0-9.]*\\.jar";
		String only = System.getProperty("pico.oracle.only", "").split("/")[0];
		return PATH.stream().filter(p -> p.getFileName().toString().matches(want))
			.filter(p -> only.isEmpty() || Arrays.stream(only.split(",")).anyMatch(
				x -> p.getFileName().toString().startsWith(x + "-")))
			.map(p -> DynamicTest.dynamicTest(p.getFileName().toString(), () -> verify(p)));
	}

	private static void verify(Path jar) {
		ClassPath program = new ClassPath(List.of(jar));
		ClassPath libraries = new ClassPath(PATH.stream().filter(p -> !p.equals(jar))
			.collect(Collectors.toList()));
		Map<String, byte[]> as = new LinkedHashMap<>();
		program.entries().forEach((n, b) -> {
			if (ClassPath.isClass(n))
				as.put(n.substring(0, n.length() - 6), b);
		});
		Map<String, String> plain = load(as, program);
		for (boolean chaos : new boolean[] {false, true}) {
			Translator.Options o = new Translator.Options();
			o.chaos = chaos;
			Map<String, byte[]> out = Translator.of(program, libraries, o).run();
			Map<String, String> bad = load(out, program);
			System.out.println("verified " + jar.getFileName() + (chaos ? " chaos: " : ": ")
				+ out.size() + " classes, " + plain.size() + " of the original do not link");
			assertTrue(out.size() >= as.size(), "classes are missing");
			bad.keySet().removeAll(plain.keySet());
			/* A companion or lambda of a class that does not link. */
			bad.keySet().removeIf(n -> n.contains("$$") && plain.containsKey(n.substring(0,
				n.indexOf("$$"))));
			assertEquals(Map.of(), bad);
		}
	}

	/** Links all classes. Returns name to what went wrong. */
	private static Map<String, String> load(Map<String, byte[]> classes, ClassPath resources) {
		PicoLoader l = new PicoLoader(classes, resources,
			VerifyTest.class.getClassLoader());
		Map<String, String> bad = new TreeMap<>();
		for (String n : classes.keySet())
			try {
				/* This links the class, which verifies it; nothing is initialised. */
				Class.forName(n.replace('/', '.'), false, l).getDeclaredMethods();
			} catch (ClassNotFoundException | LinkageError e) {
				bad.put(n, e.toString());
			}
		return bad;
	}
}
