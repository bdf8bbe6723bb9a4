// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which arguments belong to the command, and which to the program. */
final class ArgumentsTest {
	@TempDir
	Path dir;

	@Test
	void what_follows_the_main_class_is_the_programs() {
		Arguments a = new Arguments(List.of("-cp", "c", "Main", "-o", "x", "y"));
		assertEquals(List.of("Main", "-o", "x", "y"), a.rest);
		assertNull(a.out);
		a = new Arguments(List.of("Main", "a.jar", "-o", "x", "-cp", "y", "--pins"));
		assertEquals(List.of("Main", "a.jar", "-o", "x", "-cp", "y", "--pins"), a.rest);
	}

	@Test
	void of_files_options_come_before_or_behind() {
		for (List<String> words : List.of(List.of("a.jar", "-o", "b.jar", "-cp", "c"),
				List.of("-o", "b.jar", "folder", "--report", "-cp", "c"))) {
			Arguments a = Arguments.ofFiles(words);
			assertEquals("b.jar", a.out);
			assertEquals(1, a.rest.size(), words.toString());
			assertEquals(List.of(Paths.get("c")), a.path);
		}
	}

	/** CLASSPATH names the folder of Main's classes. The -o after Main is Main's own argument. */
	@Test
	void the_class_path_is_that_of_the_environment_where_none_is_told() throws Exception {
		Path classes = Files.createDirectories(dir.resolve("classes"));
		Harness.compile(classes, "Main", "public class Main { public static void main(String[] a)"
			+ " { System.out.println(String.join(\" \", a)); } }");
		List<String> words = new ArrayList<>(Harness.java());
		words.addAll(List.of("-Dpico.progress=false", "-cp", System.getProperty("java.class.path"),
			Main.class.getName(), "run", "--no-cache", "Main", "-o", "x"));
		ProcessBuilder b = new ProcessBuilder(words).redirectErrorStream(true)
			.directory(dir.toFile());
		b.environment().put("CLASSPATH", "none" + java.io.File.pathSeparator + classes);
		Process p = b.start();
		String out = new String(p.getInputStream().readAllBytes());
		assertEquals("-o x\n0", out + p.waitFor());
	}
}
