// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LocalVariableNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.ukthreads.pico.translate.analyse.Twins;

/*
 * One of the three bodies of a method. A handler for each site pushes the frame and leaves in the
 * way of that body. The twin and the copy are clones of the method's body.
 */
abstract class Body {
	static final String TWINS = "org/ukthreads/pico/Twins";
	static final String CAPTURE = MethodRewriter.CAPTURE;

	final MethodRewriter of;
	final ClassRewriter owner;
	final MethodNode m;
	final FrameCode code;
	/** The sites' calls in this body. */
	final Map<Site, MethodInsnNode> calls = new HashMap<>();
	/** The method's try range to that of this body. */
	final Map<TryCatchBlockNode, TryCatchBlockNode> ranges = new HashMap<>();

	Body(MethodRewriter of) {
		this.of = of;
		owner = of.owner;
		m = of.m;
		code = new FrameCode(owner);
	}

	/** Adds the code after the frame: throws or returns. Stack: Capture, if keeps(). */
	abstract void leave(InsnList l);

	/** True if leave needs the Capture. */
	boolean keeps() {
		return true;
	}

	/** Pushes the Capture for a call of a twin, and stores it in its local. */
	void capture(InsnList l) {
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, TWINS, "mine", "()L" + CAPTURE + ";",
			false));
		l.add(new InsnNode(Opcodes.DUP));
		l.add(new VarInsnNode(Opcodes.ASTORE, of.captureLocal));
	}

	/** The method itself, which throws. */
	static final class Own extends Body {
		Own(MethodRewriter of) {
			super(of);
			for (Site s : of.sites())
				calls.put(s, s.call);
			m.tryCatchBlocks.forEach(b -> ranges.put(b, b));
		}

		@Override
		void leave(InsnList l) {
			l.add(new InsnNode(Opcodes.ATHROW));
		}
	}

	/** Adds the capture handlers to a body, at the sites' calls. */
	void handlers(MethodNode to) {
		List<TryCatchBlockNode> mine = new ArrayList<>();
		List<TryCatchBlockNode> program = new ArrayList<>();
		List<Site> alike = new ArrayList<>(of.sites());
		alike.sort(Comparator.comparing(Site::values));
		for (Site s : alike) {
			MethodInsnNode c = calls.get(s);
			if (c == null)
				continue;
			LabelNode start = new LabelNode();
			LabelNode end = new LabelNode();
			LabelNode h = new LabelNode();
			to.instructions.insertBefore(c, start);
			to.instructions.insert(c, end);
			if (owner.twins.reaches(c))
				look(to, s, c, start, end);
			to.instructions.add(h);
			code.push(to.instructions, s, keeps());
			if (!s.covered.isEmpty()) {
				LabelNode pushed = new LabelNode();
				to.instructions.add(pushed);
				for (TryCatchBlockNode b : s.covered)
					if (to.tryCatchBlocks.contains(ranges.get(b)))
						program.add(new TryCatchBlockNode(h, pushed, ranges.get(b).handler,
							b.type));
			}
			leave(to.instructions);
			mine.add(new TryCatchBlockNode(start, end, h, CAPTURE));
		}
		to.tryCatchBlocks.addAll(0, mine);
		to.tryCatchBlocks.addAll(program);
	}

	/** Calls the twin, and adds a check whether it suspended, which joins the handler. */
	private void look(MethodNode to, Site s, MethodInsnNode c, LabelNode start, LabelNode end) {
		InsnList before = new InsnList();
		capture(before);
		to.instructions.insertBefore(start, before);
		owner.twins.redirect(c);
		LabelNode suspended = new LabelNode();
		InsnList after = new InsnList();
		after.add(new VarInsnNode(Opcodes.ALOAD, of.captureLocal));
		after.add(new MethodInsnNode(Opcodes.INVOKESTATIC, TWINS, "returned",
			"(L" + CAPTURE + ";)Z", false));
		after.add(new JumpInsnNode(Opcodes.IFNE, suspended));
		to.instructions.insert(end, after);
		InsnList l = to.instructions;
		l.add(suspended);
		pop(l, Type.getReturnType(c.desc).getSize());
		for (int k = s.sizes.size() - 1; k >= 0; k--)
			pop(l, s.sizes.get(k));
		l.add(new VarInsnNode(Opcodes.ALOAD, of.captureLocal));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, TWINS, "seen",
			"(L" + CAPTURE + ";)L" + CAPTURE + ";", false));
	}

	private static void pop(InsnList l, int size) {
		if (size > 0)
			l.add(new InsnNode(size == 2 ? Opcodes.POP2 : Opcodes.POP));
	}

	/* --- clones --- */

	Map<AbstractInsnNode, Site> sites() {
		Map<AbstractInsnNode, Site> at = new HashMap<>();
		for (Site s : of.sites())
			at.put(s.call, s);
		return at;
	}

	Map<LabelNode, LabelNode> labels() {
		Map<LabelNode, LabelNode> map = new HashMap<>();
		for (AbstractInsnNode i : m.instructions)
			if (i instanceof LabelNode)
				map.put((LabelNode) i, new LabelNode());
		return map;
	}

	void ranges(MethodNode r, Map<LabelNode, LabelNode> map) {
		for (TryCatchBlockNode b : m.tryCatchBlocks) {
			TryCatchBlockNode n = new TryCatchBlockNode(map.get(b.start), map.get(b.end),
				map.get(b.handler), b.type);
			ranges.put(b, n);
			r.tryCatchBlocks.add(n);
		}
	}

	/** Copies the names of the locals, for debuggers and the texts of a NullPointerException. */
	void name(MethodNode r, Map<LabelNode, LabelNode> map, int further) {
		if (m.localVariables == null)
			return;
		Set<String> known = new HashSet<>();
		r.localVariables = new ArrayList<>();
		for (LocalVariableNode x : m.localVariables) {
			LabelNode start = map.get(x.start);
			LabelNode end = map.get(x.end);
			/* Names of removed code are dropped; two of the same are a format error. */
			if (hasCode(r.instructions, start, end) && known.add(x.index + " "
					+ r.instructions.indexOf(start)))
				r.localVariables.add(new LocalVariableNode(x.name, x.desc, null, start, end,
					x.index + further));
		}
	}

	private static boolean hasCode(InsnList l, LabelNode start, LabelNode end) {
		for (AbstractInsnNode i = start; i != null && i != end; i = i.getNext())
			if (i.getOpcode() >= 0)
				return true;
		return false;
	}
}
