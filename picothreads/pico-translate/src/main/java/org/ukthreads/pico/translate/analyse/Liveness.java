// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Which locals may still be read after each instruction: backwards, along jumps and along the edges
 * to handlers. A frame saves only these.
 */
public final class Liveness {
	private final InsnList code;
	private final BitSet[] in;
	private final List<List<Integer>> handlers = new ArrayList<>();

	public Liveness(MethodNode m) {
		code = m.instructions;
		int n = code.size();
		in = new BitSet[n];
		for (int k = 0; k < n; k++) {
			in[k] = new BitSet();
			handlers.add(new ArrayList<>(0));
		}
		for (TryCatchBlockNode t : m.tryCatchBlocks) {
			int h = code.indexOf(t.handler);
			for (int k = code.indexOf(t.start); k < code.indexOf(t.end); k++)
				handlers.get(k).add(h);
		}
		boolean again = true;
		while (again) {
			again = false;
			for (int k = n - 1; k >= 0; k--)
				again |= step(k);
		}
	}

	private boolean step(int k) {
		AbstractInsnNode i = code.get(k);
		BitSet b = after(i);
		if (i instanceof VarInsnNode) {
			VarInsnNode v = (VarInsnNode) i;
			if (v.getOpcode() >= Opcodes.ISTORE && v.getOpcode() <= Opcodes.ASTORE) {
				b.clear(v.var);
				/* A handler sees the value before the store. */
				for (int h : handlers.get(k))
					b.or(in[h]);
			} else {
				b.set(v.var);
			}
		} else if (i instanceof IincInsnNode) {
			b.set(((IincInsnNode) i).var);
		}
		if (b.equals(in[k]))
			return false;
		in[k] = b;
		return true;
	}

	/** Returns a new set: live after i, normally or by an exception that i throws. */
	public BitSet after(AbstractInsnNode i) {
		BitSet b = new BitSet();
		int k = code.indexOf(i);
		if (i instanceof JumpInsnNode) {
			into(b, ((JumpInsnNode) i).label);
		} else if (i instanceof TableSwitchInsnNode) {
			into(b, ((TableSwitchInsnNode) i).dflt);
			((TableSwitchInsnNode) i).labels.forEach(l -> into(b, l));
		} else if (i instanceof LookupSwitchInsnNode) {
			into(b, ((LookupSwitchInsnNode) i).dflt);
			((LookupSwitchInsnNode) i).labels.forEach(l -> into(b, l));
		}
		if (falls(i) && k + 1 < in.length)
			b.or(in[k + 1]);
		for (int h : handlers.get(k))
			b.or(in[h]);
		return b;
	}

	private void into(BitSet b, LabelNode l) {
		b.or(in[code.indexOf(l)]);
	}

	/** True if control may go on to the next instruction. */
	public static boolean falls(AbstractInsnNode i) {
		int op = i.getOpcode();
		return op != Opcodes.GOTO && op != Opcodes.TABLESWITCH && op != Opcodes.LOOKUPSWITCH
			&& op != Opcodes.ATHROW && !(op >= Opcodes.IRETURN && op <= Opcodes.RETURN);
	}

	/** The labels to which i may jump. */
	public static List<LabelNode> targets(AbstractInsnNode i) {
		if (i instanceof JumpInsnNode)
			return List.of(((JumpInsnNode) i).label);
		if (i instanceof TableSwitchInsnNode) {
			TableSwitchInsnNode s = (TableSwitchInsnNode) i;
			List<LabelNode> l = new ArrayList<>(s.labels);
			l.add(s.dflt);
			return l;
		}
		if (i instanceof LookupSwitchInsnNode) {
			LookupSwitchInsnNode s = (LookupSwitchInsnNode) i;
			List<LabelNode> l = new ArrayList<>(s.labels);
			l.add(s.dflt);
			return l;
		}
		return List.of();
	}
}
