// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.IntInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/** A hash of what a method does: instructions and operands, without lines and names of locals. */
final class Hash {
	private Hash() {}

	static long of(MethodNode m) {
		long h = 0xcbf29ce484222325L;
		for (AbstractInsnNode i : m.instructions) {
			if (i.getOpcode() < 0)
				continue;
			h = mix(h, i.getOpcode());
			if (i instanceof VarInsnNode)
				h = mix(h, ((VarInsnNode) i).var);
			else if (i instanceof IntInsnNode)
				h = mix(h, ((IntInsnNode) i).operand);
			else if (i instanceof IincInsnNode)
				h = mix(h, ((IincInsnNode) i).var * 31L + ((IincInsnNode) i).incr);
			else if (i instanceof LdcInsnNode)
				h = mix(h, ((LdcInsnNode) i).cst.toString().hashCode());
			else if (i instanceof TypeInsnNode)
				h = mix(h, ((TypeInsnNode) i).desc.hashCode());
			else if (i instanceof FieldInsnNode)
				h = mix(h, (((FieldInsnNode) i).owner + ((FieldInsnNode) i).name).hashCode());
			else if (i instanceof MethodInsnNode)
				h = mix(h, (((MethodInsnNode) i).owner + ((MethodInsnNode) i).name
					+ ((MethodInsnNode) i).desc).hashCode());
			else if (i instanceof JumpInsnNode)
				h = mix(h, m.instructions.indexOf(((JumpInsnNode) i).label)
					- m.instructions.indexOf(i));
		}
		return h;
	}

	private static long mix(long h, long v) {
		return (h ^ v) * 0x100000001b3L;
	}
}
