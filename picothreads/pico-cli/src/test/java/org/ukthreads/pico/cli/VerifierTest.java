// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.ukthreads.fixtures.Concurrency;
import org.ukthreads.fixtures.Constructs;
import org.ukthreads.fixtures.Making;
import org.ukthreads.fixtures.Modern;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.read.Hierarchy;
import org.ukthreads.pico.translate.verify.Verifier;

/** The last stage of the translator. */
final class VerifierTest {
	@TempDir
	Path dir;

	@Test
	void what_comes_out_is_sound() throws Exception {
		Path p = Harness.classes(dir, Constructs.class, Concurrency.class, Making.class,
			Modern.class);
		for (boolean chaos : new boolean[] {false, true}) {
			Translator.Options o = new Translator.Options();
			o.verify = true;
			o.chaos = chaos;
			assertTrue(Translator.of(new ClassPath(List.of(p)), Harness.libraries(), o).run()
				.size() > 40);
		}
	}

	private static byte[] broken(int returns) {
		ClassWriter w = new ClassWriter(0);
		w.visit(Opcodes.V1_8, Opcodes.ACC_PUBLIC, "Broken", null, "java/lang/Object", null);
		MethodVisitor m = w.visitMethod(Opcodes.ACC_STATIC, "f", "()I", null, null);
		m.visitCode();
		m.visitLdcInsn("text");
		m.visitInsn(returns);
		m.visitMaxs(1, 0);
		m.visitEnd();
		w.visitEnd();
		return w.toByteArray();
	}

	@Test
	void what_is_not_sound_is_named() {
		for (int returns : new int[] {Opcodes.IRETURN, Opcodes.RETURN, Opcodes.ARETURN,
				Opcodes.IADD}) {
			Exception e = assertThrows(IllegalStateException.class, () ->
				Verifier.check(new Hierarchy(n -> null), broken(returns)));
			assertTrue(e.getMessage().startsWith("Broken.f()I: "), e.getMessage());
		}
	}
}
