// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/** The code that pushes a site's frame, and the code that restores its values. */
final class FrameCode {
	private static final String PUSHES = "org/ukthreads/pico/Pushes";

	private final ClassRewriter owner;

	FrameCode(ClassRewriter owner) {
		this.owner = owner;
	}

	/** Pushes the frame. Stack: Capture, which stays if keep is set. */
	void push(InsnList l, Site s, boolean keep) {
		if (keep)
			l.add(new InsnNode(Opcodes.DUP));
		if (s.receiver >= 0)
			l.add(new VarInsnNode(Opcodes.ALOAD, s.receiver));
		else
			l.add(new InsnNode(Opcodes.ACONST_NULL));
		l.add(MethodRewriter.constant(s.index));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, owner.companion.name(), "at",
			Companion.AT_DESC, false));
		if (s.tail) {
			l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, PUSHES, "pass", "()V", false));
			return;
		}
		if (s.shape.wide) {
			wide(l, s, 'i', s.shape.i, "ints", "[I", Opcodes.IASTORE);
			wide(l, s, 'j', s.shape.j, "longs", "[J", Opcodes.LASTORE);
			wide(l, s, 'a', s.shape.a, "refs", "[Ljava/lang/Object;", Opcodes.AASTORE);
		} else {
			bank(l, s, 'i', s.shape.i, Opcodes.ICONST_0);
			bank(l, s, 'j', s.shape.j, Opcodes.LCONST_0);
			bank(l, s, 'a', s.shape.a, Opcodes.ACONST_NULL);
		}
		l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, PUSHES, "push", s.shape.pushDesc(),
			false));
	}

	private static void bank(InsnList l, Site s, char bank, int n, int filler) {
		int k = 0;
		for (Site.Saved v : s.saved)
			if (v.bank == bank) {
				value(l, v);
				k++;
			}
		for (; k < n; k++)
			l.add(new InsnNode(filler));
	}

	private static void wide(InsnList l, Site s, char bank, int n, String make, String type,
			int store) {
		l.add(MethodRewriter.constant(n));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, PUSHES, make, "(I)" + type, false));
		for (Site.Saved v : s.saved)
			if (v.bank == bank) {
				l.add(new InsnNode(Opcodes.DUP));
				l.add(MethodRewriter.constant(v.index));
				value(l, v);
				l.add(new InsnNode(store));
			}
	}

	private static void value(InsnList l, Site.Saved v) {
		l.add(new VarInsnNode(v.type.getOpcode(Opcodes.ILOAD), v.local));
		if (v.type.getSort() == Type.FLOAT)
			l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "java/lang/Float",
				"floatToRawIntBits", "(F)I", false));
		else if (v.type.getSort() == Type.DOUBLE)
			l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "java/lang/Double",
				"doubleToRawLongBits", "(D)J", false));
	}

	/* --- back --- */

	void restore(InsnList l, Site s) {
		if (!s.saved.isEmpty())
			unpack(l, s);
		for (int v : s.nulls) {
			l.add(new InsnNode(Opcodes.ACONST_NULL));
			l.add(new VarInsnNode(Opcodes.ASTORE, v));
		}
	}

	private void unpack(InsnList l, Site s) {
		l.add(new VarInsnNode(Opcodes.ALOAD, ResumeCopy.F));
		l.add(new TypeInsnNode(Opcodes.CHECKCAST, s.shape.className()));
		int left = s.saved.size();
		for (Site.Saved v : s.saved) {
			if (--left > 0)
				l.add(new InsnNode(Opcodes.DUP));
			fetch(l, s, v);
			switch (v.type.getSort()) {
			case Type.FLOAT:
				l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "java/lang/Float",
					"intBitsToFloat", "(I)F", false));
				break;
			case Type.DOUBLE:
				l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "java/lang/Double",
					"longBitsToDouble", "(J)D", false));
				break;
			case Type.OBJECT: case Type.ARRAY:
				cast(l, v.type);
				break;
			default:
				break;
			}
			l.add(new VarInsnNode(v.type.getOpcode(Opcodes.ISTORE), v.local));
		}
	}

	private static void fetch(InsnList l, Site s, Site.Saved v) {
		String elem = v.bank == 'i' ? "I" : v.bank == 'j' ? "J" : "Ljava/lang/Object;";
		if (!s.shape.wide) {
			l.add(new FieldInsnNode(Opcodes.GETFIELD, s.shape.className(),
				"" + v.bank + v.index, elem));
			return;
		}
		l.add(new FieldInsnNode(Opcodes.GETFIELD, s.shape.className(), "" + v.bank,
			"[" + elem));
		l.add(MethodRewriter.constant(v.index));
		l.add(new InsnNode(v.bank == 'i' ? Opcodes.IALOAD
			: v.bank == 'j' ? Opcodes.LALOAD : Opcodes.AALOAD));
	}

	/** Pushes what the call returned, or throws what it threw. */
	void take(InsnList l, Site s) {
		l.add(new VarInsnNode(Opcodes.ALOAD, ResumeCopy.T));
		Type r = Type.getReturnType(s.call.desc);
		String k;
		String desc;
		switch (r.getSort()) {
		case Type.VOID: k = "V"; desc = "V"; break;
		case Type.LONG: k = "J"; desc = "J"; break;
		case Type.FLOAT: k = "F"; desc = "F"; break;
		case Type.DOUBLE: k = "D"; desc = "D"; break;
		case Type.OBJECT: case Type.ARRAY: k = "A"; desc = "Ljava/lang/Object;"; break;
		default: k = "I"; desc = "I"; break;
		}
		l.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, MethodRewriter.CONT, "take" + k,
			"()" + desc, false));
		if (k.equals("A"))
			cast(l, r);
	}

	private void cast(InsnList l, Type t) {
		if (t.getInternalName().equals("java/lang/Object"))
			return;
		owner.names(t);
		l.add(new TypeInsnNode(Opcodes.CHECKCAST, t.getInternalName()));
	}
}
