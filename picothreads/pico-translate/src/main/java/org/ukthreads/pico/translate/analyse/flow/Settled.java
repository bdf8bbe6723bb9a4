// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse.flow;

import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.Frame;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Calls in a library that never run code of a program, though their type would allow it: the
 * receiver is an object of the JDK's that the library has made, in this method or for a private
 * field. `queue.add(w)` on a list of ours runs ArrayList's add; on a list that we were given, it
 * may run code of the program.
 *
 * The analysis follows one bit, "may be of any class":
 *
 *   new C, C the JDK's          no
 *   new C, C of the library     yes: ordinary analysis says what its methods do
 *   a private field             as what is stored there (all stores are in this library)
 *   x.iterator() and the like   as x: the JDK makes it for its own collection
 *   m(), not overridden         as what m returns
 *   everything else             yes: parameters, results, elements, other fields
 */
public final class Settled {
	private static final int ANYBODY = 0;

	private final Hierarchy hierarchy;
	private final Solver solver = new Solver(Long.MAX_VALUE);
	private final int anybody = solver.add(null);
	/** Variables of private fields, by owner.name. */
	private final Map<String, Integer> fields = new HashMap<>();
	/** Variables of the library's results, by owner.name+desc. */
	private final Map<String, Integer> results = new HashMap<>();
	/** The sources of each receiver. */
	private final Map<MethodInsnNode, int[]> receivers = new IdentityHashMap<>();
	private final Map<AbstractInsnNode, Integer> made = new IdentityHashMap<>();

	public Settled(Hierarchy h, Iterable<ClassNode> classes) throws AnalyzerException {
		hierarchy = h;
		solver.put(anybody, ANYBODY);
		for (ClassNode c : classes) {
			for (FieldNode f : c.fields)
				if ((f.access & Opcodes.ACC_PRIVATE) != 0)
					fields.put(c.name + '.' + f.name, solver.add(null));
			for (MethodNode m : c.methods)
				results.put(c.name + '.' + m.name + m.desc, solver.add(null));
		}
		for (ClassNode c : classes)
			for (MethodNode m : c.methods)
				if (m.instructions.size() > 0)
					read(c, m);
		while (!solver.run(1 << 30))
			continue;
	}

	private void read(ClassNode c, MethodNode m) throws AnalyzerException {
		Frame<Sources.V>[] fs = Sources.analyzer(new Body()).analyzeAndComputeMaxs(c.name, m);
		for (int k = 0; k < fs.length; k++)
			if (fs[k] != null)
				read(m.instructions.get(k), fs[k],
					results.get(c.name + '.' + m.name + m.desc));
	}

	private void read(AbstractInsnNode i, Frame<Sources.V> f, int result) {
		switch (i.getOpcode()) {
		case Opcodes.PUTFIELD: case Opcodes.PUTSTATIC:
			flow(top(f, 0), field((FieldInsnNode) i));
			break;
		case Opcodes.CHECKCAST:
			flow(top(f, 0), made.get(i));
			break;
		case Opcodes.ARETURN:
			flow(top(f, 0), result);
			break;
		case Opcodes.INVOKEVIRTUAL: case Opcodes.INVOKEINTERFACE: {
			MethodInsnNode call = (MethodInsnNode) i;
			int[] r = top(f, Type.getArgumentTypes(call.desc).length);
			receivers.put(call, r);
			if (Outside.isFresh(hierarchy, call))
				flow(r, made.get(i));
			break;
		}
		default:
			break;
		}
	}

	private static int[] top(Frame<Sources.V> f, int depth) {
		return f.getStack(f.getStackSize() - 1 - depth).from;
	}

	private void flow(int[] from, int to) {
		for (int a : from)
			solver.edge(a, to);
	}

	private int field(FieldInsnNode i) {
		return fields.getOrDefault(i.owner + '.' + i.name, anybody);
	}

	/** True if this call runs the JDK's code in every program. */
	public boolean isSettled(MethodInsnNode call) {
		ClassInfo c = call.owner.startsWith("[") ? null : hierarchy.get(call.owner);
		if (c != null && c.kind == ClassInfo.Kind.FOREIGN && (c.access & Opcodes.ACC_FINAL) != 0)
			return true;
		int[] r = receivers.get(call);
		if (r == null || r.length == 0)
			return false;
		for (int v : r)
			if (!solver.isEmpty(v))
				return false;
		return true;
	}

	/** `to` is a copy of the call `from`. */
	public void copied(MethodInsnNode from, MethodInsnNode to) {
		if (receivers.containsKey(from))
			receivers.put(to, receivers.get(from));
	}

	private final class Body implements Sources.Maker {
		@Override
		public int make(AbstractInsnNode i) {
			if (i instanceof FieldInsnNode)
				return field((FieldInsnNode) i);
			return made.computeIfAbsent(i, k -> isPassed(k) || isJdk(k) ? solver.add(null)
				: k instanceof MethodInsnNode ? result((MethodInsnNode) k) : anybody);
		}

		/** The result of a library method that no subclass overrides. */
		private int result(MethodInsnNode i) {
			ClassInfo c = i.owner.startsWith("[") ? null
				: hierarchy.resolve(i.owner, i.name + i.desc);
			if (c == null)
				return anybody;
			int last = Opcodes.ACC_FINAL | Opcodes.ACC_PRIVATE;
			if (i.getOpcode() != Opcodes.INVOKESTATIC && i.getOpcode() != Opcodes.INVOKESPECIAL
					&& ((c.access | c.methods.get(i.name + i.desc)) & last) == 0)
				return anybody;
			return results.getOrDefault(c.name + '.' + i.name + i.desc, anybody);
		}

		/** True if the result is as the operand. */
		private boolean isPassed(AbstractInsnNode i) {
			return i.getOpcode() == Opcodes.CHECKCAST || i instanceof MethodInsnNode
				&& i.getOpcode() != Opcodes.INVOKESTATIC
				&& Outside.isFresh(hierarchy, (MethodInsnNode) i);
		}

		private boolean isJdk(AbstractInsnNode i) {
			if (i.getOpcode() != Opcodes.NEW)
				return false;
			ClassInfo c = hierarchy.get(((TypeInsnNode) i).desc);
			return c != null && c.kind == ClassInfo.Kind.FOREIGN;
		}

		@Override
		public int parameter(int local) {
			return anybody;
		}

		@Override
		public int caught(TryCatchBlockNode b) {
			return anybody;
		}

		@Override
		public int join() {
			return solver.add(null);
		}

		@Override
		public void joins(int from, int to) {
			solver.edge(from, to);
		}
	}
}
