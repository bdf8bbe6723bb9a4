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
 * The last stage, on demand: is what came out a class? Its form as the class file format has
 * it, and the types of all locals and stack slots, by the hierarchy that the translator
 * works with: no class is loaded. What the JVM's verifier sees beyond that are the
 * stack-map frames; tests run with -Xverify:all.
 */
public final class Verifier {
	private Verifier() {}

	/** IllegalStateException, with the method: it is not. */
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
