// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse;

import java.util.HashSet;
import java.util.Set;
import java.util.function.Predicate;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Which methods have a twin, the second entry that suspends by returning (see Capture), and which
 * calls may use it.
 *
 *   int foo(String)                       as before: throws; any code may call it
 *   int pico$foo$twin(String, Capture)    the caller must check; synthetic, same access
 *
 * A call may use the twin of the method that it names if dispatch leads to that twin as it leads
 * to the method: static and private methods, and virtual ones of classes. (If a class without the
 * twin overrides the method, the twin finds that out: see the runtime's Twins.) Interface calls
 * are excluded, and so are super calls of methods that can be overridden: the twin would find an
 * object of an overriding class and call the override.
 *
 * Rejected: twins for private methods only, under the method's own name (reflection calls them,
 * too, and would take what they return for a result); the method's name with the twin's
 * descriptor (reflection by name finds it; Traces restores the names in stack traces anyway).
 */
public final class Twins {
	private static final String CAPTURE = "Lorg/ukthreads/pico/Capture;";
	private static final String RUNTIME = "org/ukthreads/pico/";
	/** Limit of instructions: the JIT does not compile much larger methods. */
	private static final int LARGEST = 3000;
	/** Limit of argument words, including `this`; the twin has one more. */
	private static final int MAX_ARGUMENTS = 255;

	private final Hierarchy hierarchy;
	private final Set<String> chosen = new HashSet<>();

	public Twins(Hierarchy hierarchy) {
		this.hierarchy = hierarchy;
	}

	/** The twin's name. The runtime's own twins, written by hand, have the method's name. */
	public static String name(String owner, String name) {
		return owner.startsWith(RUNTIME) && owner.indexOf('/', RUNTIME.length()) < 0 ? name
			: "pico$" + name + "$twin";
	}

	private static String key(String owner, MethodNode m) {
		return name(owner, m.name) + desc(m.desc);
	}

	/** The twin's descriptor: a Capture is the last argument. */
	public static String desc(String desc) {
		int k = desc.indexOf(')');
		return desc.substring(0, k) + CAPTURE + desc.substring(k);
	}

	/** Chooses the methods with twins, when the graph is complete. */
	public void choose(CallGraph graph, Hot hot, Predicate<String> refused) {
		for (CallGraph.Node n : graph.nodes()) {
			if (!fits(n) || refused.test(n.toString())
					|| refused.test(n.owner.name + '.' + key(n.owner.name, n.method))
					|| !hot.is(n.toString(), callsPrimitive(n.method)))
				continue;
			chosen.add(n.toString());
			hierarchy.get(n.owner.name).methods.put(key(n.owner.name, n.method),
				n.method.access);
		}
	}

	private static boolean fits(CallGraph.Node n) {
		return n.suspends() && !n.pinned() && n.method.instructions.size() > 0
			&& n.method.instructions.size() <= LARGEST
			&& (n.owner.access & Opcodes.ACC_INTERFACE) == 0
			&& Type.getArgumentsAndReturnSizes(n.method.desc) >> 2 < MAX_ARGUMENTS
			&& (!isOverridable(n.owner, n.method) || (n.owner.version & 0xffff) >= Opcodes.V1_5);
	}

	/** True if it calls a primitive that has a twin. */
	private boolean callsPrimitive(MethodNode m) {
		for (AbstractInsnNode i : m.instructions)
			if (i.getOpcode() == Opcodes.INVOKESTATIC) {
				MethodInsnNode c = (MethodInsnNode) i;
				if (name(c.owner, c.name).equals(c.name) && !c.name.equals("point")
						&& reaches(c))
					return true;
			}
		return false;
	}

	public boolean has(ClassNode c, MethodNode m) {
		return chosen.contains(c.name + '.' + m.name + m.desc);
	}

	public static boolean isOverridable(ClassNode c, MethodNode m) {
		return ((c.access | m.access) & Opcodes.ACC_FINAL) == 0
			&& (m.access & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE)) == 0;
	}

	/** Changes the call to one of the twin. */
	public void redirect(MethodInsnNode call) {
		call.name = name(hierarchy.resolve(call.owner, call.name + call.desc).name, call.name);
		call.desc = desc(call.desc);
	}

	/** True if this call may use the twin of the method that it names. */
	public boolean reaches(MethodInsnNode call) {
		int op = call.getOpcode();
		if (op == Opcodes.INVOKEINTERFACE || call.owner.startsWith("[")
				|| call.name.startsWith("<"))
			return false;
		ClassInfo c = hierarchy.resolve(call.owner, call.name + call.desc);
		if (c == null || c.isInterface() || c.kind == ClassInfo.Kind.FOREIGN
				|| !c.methods.containsKey(name(c.name, call.name) + desc(call.desc)))
			return false;
		int access = c.methods.get(call.name + call.desc);
		return op != Opcodes.INVOKESPECIAL || (access & Opcodes.ACC_PRIVATE) != 0;
	}
}
