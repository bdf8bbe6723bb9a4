package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * Methods whose resume copy, or whose body with handlers, does not fit into 64 KB; and those
 * that the JIT will not compile any more.
 */
final class LargeTest {
	@TempDir
	Path dir;

	private static String program(String name, int calls, boolean loop) {
		StringBuilder b = new StringBuilder("public class " + name + " { static int n;\n"
			+ "static int s(int k) { Thread.yield(); return k + n++; }\n"
			+ "static long all(int a, long b, String c) { long r = 0;\n"
			+ (loop ? "for (int i = 0; i < 2; i++) {\n" : "{\n"));
		for (int k = 0; k < calls; k++)
			b.append("r = r * 31 + s(a + ").append(k).append(") + b + c.length();\n");
		return b.append("} return r; }\npublic static void main(String[] a) {"
			+ " System.out.println(all(1, 2, \"three\")); } }\n").toString();
	}

	private void same(String name, int calls, boolean loop) throws Exception {
		Harness.compile(dir, name, program(name, calls, loop));
		assertEquals(Harness.plain(dir, name), Harness.pico(dir, name, 0, 1));
	}

	@Test
	void a_copy_too_large_is_cut_into_parts() throws Exception {
		same("Parts", 1000, false);
	}

	/** 150 calls are some 4,500 bytes, of which each adds a handler; 600 were too large before. */
	@Test
	void the_report_names_what_grew_too_large_for_the_jit() throws Exception {
		for (int calls : new int[] {10, 150, 600}) {
			String name = "Grown" + calls;
			Path classes = Files.createDirectory(dir.resolve(name));
			Harness.compile(classes, name, program(name, calls, true));
			PicoLoader.translate(new ClassPath(List.of(classes)), Harness.libraries(),
				new Translator.Options(), Harness.class.getClassLoader(), r -> {
					assertEquals(calls == 150, r.huge().containsKey(name
						+ ".all(IJLjava/lang/String;)J"), calls + ": " + r.huge());
					assertEquals(calls > 10, r.text(false).contains("too large for the JIT"));
				});
		}
	}

	@Test
	void a_method_too_large_for_handlers_runs_pinned() throws Exception {
		same("Refused", 2300, true);
	}
}
