// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.ukthreads.pico.translate.analyse.CallGraph;
import org.ukthreads.pico.translate.analyse.Replacements;

/**
 * Changes calls of JDK methods that call back (forEach, sort, computeIfAbsent) to calls of our
 * versions if the function may suspend. A lambda that is made right before the call is examined
 * itself; for any other function its type decides.
 */
public final class CallBackCalls {
	private final CallGraph graph;
	private final Replacements rules;
	private final Map<AbstractInsnNode, Lambdas.Lambda> lambdas = new HashMap<>();
	private final Set<String> changed = new HashSet<>();

	public CallBackCalls(CallGraph graph, Replacements rules, List<Lambdas.Lambda> all) {
		this.graph = graph;
		this.rules = rules;
		all.forEach(l -> lambdas.put(l.site, l));
	}

	public Set<String> changed() {
		return changed;
	}

	/** One round; true if any call was changed. */
	public boolean run() {
		List<Object[]> found = new ArrayList<>();
		for (CallGraph.Node n : graph.nodes())
			for (MethodInsnNode i : calls.computeIfAbsent(n, this::calls))
				if (rules.carried(n.owner.name, i) && !n.pinned() && mayCallBack(i)
						&& n.method.instructions.contains(i))
					found.add(new Object[] {n, i});
		for (Object[] f : found) {
			CallGraph.Node n = (CallGraph.Node) f[0];
			rules.toCarrier(n.owner.name, (MethodInsnNode) f[1]);
			graph.addSite(n, (MethodInsnNode) f[1]);
			changed.add(n.owner.name);
		}
		return !found.isEmpty();
	}

	/**
	 * The calls of each method for which there may be a rule, by name. None is added later; some
	 * are replaced or carried.
	 */
	private final Map<CallGraph.Node, List<MethodInsnNode>> calls = new HashMap<>();

	private List<MethodInsnNode> calls(CallGraph.Node n) {
		List<MethodInsnNode> l = new ArrayList<>(0);
		for (AbstractInsnNode i : n.method.instructions)
			if (i instanceof MethodInsnNode && rules.mayCarry((MethodInsnNode) i))
				l.add((MethodInsnNode) i);
		return l;
	}

	private boolean mayCallBack(MethodInsnNode c) {
		AbstractInsnNode p = c.getPrevious();
		while (p != null && p.getOpcode() < 0)
			p = p.getPrevious();
		Lambdas.Lambda l = lambdas.get(p);
		if (l != null) {
			for (MethodNode m : l.node.methods)
				if (graph.node(l.node.name, m.name + m.desc).suspends())
					return true;
			return false;
		}
		Type[] args = Type.getArgumentTypes(c.desc);
		Type last = args[args.length - 1];
		return last.getSort() == Type.OBJECT && graph.suspends(last.getInternalName());
	}
}
