// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/*
 * The copy that is entered at some of the sites. Local 0 is the continuation and stays; the
 * method's own locals follow. So the stack-map frames differ at the end, as the original's do, and
 * stay short. Only the prologue needs the entry and the frame.
 */
final class ResumeCopy extends Body {
	static final int T = 1 << 20;
	static final int PC = T + 1;
	static final int F = T + 2;

	private final List<Site> entries;
	/** The entries that are inside a try range of the program. */
	private final Map<Site, LabelNode> resume = new HashMap<>();

	ResumeCopy(MethodRewriter of, List<Site> entries) {
		super(of);
		this.entries = entries;
	}

	/** Returns false to the trampoline. */
	@Override
	void leave(InsnList l) {
		l.add(new InsnNode(Opcodes.ICONST_0));
		l.add(new InsnNode(Opcodes.IRETURN));
	}

	@Override
	boolean keeps() {
		return false;
	}

	MethodNode make(String name) {
		MethodNode r = of.empty(name);
		Map<LabelNode, LabelNode> map = labels();
		Map<Site, LabelNode> behind = new HashMap<>();
		prologue(r.instructions, behind);
		Map<AbstractInsnNode, Site> at = sites();
		Map<AbstractInsnNode, Integer> old = of.lines();
		Map<AbstractInsnNode, Integer> lines = new HashMap<>();
		List<AbstractInsnNode> pins = new ArrayList<>();
		for (AbstractInsnNode i : m.instructions) {
			if (i.getType() == AbstractInsnNode.FRAME)
				continue;
			int op = i.getOpcode();
			if (op >= Opcodes.IRETURN && op <= Opcodes.RETURN) {
				ret(r.instructions, op);
				continue;
			}
			AbstractInsnNode n = i.clone(map);
			r.instructions.add(n);
			if (op >= 0)
				lines.put(n, old.get(i));
			Site s = at.get(i);
			if (s != null) {
				calls.put(s, (MethodInsnNode) n);
				if (resume.containsKey(s))
					resumePoint(r.instructions, s);
				if (behind.containsKey(s))
					r.instructions.add(behind.get(s));
			} else if (of.pinned().contains(i)) {
				pins.add(n);
			}
		}
		ranges(r, map);
		Reach.prune(r);
		keepLines(r, lines);
		Set<AbstractInsnNode> kept = new HashSet<>();
		r.instructions.forEach(kept::add);
		calls.values().retainAll(kept);
		pins.retainAll(kept);
		handlers(r);
		for (AbstractInsnNode c : pins)
			MethodRewriter.pinCall(r, c);
		number(r, m.maxLocals);
		name(r, map, 1);
		r.maxStack = m.maxStack + 4;
		return r;
	}

	private void prologue(InsnList l, Map<Site, LabelNode> behind) {
		LabelNode[] entry = new LabelNode[entries.size()];
		for (int k = 0; k < entry.length; k++)
			entry[k] = new LabelNode();
		if (entry.length > 1) {
			l.add(new VarInsnNode(Opcodes.ILOAD, PC));
			l.add(new InsnNode(Opcodes.I2C));
			l.add(new TableSwitchInsnNode(0, entry.length - 1, entry[0], entry));
		}
		for (int k = 0; k < entry.length; k++) {
			Site s = entries.get(k);
			l.add(entry[k]);
			code.restore(l, s);
			for (AbstractInsnNode b : s.below)
				l.add(b.clone(new HashMap<>()));
			LabelNode to = new LabelNode();
			if (isCovered(s)) {
				resume.put(s, to);
			} else {
				code.take(l, s);
				behind.put(s, to);
			}
			l.add(new JumpInsnNode(Opcodes.GOTO, to));
		}
	}

	/**
	 * True if the call is inside a try range of the program: its exception must be thrown there.
	 */
	private static boolean isCovered(Site s) {
		return !s.covered.isEmpty();
	}

	private void resumePoint(InsnList l, Site s) {
		LabelNode d = new LabelNode();
		l.add(new JumpInsnNode(Opcodes.GOTO, d));
		l.add(resume.get(s));
		code.take(l, s);
		l.add(d);
	}

	private static void ret(InsnList l, int op) {
		String d;
		switch (op) {
		case Opcodes.IRETURN: d = "I"; break;
		case Opcodes.LRETURN: d = "J"; break;
		case Opcodes.FRETURN: d = "F"; break;
		case Opcodes.DRETURN: d = "D"; break;
		case Opcodes.ARETURN: d = "Ljava/lang/Object;"; break;
		default: d = ""; break;
		}
		l.add(new VarInsnNode(Opcodes.ALOAD, T));
		if (d.equals("J") || d.equals("D")) {
			l.add(new InsnNode(Opcodes.DUP_X2));
			l.add(new InsnNode(Opcodes.POP));
		} else if (!d.isEmpty()) {
			l.add(new InsnNode(Opcodes.SWAP));
		}
		l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, MethodRewriter.CONT, "ret",
			"(" + d + ")Z", false));
		l.add(new InsnNode(Opcodes.IRETURN));
	}

	/** Repeats the line number where the remaining code begins in the middle of a line. */
	private static void keepLines(MethodNode to, Map<AbstractInsnNode, Integer> lines) {
		int line = 0;
		for (AbstractInsnNode i : to.instructions.toArray()) {
			if (i instanceof LineNumberNode)
				line = ((LineNumberNode) i).line;
			int own = lines.getOrDefault(i, line);
			if (own == line || own == 0)
				continue;
			LabelNode at = new LabelNode();
			to.instructions.insertBefore(i, at);
			to.instructions.insertBefore(i, new LineNumberNode(own, at));
			line = own;
		}
	}

	private static void number(MethodNode r, int locals) {
		for (AbstractInsnNode i : r.instructions)
			if (i instanceof VarInsnNode)
				((VarInsnNode) i).var = number(((VarInsnNode) i).var);
			else if (i instanceof IincInsnNode)
				((IincInsnNode) i).var = number(((IincInsnNode) i).var);
		r.maxLocals = Math.max(locals + 1, 3);
	}

	private static int number(int var) {
		return var >= T ? var - T : var + 1;
	}
}
