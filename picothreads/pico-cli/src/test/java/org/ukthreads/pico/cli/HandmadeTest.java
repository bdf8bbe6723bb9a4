// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.ConstantDynamic;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Class files like those of old compilers and obfuscators print the same when translated. */
final class HandmadeTest implements Opcodes {
	private static final String OBJECT = "java/lang/Object";
	@TempDir
	Path dir;

	private static ClassWriter begin(String name, int version) {
		ClassWriter w = new ClassWriter(ClassWriter.COMPUTE_FRAMES) {
			@Override
			protected String getCommonSuperClass(String a, String b) {
				return OBJECT;
			}
		};
		w.visit(version, ACC_PUBLIC | ACC_SUPER, name, null, OBJECT, null);
		MethodVisitor m = w.visitMethod(ACC_PUBLIC, "<init>", "()V", null, null);
		m.visitVarInsn(ALOAD, 0);
		m.visitMethodInsn(INVOKESPECIAL, OBJECT, "<init>", "()V", false);
		m.visitInsn(RETURN);
		m.visitMaxs(0, 0);
		return w;
	}

	private static MethodVisitor main(ClassWriter w) {
		return w.visitMethod(ACC_PUBLIC | ACC_STATIC, "main", "([Ljava/lang/String;)V", null,
			null);
	}

	private static void pause(MethodVisitor m) {
		m.visitMethodInsn(INVOKESTATIC, "java/lang/Thread", "yield", "()V", false);
	}

	/** Prints the value of that type on top of the stack. */
	private static void print(MethodVisitor m, String desc) {
		m.visitFieldInsn(GETSTATIC, "java/lang/System", "out", "Ljava/io/PrintStream;");
		m.visitInsn(SWAP);
		m.visitMethodInsn(INVOKEVIRTUAL, "java/io/PrintStream", "println", "(" + desc + ")V",
			false);
	}

	private static void end(MethodVisitor m) {
		m.visitInsn(RETURN);
		m.visitMaxs(0, 0);
	}

	private void same(String name, ClassWriter w, String want) throws Exception {
		w.visitEnd();
		Path p = Files.createDirectories(dir.resolve(name));
		Files.write(p.resolve(name + ".class"), w.toByteArray());
		assertEquals(want, Harness.plain(p, name));
		for (int chaos : new int[] {0, 1, 2, 3})
			assertEquals(want, Harness.pico(p, name, chaos, chaos + 1), name + " " + chaos);
	}

	/** Before Java 5, a class cannot be a constant. */
	@Test
	void a_static_method_of_an_old_class_locks_the_class() throws Exception {
		for (int version : new int[] {V1_1, V1_4, V1_5}) {
			ClassWriter w = begin("Old", version);
			MethodVisitor m = w.visitMethod(ACC_STATIC | ACC_SYNCHRONIZED, "f", "(I)I", null,
				null);
			pause(m);
			m.visitVarInsn(ILOAD, 0);
			m.visitInsn(IRETURN);
			m.visitMaxs(0, 0);
			m = main(w);
			m.visitInsn(ICONST_3);
			m.visitMethodInsn(INVOKESTATIC, "Old", "f", "(I)I", false);
			print(m, "I");
			end(m);
			same("Old", w, "3\n");
		}
	}

	@Test
	void a_synchronized_method_may_store_over_this() throws Exception {
		ClassWriter w = begin("Over", V1_8);
		MethodVisitor m = w.visitMethod(ACC_SYNCHRONIZED, "f", "(I)I", null, null);
		pause(m);
		m.visitVarInsn(ILOAD, 1);
		m.visitVarInsn(ISTORE, 0);
		pause(m);
		m.visitVarInsn(ILOAD, 0);
		m.visitInsn(IRETURN);
		m.visitMaxs(0, 0);
		m = main(w);
		m.visitTypeInsn(NEW, "Over");
		m.visitInsn(DUP);
		m.visitMethodInsn(INVOKESPECIAL, "Over", "<init>", "()V", false);
		m.visitInsn(ICONST_5);
		m.visitMethodInsn(INVOKEVIRTUAL, "Over", "f", "(I)I", false);
		print(m, "I");
		end(m);
		same("Over", w, "5\n");
	}

