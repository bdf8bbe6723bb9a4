// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicInterpreter;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;

/*
 * What the compiler knew of missing classes (of an optional library, or one that comes at run
 * time): where a value of such a class meets a stack-map frame, the frame names a superclass of
 * it. Otherwise its common superclass with another class would be Object, and calls on that would
 * not verify.
 */
final class StackMaps {
	private final Hierarchy hierarchy;
	private final Map<LabelNode, FrameNode> frames = new HashMap<>();

	private StackMaps(Hierarchy h) {
		hierarchy = h;
	}

	/**
	 * Tells the hierarchy what this class file says about missing classes. False: it names some,
	 * but is too old to have stack maps.
	 */
	static boolean learn(Hierarchy h, byte[] file) {
		ClassReader r = new ClassReader(file);
		if (!namesMissing(h, r))
			return true;
		ClassNode c = new ClassNode(Opcodes.ASM9);
		r.accept(c, ClassReader.EXPAND_FRAMES | ClassReader.SKIP_DEBUG);
		for (MethodNode m : c.methods)
			if (m.instructions.size() > 0)
				new StackMaps(h).read(c.name, m);
		return (c.version & 0xffff) >= Opcodes.V1_6;
	}

	private static boolean namesMissing(Hierarchy h, ClassReader r) {
		char[] buffer = new char[r.getMaxStringLength()];
		for (int k = 1; k < r.getItemCount(); k++) {
			int at = r.getItem(k);
			if (at == 0 || r.readByte(at - 1) != 7)
				continue;
			String name = r.readUTF8(at, buffer);
			if (!name.startsWith("[") && !h.isWhole(name))
				return true;
		}
		return false;
	}

	private void read(String owner, MethodNode m) {
		for (AbstractInsnNode i : m.instructions)
			if (i instanceof FrameNode)
				for (AbstractInsnNode l = i.getPrevious(); l != null
						&& l.getOpcode() < 0; l = l.getPrevious())
					if (l instanceof LabelNode)
						frames.putIfAbsent((LabelNode) l, (FrameNode) i);
		for (TryCatchBlockNode t : m.tryCatchBlocks)
			if (t.type != null) {
				hierarchy.learn(t.type, "java/lang/Throwable");
				FrameNode f = frames.get(t.handler);
				if (f != null)
					meet(Type.getObjectType(t.type), f.stack.get(0));
			}
		if (frames.isEmpty())
			return;
		try {
			walk(owner, m);
		} catch (AnalyzerException | RuntimeException e) {
			/* The verifier would reject it. Code that needs these types reports that. */
			return;
		}
	}

	/** As the verifier does: one pass, which takes each frame at its place. */
	private void walk(String owner, MethodNode m) throws AnalyzerException {
		Frame<BasicValue> now = first(owner, m);
		for (AbstractInsnNode i : m.instructions) {
			if (i instanceof FrameNode) {
				if (now != null)
					meet(now, (FrameNode) i);
				now = of((FrameNode) i, m);
			}
			if (i.getOpcode() < 0 || now == null)
				continue;
			for (TryCatchBlockNode t : m.tryCatchBlocks)
				if (covers(m, t, i) && frames.containsKey(t.handler))
					meetLocals(now, frames.get(t.handler));
			now.execute(i, TYPES);
			for (LabelNode l : targets(i))
				if (frames.containsKey(l))
					meet(now, frames.get(l));
			if (endsHere(i))
				now = null;
		}
	}

	private static boolean covers(MethodNode m, TryCatchBlockNode t, AbstractInsnNode i) {
		int k = m.instructions.indexOf(i);
		return m.instructions.indexOf(t.start) < k && k < m.instructions.indexOf(t.end);
	}

	private static List<LabelNode> targets(AbstractInsnNode i) {
		if (i instanceof JumpInsnNode)
			return List.of(((JumpInsnNode) i).label);
		List<LabelNode> all = new ArrayList<>();
		if (i instanceof TableSwitchInsnNode) {
			all.addAll(((TableSwitchInsnNode) i).labels);
			all.add(((TableSwitchInsnNode) i).dflt);
		} else if (i instanceof LookupSwitchInsnNode) {
			all.addAll(((LookupSwitchInsnNode) i).labels);
			all.add(((LookupSwitchInsnNode) i).dflt);
		}
		return all;
	}

