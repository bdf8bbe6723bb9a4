// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * A run whose loaded classes bin/pico archives. It translates a small program, stores it, finds it
 * again, and runs it: the program starts a thread, sleeps while it holds a lock, and ends. Then it
 * loads the classes that larger programs need: the runtime, and the code that handles classes which
 * programs make themselves.
 */
final class Warm implements Opcodes {
	private Warm() {}

	static void run() throws Exception {
		Path dir = Files.createTempDirectory("pico-warm");
		try {
			System.setProperty("pico.cache", dir.resolve("cache").toString());
			Path p = Files.createDirectory(dir.resolve("program"));
			Files.write(p.resolve("W.class"), program());
			for (int k = 0; k < 2; k++)
				Main.run(new Arguments(List.of("-cp", p.toString(), "W")));
		} finally {
			delete(dir);
		}
		load();
	}

	/** Loads without initialisation: an open file or a thread cannot be archived. */
	private static void load() throws IOException {
		if (!Files.isRegularFile(Main.self()))
			return;
		try (JarFile j = new JarFile(Main.self().toFile(), false)) {
			for (JarEntry x : (Iterable<JarEntry>) j.stream()::iterator) {
				String name = x.getName();
				if (!name.matches("org/ukthreads/pico/.*[.]class"))
					continue;
				try {
					Class.forName(name.substring(0, name.length() - 6).replace('/', '.'), false,
						Warm.class.getClassLoader());
				} catch (ClassNotFoundException | LinkageError e) {
					/* The class needs a library that is absent (JUnit), or a later Java. */
					continue;
				}
			}
		}
	}

	private static void delete(Path dir) throws IOException {
		List<Path> all;
		try (Stream<Path> s = Files.walk(dir)) {
			all = s.collect(Collectors.toList());
		}
		for (int k = all.size(); k-- > 0;)
			Files.delete(all.get(k));
	}

	private static byte[] program() {
		ClassWriter w = new ClassWriter(ClassWriter.COMPUTE_MAXS);
		w.visit(V1_8, ACC_PUBLIC, "W", null, "java/lang/Object", new String[] {
			"java/lang/Runnable"});
		MethodVisitor m = w.visitMethod(ACC_PUBLIC, "<init>", "()V", null, null);
		m.visitVarInsn(ALOAD, 0);
		m.visitMethodInsn(INVOKESPECIAL, "java/lang/Object", "<init>", "()V", false);
		end(m);
		m = w.visitMethod(ACC_PUBLIC | ACC_SYNCHRONIZED, "run", "()V", null,
			new String[] {"java/lang/InterruptedException"});
		m.visitLdcInsn(1L);
		m.visitMethodInsn(INVOKESTATIC, "java/lang/Thread", "sleep", "(J)V", false);
		end(m);
		m = w.visitMethod(ACC_PUBLIC | ACC_STATIC, "main", "([Ljava/lang/String;)V", null,
			new String[] {"java/lang/InterruptedException"});
		m.visitTypeInsn(NEW, "java/lang/Thread");
		m.visitInsn(DUP);
		m.visitTypeInsn(NEW, "W");
		m.visitInsn(DUP);
		m.visitMethodInsn(INVOKESPECIAL, "W", "<init>", "()V", false);
		m.visitMethodInsn(INVOKESPECIAL, "java/lang/Thread", "<init>",
			"(Ljava/lang/Runnable;)V", false);
		m.visitInsn(DUP);
		m.visitMethodInsn(INVOKEVIRTUAL, "java/lang/Thread", "start", "()V", false);
		m.visitMethodInsn(INVOKEVIRTUAL, "java/lang/Thread", "join", "()V", false);
		end(m);
		return w.toByteArray();
	}

	private static void end(MethodVisitor m) {
		m.visitInsn(RETURN);
		m.visitMaxs(0, 0);
	}
}
