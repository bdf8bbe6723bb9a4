// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayDeque;
import java.util.BitSet;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.ukthreads.pico.translate.analyse.Liveness;

/** Cuts unreachable instructions and empty try ranges out of a method. */
final class Reach {
	private Reach() {}

	static void prune(MethodNode m) {
		InsnList code = m.instructions;
		BitSet seen = new BitSet();
		ArrayDeque<AbstractInsnNode> work = new ArrayDeque<>();
		work.add(code.getFirst());
		boolean again = true;
		while (again) {
			walk(code, seen, work);
			again = false;
			for (TryCatchBlockNode b : m.tryCatchBlocks) {
				int h = code.indexOf(b.handler);
				if (!seen.get(h) && covers(code, b, seen)) {
					work.add(b.handler);
					again = true;
				}
			}
		}
		m.tryCatchBlocks.removeIf(b -> !covers(code, b, seen));
		AbstractInsnNode[] all = code.toArray();
		for (int k = 0; k < all.length; k++)
			if (!seen.get(k) && !(all[k] instanceof LabelNode))
				code.remove(all[k]);
	}

	private static boolean covers(InsnList code, TryCatchBlockNode b, BitSet seen) {
		int e = code.indexOf(b.end);
		for (int k = code.indexOf(b.start); k < e; k++)
			if (seen.get(k) && code.get(k).getOpcode() >= 0)
				return true;
		return false;
	}

	/** Marks what can be reached from the instructions in `work`. */
	static void walk(InsnList code, BitSet seen, ArrayDeque<AbstractInsnNode> work) {
		AbstractInsnNode i;
		while ((i = work.poll()) != null) {
			while (i != null && !seen.get(code.indexOf(i))) {
				seen.set(code.indexOf(i));
				Liveness.targets(i).forEach(work::add);
				if (!Liveness.falls(i))
					break;
				i = i.getNext();
			}
		}
	}
}