	@Test
	void a_method_may_have_all_the_arguments_that_fit() throws Exception {
		ClassWriter w = begin("Many", V1_8);
		String desc = "(" + "J".repeat(127) + "I)I";
		MethodVisitor m = w.visitMethod(ACC_STATIC, "f", desc, null, null);
		pause(m);
		m.visitVarInsn(ILOAD, 254);
		m.visitInsn(IRETURN);
		m.visitMaxs(0, 0);
		m = main(w);
		for (int k = 0; k < 127; k++)
			m.visitInsn(LCONST_1);
		m.visitInsn(ICONST_4);
		m.visitMethodInsn(INVOKESTATIC, "Many", "f", desc, false);
		print(m, "I");
		end(m);
		same("Many", w, "4\n");
	}

	@Test
	void a_handler_may_be_jumped_to_with_something_else() throws Exception {
		ClassWriter w = begin("Joined", V1_8);
		MethodVisitor m = w.visitMethod(ACC_STATIC, "f", "(I)L" + OBJECT + ";", null, null);
		Label start = new Label();
		Label end = new Label();
		Label handler = new Label();
		m.visitTryCatchBlock(start, end, handler, "java/lang/Throwable");
		m.visitVarInsn(ILOAD, 0);
		m.visitJumpInsn(IFNE, start);
		m.visitLdcInsn("jumped");
		m.visitJumpInsn(GOTO, handler);
		m.visitLabel(start);
		pause(m);
		m.visitVarInsn(ILOAD, 0);
		m.visitInsn(ICONST_0);
		m.visitInsn(IDIV);
		m.visitInsn(POP);
		m.visitLabel(end);
		m.visitInsn(ACONST_NULL);
		m.visitInsn(ARETURN);
		m.visitLabel(handler);
		m.visitInsn(ARETURN);
		m.visitMaxs(0, 0);
		m = main(w);
		for (int k = 0; k < 2; k++) {
			m.visitInsn(ICONST_0 + k);
			m.visitMethodInsn(INVOKESTATIC, "Joined", "f", "(I)L" + OBJECT + ";", false);
			print(m, "L" + OBJECT + ";");
		}
		end(m);
		same("Joined", w, "jumped\njava.lang.ArithmeticException: / by zero\n");
	}

	/** The bootstrap methods suspend, and so do the methods that they return. */
	@Test
	void what_bootstrap_methods_of_the_program_make_pins() throws Exception {
		ClassWriter w = begin("Boots", V11);
		String mh = "java/lang/invoke/MethodHandle";
		String site = "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;"
			+ "Ljava/lang/invoke/MethodType;L" + mh + ";)Ljava/lang/invoke/CallSite;";
		MethodVisitor m = w.visitMethod(ACC_STATIC, "site", site, null, null);
		pause(m);
		m.visitTypeInsn(NEW, "java/lang/invoke/ConstantCallSite");
		m.visitInsn(DUP);
		m.visitVarInsn(ALOAD, 3);
		m.visitMethodInsn(INVOKESPECIAL, "java/lang/invoke/ConstantCallSite", "<init>",
			"(L" + mh + ";)V", false);
		m.visitInsn(ARETURN);
		m.visitMaxs(0, 0);
		String condy = "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;"
			+ "Ljava/lang/Class;)Ljava/lang/Object;";
		m = w.visitMethod(ACC_STATIC, "constant", condy, null, null);
		pause(m);
		m.visitLdcInsn("constant");
		m.visitInsn(ARETURN);
		m.visitMaxs(0, 0);
		m = w.visitMethod(ACC_STATIC, "f", "(IJ)I", null, null);
		pause(m);
		m.visitVarInsn(ILOAD, 0);
		m.visitVarInsn(LLOAD, 1);
		m.visitInsn(L2I);
		m.visitInsn(IADD);
		m.visitInsn(IRETURN);
		m.visitMaxs(0, 0);
		Handle boot = new Handle(H_INVOKESTATIC, "Boots", "site", site, false);
		Handle f = new Handle(H_INVOKESTATIC, "Boots", "f", "(IJ)I", false);
		ConstantDynamic c = new ConstantDynamic("c", "Ljava/lang/Object;",
			new Handle(H_INVOKESTATIC, "Boots", "constant", condy, false));
		m = w.visitMethod(ACC_STATIC, "all", "()V", null, null);
		for (int k = 0; k < 2; k++) {
			m.visitInsn(ICONST_3);
			m.visitInsn(LCONST_1);
			m.visitInvokeDynamicInsn("any", "(IJ)I", boot, f);
			pause(m);
			print(m, "I");
			m.visitLdcInsn(c);
			pause(m);
			print(m, "Ljava/lang/Object;");
		}
		end(m);
		m = main(w);
		m.visitMethodInsn(INVOKESTATIC, "Boots", "all", "()V", false);
		end(m);
		same("Boots", w, "4\nconstant\n4\nconstant\n");
	}
}
