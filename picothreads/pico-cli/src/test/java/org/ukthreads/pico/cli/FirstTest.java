// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.Begun;
import org.ukthreads.fixtures.Search;

/** A large program's first start does not wait for its translation, and a later one has it. */
@Timeout(120)
final class FirstTest {
	private static final String SAYS = "pico: not translated yet";
	private static final String AS_IS = "AppClassLoader 0\nmain truetrue true\n";
	private static final String TRANSLATED = "PicoLoader 0\nmain truetrue true\n";
	@TempDir
	Path dir;
	private Path program;
	private String errors;

	@BeforeEach
	void make() throws Exception {
		program = Harness.classes(dir.resolve("program"), Begun.class);
		Files.write(program.resolve("large"), new byte[600_000]);
	}

	private ProcessBuilder pico(String... args) throws Exception {
		List<String> words = new ArrayList<>(Harness.java());
		words.addAll(List.of("--add-exports", "java.base/jdk.internal.access=ALL-UNNAMED", "-cp",
			System.getProperty("java.class.path"), "-Dpico.progress=false", Main.class.getName(),
			"run", "-cp", program.toString()));
		words.addAll(List.of(args));
		ProcessBuilder b = new ProcessBuilder(words).redirectError(dir.resolve("err").toFile());
		b.environment().put("PICO_CACHE", dir.resolve("cache").toString());
		b.environment().remove("CLASSPATH");
		return b;
	}

	private String run(int rc, String... args) throws Exception {
		Process p = pico(args).start();
		String out = new String(p.getInputStream().readAllBytes());
		assertEquals(rc, p.waitFor(), () -> out + errors());
		errors = errors();
		return out;
	}

	private String errors() {
		try {
			return Files.readString(dir.resolve("err"));
		} catch (java.io.IOException e) {
			throw new IllegalStateException(e);
		}
	}

	private List<Path> files(String suffix) throws Exception {
		if (!Files.exists(dir.resolve("cache")))
			return List.of();
		try (Stream<Path> s = Files.list(dir.resolve("cache"))) {
			return s.filter(p -> p.toString().endsWith(suffix)).collect(Collectors.toList());
		}
	}

	/** Until the child has stored the translation and ended. */
	private void translated() throws Exception {
		while (files(".pico").isEmpty() || !files(".log").isEmpty())
			Thread.sleep(5);
	}

	@Test
	void the_first_start_is_as_it_is_and_a_later_one_translated() throws Exception {
		String main = Begun.class.getName();
		assertEquals(AS_IS, run(0, "--wait", "0", main));
		assertTrue(errors.startsWith(SAYS), errors);
		translated();
		assertEquals(TRANSLATED, run(0, "--wait", "0", main));
		assertEquals("", errors);
	}

	@Test
	void it_ends_as_under_java() throws Exception {
		assertTrue(run(1, "--wait", "0", Begun.class.getName(), "a", "b").startsWith(
			"AppClassLoader 2\n"));
		assertTrue(errors.contains("Exception in thread \"main\" java.lang.IllegalStateException:"
			+ " two\n\tat "), errors);
		translated();
	}

	@Test
	void it_waits_if_told() throws Exception {
		assertEquals(TRANSLATED, run(0, "--wait", "ever", Begun.class.getName()));
		assertEquals("", errors);
		translated();
	}

	/** Another process translates: no child of this one does, and it does not wait. */
	@Test
	void one_child_is_enough() throws Exception {
		run(0, "--wait", "100", Begun.class.getName());
		translated();
		Path lock = files(".lock").get(0);
		Files.delete(files(".pico").get(0));
		try (FileChannel c = FileChannel.open(lock, StandardOpenOption.WRITE);
				FileLock l = c.lock()) {
			assertTrue(l.isValid());
			assertEquals(AS_IS, run(0, "--wait", "100", Begun.class.getName()));
		}
		assertTrue(files(".pico").isEmpty());
	}

	@Test
	void after_a_child_that_failed_it_waits_and_says_so() throws Exception {
		run(0, "--wait", "100", Begun.class.getName());
		translated();
		Path stored = files(".pico").get(0);
		Files.delete(stored);
		Path log = Files.writeString(Path.of(stored.toString().replaceFirst("pico$", "log")),
			"no memory");
		assertEquals(TRANSLATED, run(0, "--wait", "0", Begun.class.getName()));
		assertTrue(errors.contains(log.toString()), errors);
		assertFalse(Files.exists(log));
	}

	/** Such a program needs pico threads. */
	@Test
	void a_program_that_names_our_classes_waits() throws Exception {
		Harness.classes(program, Search.class);
		assertEquals(TRANSLATED, run(0, "--wait", "0", Begun.class.getName()));
		assertEquals("", errors);
	}
}
