// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.ukthreads.pico.translate.analyse.Twins;

/** The twin: the method's body under another name, with a Capture as the last argument. */
final class TwinBody extends Body {
	TwinBody(MethodRewriter of) {
		super(of);
	}

	/** Returns any value, with the Capture marked. */
	@Override
	void leave(InsnList l) {
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, TWINS, "leave", "(L" + CAPTURE + ";)V",
			false));
		Type r = Type.getReturnType(m.desc);
		anything(l, r);
		l.add(new InsnNode(r.getOpcode(Opcodes.IRETURN)));
	}

	@Override
	void capture(InsnList l) {
		l.add(new VarInsnNode(Opcodes.ALOAD, of.captureLocal));
	}

	private static void anything(InsnList l, Type r) {
		switch (r.getSort()) {
		case Type.VOID: break;
		case Type.LONG: l.add(new InsnNode(Opcodes.LCONST_0)); break;
		case Type.FLOAT: l.add(new InsnNode(Opcodes.FCONST_0)); break;
		case Type.DOUBLE: l.add(new InsnNode(Opcodes.DCONST_0)); break;
		case Type.OBJECT: case Type.ARRAY: l.add(new InsnNode(Opcodes.ACONST_NULL)); break;
		default: l.add(new InsnNode(Opcodes.ICONST_0)); break;
		}
	}

	MethodNode make() {
		owner.report.twin(owner.node.name, m.name + m.desc);
		MethodNode r = new MethodNode(Opcodes.ASM9, m.access & ~(Opcodes.ACC_SYNCHRONIZED
			| Opcodes.ACC_BRIDGE | Opcodes.ACC_VARARGS) | Opcodes.ACC_SYNTHETIC,
			Twins.name(owner.node.name, m.name), Twins.desc(m.desc), null,
			m.exceptions.toArray(new String[0]));
		Map<LabelNode, LabelNode> map = labels();
		Map<AbstractInsnNode, Site> at = sites();
		List<AbstractInsnNode> pins = new ArrayList<>();
		for (AbstractInsnNode i : m.instructions) {
			if (i.getType() == AbstractInsnNode.FRAME)
				continue;
			AbstractInsnNode n = i.clone(map);
			r.instructions.add(n);
			if (at.containsKey(i))
				calls.put(at.get(i), (MethodInsnNode) n);
			if (of.pinned().contains(i))
				pins.add(n);
		}
		ranges(r, map);
		handlers(r);
		for (AbstractInsnNode c : pins)
			MethodRewriter.pinCall(r, c);
		int args = (Type.getArgumentsAndReturnSizes(m.desc) >> 2)
			- ((m.access & Opcodes.ACC_STATIC) != 0 ? 1 : 0);
		/* To a local of its own, because the body may use the argument's local. */
		InsnList keep = new InsnList();
		keep.add(new VarInsnNode(Opcodes.ALOAD, args));
		keep.add(new VarInsnNode(Opcodes.ASTORE, of.captureLocal));
		r.instructions.insert(keep);
		r.maxLocals = of.captureLocal + 1;
		name(r, map, 0);
		if (Twins.isOverridable(owner.node, m))
			r.instructions.insert(overridden());
		return r;
	}

	/** Code that calls the method itself if a class without a twin overrides it. */
	private InsnList overridden() {
		InsnList l = new InsnList();
		LabelNode on = new LabelNode();
		String self = owner.node.name;
		l.add(new VarInsnNode(Opcodes.ALOAD, 0));
		l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, "java/lang/Object", "getClass",
			"()Ljava/lang/Class;", false));
		l.add(new LdcInsnNode(Type.getObjectType(self)));
		l.add(new JumpInsnNode(Opcodes.IF_ACMPEQ, on));
		l.add(new VarInsnNode(Opcodes.ALOAD, 0));
		l.add(new LdcInsnNode(m.name + m.desc));
		l.add(new LdcInsnNode(Type.getObjectType(self)));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, TWINS, "inherits",
			"(Ljava/lang/Object;Ljava/lang/String;Ljava/lang/Class;)Z", false));
		l.add(new JumpInsnNode(Opcodes.IFNE, on));
		l.add(new VarInsnNode(Opcodes.ALOAD, 0));
		int at = 1;
		for (Type t : Type.getArgumentTypes(m.desc)) {
			l.add(new VarInsnNode(t.getOpcode(Opcodes.ILOAD), at));
			at += t.getSize();
		}
		l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, self, m.name, m.desc, false));
		l.add(new InsnNode(Type.getReturnType(m.desc).getOpcode(Opcodes.IRETURN)));
		l.add(on);
		return l;
	}
}
