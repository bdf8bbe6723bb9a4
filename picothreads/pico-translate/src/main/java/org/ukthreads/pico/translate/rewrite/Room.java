// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.CodeSizeEvaluator;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;

/*
 * How large a method becomes at least, before any of it is written: a method has 64 KB.
 *
 *   body     its instructions, and the handler of each site
 *   copy     what its entries reach, including the handlers of the sites there, and what each
 *            entry restores
 *
 * Without this check, a method of thousands of calls (which loads a Clojure library) was copied 1,
 * 4, 16 and 32 times. Each time, all copies were written and found too large, and the whole program
 * was analysed again. A part of straight code is as large as what follows its first entry, so no
 * number of parts helps there. Only what cannot fit is excluded here, because the sizes are lower
 * bounds; `Large` handles what turns out too large all the same.
 */
final class Room {
	private static final int MOST = 65_535;
	/** Limit for all copies of a method: a larger method is code that runs once, and pins. */
	private static final int ALL = 4 * MOST;
	/* aload c, receiver, number, at, push, athrow; entry: load, cast, take, goto. */
	private static final int HANDLER = 13;
	private static final int ENTRY = 10;
	/** Saving loads a value; restoring is a field, perhaps a cast, and a store. */
	private static final int SAVED = 1;
	private static final int RESTORED = 4;

	private final MethodNode m;
	private final InsnList code;
	private final int[] sizes;
	private final int[] saved;

	/** calls: the sites, and how many values each saves. */
	Room(MethodNode m, Map<MethodInsnNode, Integer> calls) {
		this.m = m;
		code = m.instructions;
		sizes = new int[code.size()];
		saved = new int[sizes.length];
		CodeSizeEvaluator e = new CodeSizeEvaluator(null);
		int before = 0;
		for (int k = 0; k < sizes.length; k++) {
			AbstractInsnNode i = code.get(k);
			if (i.getOpcode() < 0)
				continue;
			i.accept(e);
			sizes[k] = e.getMinSize() - before;
			before = e.getMinSize();
		}
		calls.forEach((c, n) -> saved[code.indexOf(c)] = n + 1);
	}

	/** True if the body may fit with its handlers. */
	boolean body() {
		int n = 0;
		for (int k = 0; k < sizes.length; k++)
			n += sizes[k] + handler(k);
		return n <= MOST;
	}

	private int handler(int k) {
		return saved[k] > 0 ? HANDLER + SAVED * (saved[k] - 1) : 0;
	}

	/** True if each copy may fit, with `step` entries each, and all of them together. */
	boolean copies(List<MethodInsnNode> entries, int step) {
		int all = 0;
		for (int k = 0; k < entries.size(); k += step) {
			int n = copy(entries.subList(k, Math.min(k + step, entries.size())));
			all += n;
			if (n > MOST || all > ALL)
				return false;
		}
		return true;
	}

	private int copy(List<MethodInsnNode> entries) {
		BitSet seen = new BitSet();
		int n = 0;
		for (MethodInsnNode c : entries) {
			n += ENTRY + RESTORED * (saved[code.indexOf(c)] - 1);
			walk(c.getNext(), seen);
		}
		boolean again = true;
		while (again) {
			again = false;
			for (TryCatchBlockNode b : m.tryCatchBlocks)
				if (!seen.get(code.indexOf(b.handler)) && covers(b, seen, entries)) {
					walk(b.handler, seen);
					again = true;
				}
		}
		for (int k = seen.nextSetBit(0); k >= 0 && n <= MOST; k = seen.nextSetBit(k + 1)) {
			int op = code.get(k).getOpcode();
			/* A return passes its value to the continuation. */
			n += sizes[k] + handler(k) + (op >= Opcodes.IRETURN && op <= Opcodes.RETURN ? 4 : 0);
		}
		return n;
	}

	private boolean covers(TryCatchBlockNode b, BitSet seen, List<MethodInsnNode> entries) {
		int from = code.indexOf(b.start);
		int to = code.indexOf(b.end);
		int k = seen.nextSetBit(from);
		if (k >= 0 && k < to)
			return true;
		for (MethodInsnNode c : entries)
			if (code.indexOf(c) >= from && code.indexOf(c) < to)
				return true;
		return false;
	}

	private void walk(AbstractInsnNode from, BitSet seen) {
		ArrayDeque<AbstractInsnNode> work = new ArrayDeque<>();
		if (from != null)
			work.add(from);
		Reach.walk(code, seen, work);
	}
}
