// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.TypeInsnNode;

/** Conversions as LambdaMetafactory makes them: cast, box, unbox, widen. */
final class Convert {
	private Convert() {}

	static void convert(InsnList c, Type from, Type to) {
		if (from.equals(to) || to.getSort() == Type.VOID)
			return;
		boolean f = from.getSort() < Type.ARRAY;
		boolean t = to.getSort() < Type.ARRAY;
		if (f && t) {
			widen(c, from, to);
		} else if (f) {
			String b = box(from);
			c.add(new MethodInsnNode(Opcodes.INVOKESTATIC, b, "valueOf",
				"(" + from.getDescriptor() + ")L" + b + ";", false));
		} else if (t) {
			unbox(c, from, to);
		} else if (!to.getInternalName().equals("java/lang/Object")) {
			c.add(new TypeInsnNode(Opcodes.CHECKCAST, to.getInternalName()));
		}
	}

	private static void unbox(InsnList c, Type from, Type to) {
		Type p = primitive(from.getInternalName());
		if (p == null && to.getSort() != Type.BOOLEAN && to.getSort() != Type.CHAR) {
			/* Object or Number: any number, which may be of a narrower type. */
			c.add(new TypeInsnNode(Opcodes.CHECKCAST, "java/lang/Number"));
			c.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, "java/lang/Number",
				to.getClassName() + "Value", "()" + to.getDescriptor(), false));
			return;
		}
		if (p == null) {
			c.add(new TypeInsnNode(Opcodes.CHECKCAST, box(to)));
			p = to;
		}
		c.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, box(p), p.getClassName() + "Value",
			"()" + p.getDescriptor(), false));
		widen(c, p, to);
	}

	private static void widen(InsnList c, Type from, Type to) {
		int a = rank(from);
		int b = rank(to);
		if (a == b)
			return;
		int[][] ops = {
			{0, Opcodes.I2L, Opcodes.I2F, Opcodes.I2D},
			{0, 0, Opcodes.L2F, Opcodes.L2D},
			{0, 0, 0, Opcodes.F2D}};
		c.add(new InsnNode(ops[a][b]));
	}

	private static int rank(Type t) {
		switch (t.getSort()) {
		case Type.LONG: return 1;
		case Type.FLOAT: return 2;
		case Type.DOUBLE: return 3;
		default: return 0;
		}
	}

	static String box(Type t) {
		switch (t.getSort()) {
		case Type.BOOLEAN: return "java/lang/Boolean";
		case Type.CHAR: return "java/lang/Character";
		case Type.BYTE: return "java/lang/Byte";
		case Type.SHORT: return "java/lang/Short";
		case Type.LONG: return "java/lang/Long";
		case Type.FLOAT: return "java/lang/Float";
		case Type.DOUBLE: return "java/lang/Double";
		default: return "java/lang/Integer";
		}
	}

	private static Type primitive(String box) {
		switch (box) {
		case "java/lang/Boolean": return Type.BOOLEAN_TYPE;
		case "java/lang/Character": return Type.CHAR_TYPE;
		case "java/lang/Byte": return Type.BYTE_TYPE;
		case "java/lang/Short": return Type.SHORT_TYPE;
		case "java/lang/Integer": return Type.INT_TYPE;
		case "java/lang/Long": return Type.LONG_TYPE;
		case "java/lang/Float": return Type.FLOAT_TYPE;
		case "java/lang/Double": return Type.DOUBLE_TYPE;
		default: return null;
		}
	}
}
