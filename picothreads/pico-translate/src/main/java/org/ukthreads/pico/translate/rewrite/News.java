// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;
import org.ukthreads.pico.translate.analyse.Types;

/** Which constructor calls belong to a NEW, and whether the NEW may be moved to them. */
final class News {
	private News() {}

	/**
	 * Each NEW of a method, with the constructor calls that complete its object. The list is empty
	 * if the incomplete object is copied or moved other than by the DUP after the NEW, or never
	 * completed.
	 */
	static Map<AbstractInsnNode, List<MethodInsnNode>> inits(Frame<BasicValue>[] frames,
			MethodNode m) {
		Map<AbstractInsnNode, List<MethodInsnNode>> inits = new LinkedHashMap<>();
		Set<AbstractInsnNode> moved = new HashSet<>();
		for (int k = 0; k < frames.length; k++) {
			AbstractInsnNode i = m.instructions.get(k);
			Frame<BasicValue> f = frames[k];
			if (i.getOpcode() == Opcodes.NEW)
				inits.putIfAbsent(i, new ArrayList<>(1));
			if (f == null)
				continue;
			if (i.getOpcode() == Opcodes.INVOKESPECIAL
					&& ((MethodInsnNode) i).name.equals("<init>")) {
				AbstractInsnNode done = made(f, Type.getArgumentTypes(((MethodInsnNode) i).desc).length);
				if (done != null)
					inits.computeIfAbsent(done, n -> new ArrayList<>(1))
						.add((MethodInsnNode) i);
			}
			for (int d = 0; d < touches(i.getOpcode()); d++) {
				AbstractInsnNode n = made(f, d);
				if (n != null && (i.getOpcode() != Opcodes.DUP || next(n) != i))
					moved.add(n);
			}
		}
		moved.forEach(n -> inits.put(n, List.of()));
		return inits;
	}

	/** The NEW whose incomplete object is there, or null. */
	private static AbstractInsnNode made(Frame<BasicValue> f, int depth) {
		int k = f.getStackSize() - 1 - depth;
		return k >= 0 && f.getStack(k) instanceof Types.New
			? ((Types.New) f.getStack(k)).at : null;
	}

	/** How many values from the top an instruction may copy or drop, whatever their types. */
	private static int touches(int op) {
		switch (op) {
		case Opcodes.POP: case Opcodes.DUP: case Opcodes.ASTORE: return 1;
		case Opcodes.POP2: case Opcodes.DUP2: case Opcodes.SWAP: case Opcodes.DUP_X1:
			return 2;
		case Opcodes.DUP_X2: case Opcodes.DUP2_X1: return 3;
		case Opcodes.DUP2_X2: return 4;
		default: return 0;
		}
	}

	/** The next real instruction. */
	static AbstractInsnNode next(AbstractInsnNode i) {
		do
			i = i.getNext();
		while (i != null && i.getOpcode() < 0);
		return i;
	}
}
