// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.List;
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
	 * The constructor calls that finish what n made; null when the unfinished object is
	 * copied or moved by anything but the DUP behind n.
	 */
	static List<MethodInsnNode> inits(Frame<BasicValue>[] frames, MethodNode m,
			AbstractInsnNode n) {
		AbstractInsnNode dup = next(n);
		boolean dupped = dup != null && dup.getOpcode() == Opcodes.DUP;
		List<MethodInsnNode> inits = new ArrayList<>();
		for (int k = 0; k < frames.length; k++) {
			AbstractInsnNode i = m.instructions.get(k);
			Frame<BasicValue> f = frames[k];
			if (f == null || i == dup && dupped)
				continue;
			if (i.getOpcode() == Opcodes.INVOKESPECIAL
					&& ((MethodInsnNode) i).name.equals("<init>")) {
				int args = Type.getArgumentTypes(((MethodInsnNode) i).desc).length;
				if (isNew(f, args, n)) {
					inits.add((MethodInsnNode) i);
					continue;
				}
			}
			for (int d = 0; d < touches(i.getOpcode()); d++)
				if (isNew(f, d, n))
					return null;
		}
		return inits.isEmpty() ? null : inits;
	}

	private static boolean isNew(Frame<BasicValue> f, int depth, AbstractInsnNode n) {
		int k = f.getStackSize() - 1 - depth;
		return k >= 0 && f.getStack(k) instanceof Types.New
			&& ((Types.New) f.getStack(k)).at == n;
	}

	/** How many values from the top an instruction may copy or drop unseen by type. */
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
