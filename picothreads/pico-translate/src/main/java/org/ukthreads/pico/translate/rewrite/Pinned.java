// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;
import org.ukthreads.pico.translate.analyse.Replacements;
import org.ukthreads.pico.translate.analyse.SelfLocks;
import org.ukthreads.pico.translate.analyse.Types;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * A class that was not analysed, because the program makes it at run time or because it cannot be
 * analysed (a method that is too large, code that no compiler makes). It cannot be captured, but it
 * must not lose a frame, and it must use the same locks as the others.
 *
 *   m() { body }   -->   m() { Pins.enter(); try { body } finally { Pins.exit(); } }
 *   synchronized   -->   Monitors.enter and exit, if the type may be one whose locks are ours
 *
 * The stack-map frames of the body stay: the added code has no branches, and the handler reads no
 * local. (Computing them needs the class files of all classes it names, and those of other classes
 * made at run time cannot be read.)
 */
public final class Pinned {
	private static final String MONITORS = "org/ukthreads/pico/Monitors";
	private static final String HANDLES = "org/ukthreads/pico/Handles";
	private final ClassNode node;
	private final Hierarchy hierarchy;
	private final Set<String> ours;
	private final SelfLocks selves;
	private final List<MethodNode> added = new ArrayList<>();

	/** ours: the types whose locks are ours. */
	public Pinned(ClassNode node, Hierarchy hierarchy, Replacements rules, Set<String> ours) {
		this.node = node;
		this.hierarchy = hierarchy;
		this.ours = ours;
		selves = new SelfLocks(hierarchy, rules, this::meets, true);
	}

	public byte[] write() throws AnalyzerException {
		Originals before = new Originals(node);
		for (MethodNode m : new ArrayList<>(node.methods))
			selves.apply(node, m);
		for (MethodNode m : node.methods) {
			if (m.instructions.size() == 0)
				continue;
			lambdas(m);
			blocks(m);
			AbstractInsnNode from = start(m);
			if (from != null && calls(m))
				bracket(m, from);
			if ((m.access & Opcodes.ACC_SYNCHRONIZED) != 0 && meets((m.access
					& Opcodes.ACC_STATIC) != 0 ? "java/lang/Class" : node.name))
				lock(m);
		}
		node.methods.addAll(added);
		before.record(node);
		ClassWriter w = new ClassWriter(ClassWriter.COMPUTE_MAXS);
		node.accept(w);
		return w.toByteArray();
	}

	private boolean meets(String type) {
		for (String o : ours)
			if (hierarchy.isSubtype(type, o) || hierarchy.isSubtype(o, type)
					|| hierarchy.isInterface(type) || hierarchy.isInterface(o))
				return true;
		return false;
	}

	/** The JVM's lambdas of methods that may suspend would be lost frames. */
	private void lambdas(MethodNode m) {
		for (AbstractInsnNode i : m.instructions) {
			if (!(i instanceof InvokeDynamicInsnNode))
				continue;
			InvokeDynamicInsnNode d = (InvokeDynamicInsnNode) i;
			if (!d.bsm.getOwner().equals("java/lang/invoke/LambdaMetafactory")
					|| !(d.bsmArgs[1] instanceof Handle)
					|| ((Handle) d.bsmArgs[1]).getOwner().equals(node.name))
				continue;
			d.bsm = new Handle(Opcodes.H_INVOKESTATIC, HANDLES, d.bsm.getName(),
				d.bsm.getDesc(), false);
		}
	}

	private void blocks(MethodNode m) throws AnalyzerException {
		boolean any = false;
		for (AbstractInsnNode i : m.instructions)
			any |= i.getOpcode() == Opcodes.MONITORENTER;
		if (!any || ours.isEmpty())
			return;
		Frame<BasicValue>[] fs = frames(m);
		AbstractInsnNode[] all = m.instructions.toArray();
		for (int k = 0; k < all.length; k++) {
			int op = all[k].getOpcode();
			if (op != Opcodes.MONITORENTER && op != Opcodes.MONITOREXIT
					|| fs != null && fs[k] == null)
				continue;
			Type t = fs == null ? null : fs[k].getStack(fs[k].getStackSize() - 1).getType();
			if (t == null || t.getSort() != Type.OBJECT || meets(t.getInternalName()))
				m.instructions.set(all[k], monitors(op == Opcodes.MONITORENTER ? "enter"
					: "exit"));
		}
	}

	/** Null if the method cannot be analysed; then its locks may be of any type. */
	private Frame<BasicValue>[] frames(MethodNode m) throws AnalyzerException {
		try {
			return Types.of(hierarchy, node.name, m);
		} catch (Types.Unreadable e) {
			return null;
		}
	}

	private static MethodInsnNode monitors(String name) {
		return new MethodInsnNode(Opcodes.INVOKESTATIC, MONITORS, name,
			"(Ljava/lang/Object;)V", false);
	}

