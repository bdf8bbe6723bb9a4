package org.ukthreads.pico.translate.analyse;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Which locks become ours (Monitors.enter and exit) and which stay the JVM's.
 *
 * A method that may suspend and locks an object may hold it while it is parked, so that
 * lock must be ours; then every other place that may lock the same object must use ours
 * as well, and may suspend there. "May be the same object" is by static type. A type
 * whose objects are waited on or notified is ours too. Locks of types that never meet
 * such a type stay the JVM's: they are held for a bounded time and cost nothing more.
 *
 *   held across a suspension, or wait/notify --> type is ours --> all that may meet it
 *        ^                                                          |
 *        +------- the methods that lock those may suspend <---------+
 */
public final class Locks {
	private static final String MONITORS = "org/ukthreads/pico/Monitors";

	private final Hierarchy hierarchy;
	private final CallGraph graph;
	private final Map<CallGraph.Node, Set<String>> locked = new LinkedHashMap<>();
	private final Set<String> ours = new LinkedHashSet<>();

	public Locks(Hierarchy h, CallGraph g) {
		hierarchy = h;
		graph = g;
	}

	/** Finds all locks; then spreads and converts until nothing changes. */
	public void run() throws AnalyzerException {
		for (CallGraph.Node n : graph.nodes())
			collect(n);
		graph.run();
		boolean again = true;
		while (again) {
			again = false;
			for (Map.Entry<CallGraph.Node, Set<String>> e : locked.entrySet())
				if (e.getKey().suspends() && ours.addAll(e.getValue()))
					again = true;
			List<CallGraph.Node> now = new ArrayList<>();
			for (Map.Entry<CallGraph.Node, Set<String>> e : locked.entrySet())
				if (e.getValue().stream().anyMatch(this::meetsOurs))
					now.add(e.getKey());
			for (CallGraph.Node n : now) {
				convert(n);
				locked.remove(n);
				again = true;
			}
			graph.run();
		}
	}

	public Set<String> ours() {
		return ours;
	}

	private boolean meetsOurs(String t) {
		for (String o : ours)
			if (hierarchy.mayMeet(o, t))
				return true;
		return false;
	}

	private void collect(CallGraph.Node n) throws AnalyzerException {
		MethodNode m = n.method;
		Set<String> types = new LinkedHashSet<>();
		if ((m.access & Opcodes.ACC_SYNCHRONIZED) != 0 && m.instructions.size() > 0)
			types.add((m.access & Opcodes.ACC_STATIC) != 0 ? "java/lang/Class"
				: n.owner.name);
		boolean look = false;
		for (AbstractInsnNode i : m.instructions)
			look |= i.getOpcode() == Opcodes.MONITORENTER || isWait(i);
		if (look) {
			Frame<BasicValue>[] fs = Types.of(hierarchy, n.owner.name, m);
			for (int k = 0; k < fs.length; k++) {
				AbstractInsnNode i = m.instructions.get(k);
				Frame<BasicValue> f = fs[k];
				if (f == null)
					continue;
				if (i.getOpcode() == Opcodes.MONITORENTER)
					types.add(name(f.getStack(f.getStackSize() - 1)));
				else if (isWait(i))
					ours.add(name(f.getStack(f.getStackSize()
						- Type.getArgumentTypes(((MethodInsnNode) i).desc).length)));
			}
		}
		if (!types.isEmpty())
			locked.put(n, types);
	}

	private static boolean isWait(AbstractInsnNode i) {
		return i instanceof MethodInsnNode && ((MethodInsnNode) i).owner.equals(MONITORS)
			&& !((MethodInsnNode) i).name.equals("exit")
			&& !((MethodInsnNode) i).name.equals("holds");
	}

	private static String name(BasicValue v) {
		Type t = v.getType();
		return t == null || t.getSort() != Type.OBJECT || t.getDescriptor().equals("Lnull;")
			? "java/lang/Object" : t.getInternalName();
	}

	private void convert(CallGraph.Node n) {
		MethodNode m = n.method;
		for (AbstractInsnNode i : m.instructions.toArray()) {
			if (i.getOpcode() == Opcodes.MONITORENTER)
				m.instructions.set(i, call(n, "enter"));
			else if (i.getOpcode() == Opcodes.MONITOREXIT)
				m.instructions.set(i, call(n, "exit"));
		}
		if ((m.access & Opcodes.ACC_SYNCHRONIZED) != 0 && m.instructions.size() > 0)
			wrap(n);
		converted.add(n);
	}

	private final Set<CallGraph.Node> converted = new LinkedHashSet<>();

	public Set<CallGraph.Node> converted() {
		return converted;
	}

	private MethodInsnNode call(CallGraph.Node n, String name) {
		MethodInsnNode c = new MethodInsnNode(Opcodes.INVOKESTATIC, MONITORS, name,
			"(Ljava/lang/Object;)V", false);
		graph.addSite(n, c);
		return c;
	}

	/** synchronized m() { body } as enter; try { body } finally { exit }. */
	private void wrap(CallGraph.Node n) {
		MethodNode m = n.method;
		m.access &= ~Opcodes.ACC_SYNCHRONIZED;
		LabelNode start = new LabelNode();
		LabelNode end = new LabelNode();
		for (AbstractInsnNode i : m.instructions.toArray()) {
			int op = i.getOpcode();
			if (op < Opcodes.IRETURN || op > Opcodes.RETURN)
				continue;
			InsnList l = new InsnList();
			LabelNode off = new LabelNode();
			LabelNode on = new LabelNode();
			/* The exit itself is outside the range, or a failing exit would exit twice. */
			l.add(off);
			lock(n, l);
			l.add(call(n, "exit"));
			m.instructions.insertBefore(i, l);
			m.instructions.insert(i, on);
			m.tryCatchBlocks.add(new TryCatchBlockNode(start, off, end, null));
			start = on;
		}
		LabelNode first = new LabelNode();
		LabelNode last = new LabelNode();
		m.instructions.add(last);
		m.instructions.add(end);
		lock(n, m.instructions);
		m.instructions.add(call(n, "exit"));
		m.instructions.add(new InsnNode(Opcodes.ATHROW));
		m.tryCatchBlocks.add(new TryCatchBlockNode(start, last, end, null));
		InsnList l = new InsnList();
		lock(n, l);
		l.add(call(n, "enter"));
		l.add(first);
		/* The first range began at a label that is nowhere yet. */
		for (TryCatchBlockNode b : m.tryCatchBlocks)
			if (b.handler == end && b.start != null && !m.instructions.contains(b.start))
				b.start = first;
		m.instructions.insert(l);
		m.maxStack += 1;
	}

	private static void lock(CallGraph.Node n, InsnList l) {
		if ((n.method.access & Opcodes.ACC_STATIC) != 0)
			l.add(new LdcInsnNode(Type.getObjectType(n.owner.name)));
		else
			l.add(new VarInsnNode(Opcodes.ALOAD, 0));
	}
}
