// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Shortens the stack-map frames of capture handlers to the locals that the handler reads, and those
 * that handlers of the program around it read; ASM has computed all that are set at the call. A
 * shorter frame is often the same as the one before it, which takes four bytes.
 */
final class Handlers {
	private Handlers() {}

	static byte[] trim(byte[] file) {
		ClassNode c = new ClassNode(Opcodes.ASM9);
		new ClassReader(file).accept(c, ClassReader.EXPAND_FRAMES);
		for (MethodNode m : c.methods) {
			Set<LabelNode> handlers = new HashSet<>();
			for (TryCatchBlockNode b : m.tryCatchBlocks)
				if (MethodRewriter.CAPTURE.equals(b.type) && handlers.add(b.handler))
					trim(b.handler, needed(m, b.handler));
		}
		ClassWriter w = new ClassWriter(0);
		c.accept(w);
		return w.toByteArray();
	}

	private static boolean isEnd(int op) {
		return op == Opcodes.ATHROW || op >= Opcodes.IRETURN && op <= Opcodes.RETURN;
	}

	/** The locals that handlers around this one need. */
	private static Set<Integer> needed(MethodNode m, LabelNode handler) {
		Set<Integer> locals = new HashSet<>();
		for (TryCatchBlockNode b : m.tryCatchBlocks) {
			if (b.start != handler)
				continue;
			AbstractInsnNode i = b.handler;
			while (!(i instanceof FrameNode))
				i = i.getNext();
			int at = 0;
			for (Object t : ((FrameNode) i).local) {
				if (t != Opcodes.TOP)
					locals.add(at);
				at += t == Opcodes.LONG || t == Opcodes.DOUBLE ? 2 : 1;
			}
		}
		return locals;
	}

	/** Our handlers are straight code up to their end. */
	private static void trim(LabelNode handler, Set<Integer> needed) {
		FrameNode f = null;
		Set<Integer> read = new HashSet<>(needed);
		for (AbstractInsnNode i = handler; !isEnd(i.getOpcode()); i = i.getNext())
			if (i instanceof FrameNode)
				f = (FrameNode) i;
			else if (i instanceof VarInsnNode)
				read.add(((VarInsnNode) i).var);
		List<Object> kept = new ArrayList<>();
		int at = 0;
		int end = 0;
		for (Object t : f.local) {
			boolean two = t == Opcodes.LONG || t == Opcodes.DOUBLE;
			if (read.contains(at)) {
				kept.add(t);
				end = kept.size();
			} else {
				kept.add(Opcodes.TOP);
				if (two)
					kept.add(Opcodes.TOP);
			}
			at += two ? 2 : 1;
		}
		f.local = kept.subList(0, end);
	}
}