	private static boolean endsHere(AbstractInsnNode i) {
		int op = i.getOpcode();
		return op == Opcodes.GOTO || op == Opcodes.ATHROW || op == Opcodes.TABLESWITCH
			|| op == Opcodes.LOOKUPSWITCH || op >= Opcodes.IRETURN && op <= Opcodes.RETURN;
	}

	private static Frame<BasicValue> first(String owner, MethodNode m) {
		Frame<BasicValue> f = new Frame<>(m.maxLocals, m.maxStack);
		f.setReturn(TYPES.newValue(Type.getReturnType(m.desc)));
		int at = 0;
		if ((m.access & Opcodes.ACC_STATIC) == 0)
			f.setLocal(at++, TYPES.newValue(Type.getObjectType(owner)));
		for (Type t : Type.getArgumentTypes(m.desc)) {
			f.setLocal(at++, TYPES.newValue(t));
			if (t.getSize() == 2)
				f.setLocal(at++, BasicValue.UNINITIALIZED_VALUE);
		}
		while (at < m.maxLocals)
			f.setLocal(at++, BasicValue.UNINITIALIZED_VALUE);
		return f;
	}

	private static Frame<BasicValue> of(FrameNode n, MethodNode m) {
		Frame<BasicValue> f = new Frame<>(m.maxLocals, m.maxStack);
		f.setReturn(TYPES.newValue(Type.getReturnType(m.desc)));
		int at = 0;
		for (Object x : n.local) {
			BasicValue v = value(x);
			f.setLocal(at++, v);
			if (v.getSize() == 2)
				f.setLocal(at++, BasicValue.UNINITIALIZED_VALUE);
		}
		while (at < m.maxLocals)
			f.setLocal(at++, BasicValue.UNINITIALIZED_VALUE);
		for (Object x : n.stack)
			f.push(value(x));
		return f;
	}

	private static BasicValue value(Object x) {
		if (x instanceof String)
			return TYPES.newValue(Type.getObjectType((String) x));
		if (!(x instanceof Integer))
			return BasicValue.REFERENCE_VALUE;
		switch ((Integer) x) {
		case 1:
			return BasicValue.INT_VALUE;
		case 2:
			return BasicValue.FLOAT_VALUE;
		case 3:
			return BasicValue.DOUBLE_VALUE;
		case 4:
			return BasicValue.LONG_VALUE;
		case 0:
			return BasicValue.UNINITIALIZED_VALUE;
		default:
			return BasicValue.REFERENCE_VALUE;
		}
	}

	private void meet(Frame<BasicValue> now, FrameNode f) {
		meetLocals(now, f);
		for (int k = 0; k < f.stack.size(); k++)
			meet(now.getStack(k).getType(), f.stack.get(k));
	}

	private void meetLocals(Frame<BasicValue> now, FrameNode f) {
		int at = 0;
		for (Object x : f.local) {
			meet(now.getLocal(at).getType(), x);
			at += x.equals(Opcodes.LONG) || x.equals(Opcodes.DOUBLE) ? 2 : 1;
		}
	}

	private void meet(Type value, Object frame) {
		if (value != null && value.getSort() == Type.OBJECT
				&& !value.equals(BasicInterpreter.NULL_TYPE) && frame instanceof String
				&& !((String) frame).startsWith("["))
			hierarchy.learn(value.getInternalName(), (String) frame);
	}

	/** Types as they are declared, unchecked. */
	private static final BasicInterpreter TYPES = new BasicInterpreter(Opcodes.ASM9) {
		@Override
		public BasicValue newValue(Type t) {
			BasicValue v = super.newValue(t);
			return v == null || !v.isReference() ? v : new BasicValue(t);
		}

		@Override
		public BasicValue binaryOperation(AbstractInsnNode i, BasicValue a, BasicValue b)
				throws AnalyzerException {
			Type t = a.getType();
			if (i.getOpcode() == Opcodes.AALOAD && t != null && t.getSort() == Type.ARRAY)
				return newValue(Type.getType(t.getDescriptor().substring(1)));
			return super.binaryOperation(i, a, b);
		}
	};
}
