// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.LocalVariableNode;
import org.ukthreads.pico.translate.read.Names;

/** The heap of a translation in a separate JVM: 10,000 classes get about one gigabyte. */
final class ApartTest {
	@TempDir
	Path dir;

	private Path jar(int classes, int resources) throws Exception {
		Path p = dir.resolve(classes + ".jar");
		try (ZipOutputStream z = new ZipOutputStream(Files.newOutputStream(p))) {
			for (int k = 0; k < classes; k++)
				z.putNextEntry(new ZipEntry("a/C" + k + ".class"));
			for (int k = 0; k < resources; k++)
				z.putNextEntry(new ZipEntry("a/" + k + ".txt"));
		}
		return p;
	}

	private static List<String> words(int mb) {
		return List.of("-XX:+UseParallelGC", "-XX:-UseGCOverheadLimit", "-XX:NewRatio=4",
			"-Xmx" + mb + "m", "-Dpico.apart.full=true");
	}

	@Test
	void a_heap_is_what_so_many_classes_need() throws Exception {
		long most = 6L << 30;
		assertEquals(words(976), Apart.heap(List.of(jar(10_000, 50)), 1, most));
		assertEquals(words(400), Apart.heap(List.of(jar(10, 50_000), dir.resolve("none.jar")), 1,
			most));
		assertEquals(words(977), Apart.heap(List.of(dir.resolve("10000.jar"),
			dir.resolve("10.jar")), 1, most));
		/* The machine's own limit is less. */
		assertEquals(List.of(), Apart.heap(List.of(jar(10_000, 50)), 1, 512L << 20));
	}

	/** A child that holds so many megabytes and keeps allocating. */
	static final class Holds {
		public static void main(String[] args) {
			Apart.begin();
			int mb = Integer.parseInt(args[0]);
			byte[][] all = new byte[mb * 100][];
			for (int n = 0; n < all.length || mb > 10; n++)
				all[n % all.length] = new byte[10_000];
			System.exit(0);
		}
	}

	/** Such a child would collect for ever. The next child gets twice as much. */
	@Test
	void a_heap_that_stays_full_ends_its_child() throws Exception {
		for (int mb : new int[] {5, 26}) {
			List<String> c = new ArrayList<>(Harness.java());
			/* Removes the collector option of the tests: a JVM refuses two collectors. */
			c.removeIf(w -> w.startsWith("-XX:+Use"));
			c.addAll(words(32));
			c.addAll(List.of("-cp", System.getProperty("java.class.path"),
				Holds.class.getName(), "" + mb));
			assertEquals(mb == 5 ? 0 : Apart.FULL, new ProcessBuilder(c).inheritIO().start()
				.waitFor(), mb + " of 32 MB");
		}
		assertEquals(words(800), Apart.heap(List.of(jar(10, 0)), 2, 6L << 30));
	}

	/** Equal names in two class files become the same String objects. */
	@Test
	void names_are_there_once() throws Exception {
		Names names = new Names();
		LocalVariableNode[] v = new LocalVariableNode[2];
		for (int k = 0; k < 2; k++) {
			Path c = Files.createDirectories(dir.resolve("c" + k));
			Harness.compile(c, "Alike", "public class Alike { int of(int argument) {"
				+ " return argument; } }", "-g");
			ClassNode n = new ClassNode();
			names.reader(Files.readAllBytes(c.resolve("Alike.class"))).accept(n, 0);
			v[k] = n.methods.get(1).localVariables.get(1);
		}
		assertEquals("argument", v[0].name);
		assertTrue(v[0].name == v[1].name && v[0].desc == v[1].desc);
		assertTrue(names.key("of", "(I)I") == names.key("of", "(I)I"));
	}
}