	/** Where the bracket begins: after super(...) in a constructor; null: nowhere. */
	private AbstractInsnNode start(MethodNode m) throws AnalyzerException {
		if (!m.name.equals("<init>"))
			return m.instructions.getFirst();
		if (frames(m) == null)
			return null;
		MethodInsnNode up = Constructors.superCall(hierarchy, node.name, m);
		return up == null ? null : up.getNext();
	}

	private static boolean calls(MethodNode m) {
		for (AbstractInsnNode i : m.instructions)
			if (i instanceof InvokeDynamicInsnNode || i instanceof MethodInsnNode
					&& !((MethodInsnNode) i).owner.startsWith("java/lang/"))
				return true;
		return false;
	}

	private void bracket(MethodNode m, AbstractInsnNode from) {
		LabelNode start = new LabelNode();
		LabelNode end = new LabelNode();
		InsnList l = new InsnList();
		l.add(MethodRewriter.pins("enter"));
		l.add(start);
		boolean covers = false;
		for (AbstractInsnNode i = from; i != null; i = i.getNext()) {
			covers |= i.getOpcode() >= 0;
			if (i.getOpcode() >= Opcodes.IRETURN && i.getOpcode() <= Opcodes.RETURN)
				m.instructions.insertBefore(i, MethodRewriter.pins("exit"));
		}
		if (!covers)
			return;
		m.instructions.insertBefore(from, l);
		m.instructions.add(end);
		handler(m, 0);
		m.instructions.add(MethodRewriter.pins("exit"));
		m.instructions.add(new InsnNode(Opcodes.ATHROW));
		m.tryCatchBlocks.add(new TryCatchBlockNode(start, end, end, null));
	}

	/** Adds the frame of a handler at the end, with no locals or with the method's arguments. */
	private void handler(MethodNode m, int locals) {
		if ((node.version & 0xffff) < Opcodes.V1_6)
			return;
		m.instructions.add(locals == 0
			? new FrameNode(Opcodes.F_FULL, 0, null, 1, new Object[] {"java/lang/Throwable"})
			: new FrameNode(Opcodes.F_SAME1, 0, null, 1,
				new Object[] {"java/lang/Throwable"}));
	}

	/**
	 * Moves the body into another method. What is left has only arguments, so its frames are
	 * simple.
	 */
	private void lock(MethodNode m) {
		boolean st = (m.access & Opcodes.ACC_STATIC) != 0;
		MethodNode body = new MethodNode(Opcodes.ASM9, Opcodes.ACC_PRIVATE
			| Opcodes.ACC_SYNTHETIC | m.access & (Opcodes.ACC_STATIC | Opcodes.ACC_STRICT),
			"pico$$locked$" + added.size(), m.desc, null, m.exceptions.toArray(new String[0]));
		body.instructions = m.instructions;
		body.tryCatchBlocks = m.tryCatchBlocks;
		body.localVariables = m.localVariables;
		body.maxLocals = m.maxLocals;
		body.maxStack = m.maxStack;
		added.add(body);
		m.access &= ~Opcodes.ACC_SYNCHRONIZED;
		m.instructions = new InsnList();
		m.tryCatchBlocks = new ArrayList<>();
		m.localVariables = null;
		m.visibleLocalVariableAnnotations = null;
		m.invisibleLocalVariableAnnotations = null;
		LabelNode start = new LabelNode();
		LabelNode end = new LabelNode();
		LabelNode caught = new LabelNode();
		InsnList l = m.instructions;
		locked(l, st, "enter");
		l.add(start);
		int at = 0;
		if (!st)
			l.add(new VarInsnNode(Opcodes.ALOAD, at++));
		for (Type t : Type.getArgumentTypes(m.desc)) {
			l.add(new VarInsnNode(t.getOpcode(Opcodes.ILOAD), at));
			at += t.getSize();
		}
		l.add(new MethodInsnNode(st ? Opcodes.INVOKESTATIC : Opcodes.INVOKESPECIAL,
			node.name, body.name, body.desc, false));
		l.add(end);
		locked(l, st, "exit");
		l.add(new InsnNode(Type.getReturnType(m.desc).getOpcode(Opcodes.IRETURN)));
		l.add(caught);
		handler(m, 1);
		locked(l, st, "exit");
		l.add(new InsnNode(Opcodes.ATHROW));
		m.tryCatchBlocks.add(new TryCatchBlockNode(start, end, caught, null));
	}

	private void locked(InsnList l, boolean isStatic, String name) {
		boolean in = name.equals("enter");
		/* This method cannot be captured while it waits for the lock. */
		if (in)
			l.add(MethodRewriter.pins("enter"));
		l.add(isStatic ? new LdcInsnNode(Type.getObjectType(node.name))
			: new VarInsnNode(Opcodes.ALOAD, 0));
		l.add(monitors(name));
		if (in)
			l.add(MethodRewriter.pins("exit"));
	}
}
