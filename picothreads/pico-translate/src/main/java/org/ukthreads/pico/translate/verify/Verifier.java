// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.verify;

import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.util.CheckClassAdapter;
import org.ukthreads.pico.translate.analyse.Types;
import org.ukthreads.pico.translate.read.Hierarchy;

/**
 * The last stage, on demand: checks the form of a class file, and the types of all locals and stack
 * slots by the translator's hierarchy, so that no class is loaded. It does not check stack-map
 * frames, which only the JVM's verifier does; tests run with -Xverify:all.
 */
public final class Verifier {
	private Verifier() {}

	/** Throws IllegalStateException, with the name of the method, if the class is not valid. */
	public static void check(Hierarchy h, byte[] file) {
		ClassNode n = new ClassNode(Opcodes.ASM9);
		ClassReader r = new ClassReader(file);
		try {
			r.accept(new CheckClassAdapter(n, false), 0);
		} catch (RuntimeException e) {
			throw new IllegalStateException(r.getClassName() + ": " + e.getMessage(), e);
		}
		for (MethodNode m : n.methods) {
			if (m.instructions.size() == 0)
				continue;
			try {
				Types.of(h, n.name, m);
			} catch (AnalyzerException | RuntimeException e) {
				throw new IllegalStateException(n.name + '.' + m.name + m.desc + ": "
					+ e.getMessage(), e);
			}
		}
	}
}
