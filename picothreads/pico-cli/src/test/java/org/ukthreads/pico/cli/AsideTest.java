// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;
import org.ukthreads.pico.Pins;
import org.ukthreads.pico.PicoThread;
import org.ukthreads.pico.Reflect;
import org.ukthreads.pico.Threads;
import org.ukthreads.pico.translate.Classes;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * A part that cannot be translated, or not analysed within the budget, does not affect the rest.
 */
final class AsideTest {
	@TempDir
	Path dir;

	private static final String PROGRAM = "import java.util.*; public class Odd {"
		+ " interface Step { int go(int k) throws Exception; }"
		+ " static class Huge implements Step { public synchronized int go(int k)"
		+ " throws Exception { B.append('.'); synchronized (LOCK) { Thread.sleep(1);"
		+ " B.append(B.charAt(0)); return next.go(k) + 1; } }"
		+ " Step next = new Good(); }"
		+ " static class Good implements Step { public int go(int k) throws Exception {"
		+ " synchronized (B) { B.append('('); Thread.sleep(3); B.append(')'); }"
		+ " synchronized (LOCK) { Thread.yield(); return k * 2; } } }"
		+ " static final Object LOCK = new Object();"
		+ " static final StringBuffer B = new StringBuffer(\".\");"
		+ " public static void main(String[] a) throws Exception { int[] s = new int[1];"
		+ " Thread[] t = new Thread[6]; for (int k = 0; k < 6; k++) { int n = k;"
		+ " t[k] = new Thread(() -> { try { Step x = n % 2 == 0 ? new Huge() : new Good();"
		+ " int v = x.go(n); synchronized (s) { s[0] += v; } } catch (Exception e) {"
		+ " throw new IllegalStateException(e); } }); t[k].start(); }"
		+ " for (Thread x : t) x.join();"
		+ " done = s[0] + B.toString().replace(\"()\", \"\"); }"
		+ " public static String done; }";

	private String run(Translator t, ClassPath program) throws Exception {
		Map<String, byte[]> out = t.run();
		PicoLoader l = new PicoLoader(Classes.of(out, program, t.dynamic()),
			AsideTest.class.getClassLoader());
		Class<?> c = l.loadClass("Odd");
		PicoThread p = new PicoThread(null, Reflect.task(c.getMethod("main", String[].class),
			new Object[] {new String[0]}), "main");
		p.start();
		Threads.join(p);
		return (String) c.getField("done").get(null);
	}

	private ClassPath program() throws Exception {
		Harness.compile(dir, "Odd", PROGRAM);
		Files.delete(dir.resolve("Odd.java"));
		return new ClassPath(List.of(dir));
	}

	/** A Java 5 class names a class that is missing. The rest is analysed once, without it. */
	@Test
	void what_cannot_be_read_is_left_at_once() throws Exception {
		Harness.compile(dir, "Odd", "public class Odd { public static String done;"
			+ " public static void main(String[] a) { Thread.yield(); done = \"ran\"; } }"
			+ " class Gone extends Exception {}"
			+ " class Never { static void log(Exception e) { Thread.yield(); }"
			+ " static void of(int k) { try { Thread.yield(); if (k > 0) throw new Gone(); }"
			+ " catch (Gone | IllegalStateException e) { log(e); } } }");
		Files.delete(dir.resolve("Odd.java"));
		Files.delete(dir.resolve("Gone.class"));
		Path f = dir.resolve("Never.class");
		ClassNode n = new ClassNode(Opcodes.ASM9);
		new ClassReader(Files.readAllBytes(f)).accept(n, ClassReader.SKIP_FRAMES);
		n.version = Opcodes.V1_5;
		ClassWriter w = new ClassWriter(0);
		n.accept(w);
		Files.write(f, w.toByteArray());
		Translator.Options o = new Translator.Options();
		List<String> said = new ArrayList<>();
		o.progress = said::add;
		ClassPath program = new ClassPath(List.of(dir));
		Translator t = Translator.of(program, Harness.libraries(), o);
		assertEquals("ran", run(t, program));
		assertTrue(t.report().refused().stream().anyMatch(r -> r.startsWith("Never: of(I)V")),
			t.report().refused().toString());
		assertEquals(1, said.stream().filter(s -> s.startsWith("reading")).count());
	}

	@Test
	void a_method_with_too_many_values_is_left_and_named() throws Exception {
		program();
		Path f = dir.resolve("Odd$Huge.class");
		ClassNode n = new ClassNode(Opcodes.ASM9);
		new ClassReader(Files.readAllBytes(f)).accept(n, 0);
		for (MethodNode m : n.methods)
			if (m.name.equals("go")) {
				/* With 60,000 locals, the frames of this method would not fit into any memory. */
				m.maxLocals = 60_000;
				for (int k = 0; k < 2_000; k++)
					m.instructions.insert(new org.objectweb.asm.tree.InsnNode(Opcodes.NOP));
			}
		ClassWriter w = new ClassWriter(0);
		n.accept(w);
		Files.write(f, w.toByteArray());
		ClassPath program = new ClassPath(List.of(dir));
		Translator t = Translator.of(program, Harness.libraries(), new Translator.Options());
		long lost = Pins.lostFrames();
		assertEquals("33.......", run(t, program));
		assertEquals(lost, Pins.lostFrames());
		assertTrue(t.report().refused().stream().anyMatch(r -> r.startsWith("Odd$Huge: ")),
			t.report().text(false));
		assertTrue(t.report().translated().contains("Odd$Good.go(I)I"));
	}

	@Test
	void code_that_no_verifier_would_take_is_left_and_named() throws Exception {
		program();
		Path f = dir.resolve("Odd$Broken.class");
		ClassWriter w = new ClassWriter(0);
		w.visit(Opcodes.V1_8, Opcodes.ACC_PUBLIC, "Odd$Broken", null, "java/lang/Object", null);
		var m = w.visitMethod(Opcodes.ACC_PUBLIC | Opcodes.ACC_STATIC, "no", "()V", null, null);
		m.visitInsn(Opcodes.POP2);
		m.visitMethodInsn(Opcodes.INVOKESTATIC, "java/lang/Thread", "yield", "()V", false);
		m.visitInsn(Opcodes.RETURN);
		m.visitMaxs(2, 2);
		w.visitEnd();
		Files.write(f, w.toByteArray());
		ClassPath program = new ClassPath(List.of(dir));
		Translator t = Translator.of(program, Harness.libraries(), new Translator.Options());
		assertEquals("33.......", run(t, program));
		assertTrue(t.report().refused().stream().anyMatch(r -> r.startsWith("Odd$Broken: ")),
			t.report().text(false));
	}

	@Test
	void without_a_budget_any_class_that_fits_is_taken() throws Exception {
		ClassPath program = program();
		Translator.Options o = new Translator.Options();
		Translator whole = Translator.of(program, Harness.libraries(), o);
		assertEquals("33.......", run(whole, program));
		assertNull(whole.report().cut());
		o.budget = 1;
		Translator t = Translator.of(program, Harness.libraries(), o);
		assertEquals("33.......", run(t, program));
		assertNotNull(t.report().cut());
		assertTrue(t.report().translated().containsAll(whole.report().translated()));
	}
}
