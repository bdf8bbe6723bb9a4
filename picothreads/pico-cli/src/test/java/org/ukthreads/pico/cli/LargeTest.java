package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Methods whose resume copy, or whose body with handlers, does not fit into 64 KB. */
final class LargeTest {
	@TempDir
	Path dir;

	private void same(String name, int calls, boolean loop) throws Exception {
		StringBuilder b = new StringBuilder("public class " + name + " { static int n;\n"
			+ "static int s(int k) { Thread.yield(); return k + n++; }\n"
			+ "static long all(int a, long b, String c) { long r = 0;\n"
			+ (loop ? "for (int i = 0; i < 2; i++) {\n" : "{\n"));
		for (int k = 0; k < calls; k++)
			b.append("r = r * 31 + s(a + ").append(k).append(") + b + c.length();\n");
		b.append("} return r; }\npublic static void main(String[] a) {"
			+ " System.out.println(all(1, 2, \"three\")); } }\n");
		Harness.compile(dir, name, b.toString());
		assertEquals(Harness.plain(dir, name), Harness.pico(dir, name, 0, 1));
	}

	@Test
	void a_copy_too_large_is_cut_into_parts() throws Exception {
		same("Parts", 1000, false);
	}

	@Test
	void a_method_too_large_for_handlers_runs_pinned() throws Exception {
		same("Refused", 2300, true);
	}
}
