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
 * Which methods have a twin, the second entry that suspends by returning (see Capture),
 * and which calls may use it.
 *
 *   int foo(String)                       as ever: throws; everybody may call it
 *   int pico$foo$twin(String, Capture)    the caller must look; synthetic, same access
 *
 * A call may use the twin of the method that it names, where dispatch leads to that twin
 * as it leads to the method: static and private ones, and virtual ones of classes (what
 * overrides the method and has no twin is found out in the twin, see the runtime's
 * Twins). Not interface calls, and not super calls of what can be overridden: the twin
 * would take the object for one of an overriding class.
 *
 * Rejected: twins for private methods alone, under the method's own name (reflection
 * calls them, too, and would take what they return for a result); the method's name with
 * the descriptor of the twin (reflection that goes by names finds it; stack traces get
 * their names back otherwise, see Traces).
 */
public final class Twins {
	private static final String CAPTURE = "Lorg/ukthreads/pico/Capture;";
	private static final String RUNTIME = "org/ukthreads/pico/";
	/** Instructions; the JIT leaves a method of some more alone. */
	private static final int LARGEST = 3000;
	/** Words, `this` among them; the twin has one more. */
	private static final int MAX_ARGUMENTS = 255;

	private final Hierarchy hierarchy;
	private final Set<String> chosen = new HashSet<>();

	public Twins(Hierarchy hierarchy) {
		this.hierarchy = hierarchy;
	}

	/** The twin's name; the runtime's own, which are written by hand, have the method's. */
	public static String name(String owner, String name) {
		return owner.startsWith(RUNTIME) && owner.indexOf('/', RUNTIME.length()) < 0 ? name
			: "pico$" + name + "$twin";
	}

	private static String key(String owner, MethodNode m) {
		return name(owner, m.name) + desc(m.desc);
	}

	/** The twin's descriptor: one argument more. */
	public static String desc(String desc) {
		int k = desc.indexOf(')');
		return desc.substring(0, k) + CAPTURE + desc.substring(k);
	}

	/** Once the graph is complete. */
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

	/** Does it call what throws the capture first, and has that a twin? */
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

	/** Is the twin of this method to be made? */
	public boolean has(ClassNode c, MethodNode m) {
		return chosen.contains(c.name + '.' + m.name + m.desc);
	}

	public static boolean isOverridable(ClassNode c, MethodNode m) {
		return ((c.access | m.access) & Opcodes.ACC_FINAL) == 0
			&& (m.access & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE)) == 0;
	}

	/** Makes it a call of the twin. */
	public void redirect(MethodInsnNode call) {
		call.name = name(hierarchy.resolve(call.owner, call.name + call.desc).name, call.name);
		call.desc = desc(call.desc);
	}

	/** May this call be made to the twin of what it names? */
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
