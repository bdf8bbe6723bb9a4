// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
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
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Which locks become ours (Monitors.enter and exit) and which stay the JVM's.
 *
 * A lock that is held at a call that may suspend must be ours. Then every other place that may
 * lock the same object, by static type, must use ours as well, and may suspend there. A type is
 * also ours if its objects are waited on or notified, or if a library of ours locks them. Locks
 * of types that never meet such a type stay the JVM's: they are held for a bounded time and cost
 * nothing more.
 *
 *   held across a suspension, or wait/notify --> type is ours --> all that may meet it
 *        ^                                                          |
 *        +------- the methods that lock those may suspend <---------+
 *
 * Objects that lock themselves in untranslated code use the JVM's monitor: see SelfLocks.
 *
 * The locks held at each instruction: a forward pass over the body keeps the list of open
 * monitorenters; a handler starts with those that are open where it covers. Compilers nest locks
 * properly, and the JVM insists on it.
 */
public final class Locks {
	private static final String MONITORS = "org/ukthreads/pico/Monitors";

	private final Hierarchy hierarchy;
	private final CallGraph graph;
	/** Methods with locks that are still the JVM's. */
	private final Map<CallGraph.Node, Held> locked = new LinkedHashMap<>();
	private final Set<CallGraph.Node> seen = new HashSet<>();
	private final Set<String> ours = new LinkedHashSet<>();

	/** The locks of one method: type of each monitorenter and monitorexit. */
	private static final class Held {
		/** The type that a synchronized method locks, or null. */
		String method;
		final Map<AbstractInsnNode, String> types = new LinkedHashMap<>();
		/** Open monitorenters before each call, and before each monitorenter. */
		final Map<AbstractInsnNode, List<AbstractInsnNode>> open = new LinkedHashMap<>();
	}

	private final Set<String> aside;
	/** Platform classes with methods that lock the object in their bodies. */
	private final Set<String> selfLocked;

	/** Null for a library: it holds nothing of a program's while it waits. */
	private final SelfLocks selves;

	/**
	 * rules: for the types that libraries lock with our monitors; aside: classes that are not
	 * analysed; selves: calls of self-locking methods enter our monitor, too.
	 */
	public Locks(Hierarchy h, CallGraph g, Replacements rules, Set<String> aside,
			boolean selves) {
		this.aside = aside;
		this.selves = selves ? new SelfLocks(h, rules, this::meetsOurs, false) : null;
		hierarchy = h;
		graph = g;
		ours.addAll(rules.locks());
		selfLocked = rules.selves().keySet();
	}

	/** Finds all locks, then spreads and converts until nothing changes. */
	public void run() throws AnalyzerException {
		for (CallGraph.Node n : graph.nodes())
			if (seen.add(n))
				collect(n);
		graph.run();
		boolean again = true;
		while (again) {
			again = false;
			for (Map.Entry<CallGraph.Node, Held> e : locked.entrySet())
				if (e.getKey().suspends())
					again |= held(e.getValue());
			meeting.clear();
			for (CallGraph.Node n : locked.keySet())
				again |= convert(n, locked.get(n));
			again |= takeOurs();
			graph.run();
		}
	}

	/** Makes calls of self-locking methods enter our monitor, too; true if there were any. */
	private boolean takeOurs() {
		if (selves == null)
			return false;
		Map<CallGraph.Node, List<AbstractInsnNode>> found = new LinkedHashMap<>();
		for (CallGraph.Node n : graph.nodes())
			if (!aside.contains(n.owner.name)) {
				List<AbstractInsnNode> l = selves.of(selfLocking.computeIfAbsent(n,
					k -> selves.candidates(k.owner, k.method)));
				if (!l.isEmpty())
					found.put(n, l);
			}
		found.forEach((n, l) -> {
			l.forEach(i -> takeOurs(n, i));
			Set<AbstractInsnNode> gone = new HashSet<>(l);
			selfLocking.get(n).removeIf(i -> i instanceof MethodInsnNode && gone.contains(i));
		});
		return !found.isEmpty();
	}

	/** Calls that must enter our monitor once it may be held. None is added later. */
	private final Map<CallGraph.Node, List<AbstractInsnNode>> selfLocking = new HashMap<>();

	private void takeOurs(CallGraph.Node n, AbstractInsnNode i) {
		MethodInsnNode call = selves.call(i);
		MethodInsnNode to = new MethodInsnNode(Opcodes.INVOKESTATIC, "", "", "()V", false);
		SelfLocks.Own own = selves.replace(n.owner, n.method, i, call, to);
		CallGraph.Node o = graph.node(n.owner.name, own.method.name + own.method.desc);
		if (o == null)
			seen.add(graph.addMethod(n.owner, own.method));
		else
			graph.joined(o, call, own.call);
		converted.add(n);
		if (i != call)
			return;
		graph.addSite(n, to);
		Held h = locked.get(n);
		if (h != null && h.open.containsKey(i))
			h.open.put(to, h.open.remove(i));
	}

	/** Adds the types that are held where this method may suspend. */
	private boolean held(Held h) {
		boolean any = h.method != null && ours.add(h.method);
		for (Map.Entry<AbstractInsnNode, List<AbstractInsnNode>> e : h.open.entrySet()) {
			if (e.getValue().isEmpty() || !(e.getKey() instanceof MethodInsnNode)
					|| !graph.suspends((MethodInsnNode) e.getKey()))
				continue;
			for (AbstractInsnNode i : e.getValue())
				if (h.types.containsKey(i))
					any |= ours.add(h.types.get(i));
		}
		return any;
	}

	public Set<String> ours() {
		return ours;
	}

	/** Results for the present contents of `ours`. */
	private final Map<String, Boolean> meeting = new HashMap<>();

	private boolean meetsOurs(String t) {
		return meeting.computeIfAbsent(t,
			k -> ours.stream().anyMatch(o -> hierarchy.mayMeet(o, k)));
	}

	private void collect(CallGraph.Node n) throws AnalyzerException {
		MethodNode m = n.method;
		if (aside.contains(n.owner.name)) {
			for (AbstractInsnNode i : m.instructions)
				if (isWait(i))
					ours.add("java/lang/Object");
			return;
		}
		Held h = new Held();
		if ((m.access & Opcodes.ACC_SYNCHRONIZED) != 0 && m.instructions.size() > 0)
			h.method = (m.access & Opcodes.ACC_STATIC) != 0 ? "java/lang/Class"
				: n.owner.name;
		boolean look = false;
		boolean block = false;
		for (AbstractInsnNode i : m.instructions) {
			block |= i.getOpcode() == Opcodes.MONITORENTER;
			look |= isWait(i);
		}
		if (look || block) {
			Frame<BasicValue>[] fs = Types.of(hierarchy, n.owner.name, m);
			for (int k = 0; k < fs.length; k++) {
				AbstractInsnNode i = m.instructions.get(k);
				Frame<BasicValue> f = fs[k];
				if (f == null)
					continue;
				if (i.getOpcode() == Opcodes.MONITORENTER
						|| i.getOpcode() == Opcodes.MONITOREXIT)
					h.types.put(i, name(f.getStack(f.getStackSize() - 1)));
				else if (isWait(i))
					ours.add(name(f.getStack(f.getStackSize()
						- Type.getArgumentTypes(((MethodInsnNode) i).desc).length)));
			}
		}
		if (block)
			follow(m, h);
		if (block || h.method != null)
			locked.put(n, h);
	}

	/** Fills h.open. */
	private static void follow(MethodNode m, Held h) {
		InsnList code = m.instructions;
		List<AbstractInsnNode>[] at = newLists(code.size());
		java.util.ArrayDeque<Integer> work = new java.util.ArrayDeque<>();
		at[0] = List.of();
		work.add(0);
		Integer k;
		while ((k = work.poll()) != null) {
			AbstractInsnNode i = code.get(k);
			List<AbstractInsnNode> in = at[k];
			if (i instanceof MethodInsnNode || i.getOpcode() == Opcodes.MONITORENTER)
				h.open.put(i, in);
			for (TryCatchBlockNode b : m.tryCatchBlocks)
				if (code.indexOf(b.start) <= k && k < code.indexOf(b.end))
					flow(at, work, code.indexOf(b.handler), in);
			List<AbstractInsnNode> out = in;
			if (i.getOpcode() == Opcodes.MONITORENTER) {
				out = new ArrayList<>(in);
				out.add(i);
			} else if (i.getOpcode() == Opcodes.MONITOREXIT && !in.isEmpty()) {
				out = in.subList(0, in.size() - 1);
			}
			for (LabelNode l : Liveness.targets(i))
				flow(at, work, code.indexOf(l), out);
			if (Liveness.falls(i) && k + 1 < code.size())
				flow(at, work, k + 1, out);
		}
	}

	@SuppressWarnings({"unchecked", "rawtypes"})
	private static List<AbstractInsnNode>[] newLists(int n) {
		return new List[n];
	}

	private static void flow(List<AbstractInsnNode>[] at, java.util.ArrayDeque<Integer> work,
			int to, List<AbstractInsnNode> state) {
		if (at[to] == null) {
			at[to] = state;
			work.add(to);
		}
	}

	private static boolean isWait(AbstractInsnNode i) {
		return i instanceof MethodInsnNode && ((MethodInsnNode) i).owner.equals(MONITORS)
			&& !((MethodInsnNode) i).name.startsWith("exit")
			&& !((MethodInsnNode) i).name.equals("holds");
	}

	private static String name(BasicValue v) {
		Type t = v.getType();
		return t == null || t.getSort() != Type.OBJECT || t.getDescriptor().equals("Lnull;")
			? "java/lang/Object" : t.getInternalName();
	}

	/** Converts the locks of the types that may meet ours; true if there were any. */
	private boolean convert(CallGraph.Node n, Held h) {
		boolean any = false;
		for (AbstractInsnNode i : new ArrayList<>(h.types.keySet())) {
			String type = h.types.get(i);
			if (!meetsOurs(type))
				continue;
			h.types.remove(i);
			MethodInsnNode c = call(n, i.getOpcode() == Opcodes.MONITORENTER ? "enter"
				: "exit", type);
			n.method.instructions.set(i, c);
			/* The call may suspend, so the locks that are open here are held across it. */
			if (h.open.containsKey(i))
				h.open.put(c, h.open.remove(i));
			any = true;
		}
		if (h.method != null && meetsOurs(h.method)) {
			wrap(n, h.method);
			h.method = null;
			any = true;
		}
		if (any)
			converted.add(n);
		return any;
	}

	private final Set<CallGraph.Node> converted = new LinkedHashSet<>();

	public Set<CallGraph.Node> converted() {
		return converted;
	}

	/** A call of the runtime's enter or exit for an object of that type. */
	private MethodInsnNode call(CallGraph.Node n, String name, String type) {
		MethodInsnNode c = new MethodInsnNode(Opcodes.INVOKESTATIC, MONITORS,
			outsiders.computeIfAbsent(type, this::mayLockItself) ? name + "Both" : name, "(Ljava/lang/Object;)V", false);
		graph.addSite(n, c);
		return c;
	}

	private final Map<String, Boolean> outsiders = new HashMap<>();

	/** True: an object of that type may be one that locks itself in untranslated code. */
	private boolean mayLockItself(String type) {
		ClassInfo c = hierarchy.get(type);
		return c == null || c.isInterface() || c.kind == ClassInfo.Kind.FOREIGN
			&& !type.equals("java/lang/Class") && !type.equals("java/lang/Thread")
			|| hierarchy.supers(type).stream().anyMatch(this::locksItself);
	}

	private boolean locksItself(String type) {
		ClassInfo c = hierarchy.get(type);
		return c != null && c.kind == ClassInfo.Kind.FOREIGN && !type.equals("java/lang/Thread")
			&& (selfLocked.contains(type) || c.methods.values().stream()
				.anyMatch(a -> (a & Opcodes.ACC_SYNCHRONIZED) != 0));
	}

	/** Changes synchronized m() { body } to enter; try { body } finally { exit }. */
	private void wrap(CallGraph.Node n, String type) {
		MethodNode m = n.method;
		m.access &= ~Opcodes.ACC_SYNCHRONIZED;
		int self = isThisStored(m) ? m.maxLocals++ : 0;
		LabelNode start = new LabelNode();
		LabelNode end = new LabelNode();
		for (AbstractInsnNode i : m.instructions.toArray()) {
			int op = i.getOpcode();
			if (op < Opcodes.IRETURN || op > Opcodes.RETURN)
				continue;
			InsnList l = new InsnList();
			LabelNode off = new LabelNode();
			LabelNode on = new LabelNode();
			/*
			 * The exit itself is outside the range. Otherwise a failing exit would be done twice.
			 */
			l.add(off);
			lock(n, l, self);
			l.add(call(n, "exit", type));
			m.instructions.insertBefore(i, l);
			m.instructions.insert(i, on);
			m.tryCatchBlocks.add(new TryCatchBlockNode(start, off, end, null));
			start = on;
		}
		LabelNode first = new LabelNode();
		LabelNode last = new LabelNode();
		m.instructions.add(last);
		m.instructions.add(end);
		lock(n, m.instructions, self);
		m.instructions.add(call(n, "exit", type));
		m.instructions.add(new InsnNode(Opcodes.ATHROW));
		m.tryCatchBlocks.add(new TryCatchBlockNode(start, last, end, null));
		InsnList l = new InsnList();
		if (self > 0) {
			lock(n, l, 0);
			l.add(new VarInsnNode(Opcodes.ASTORE, self));
		}
		lock(n, l, self);
		l.add(call(n, "enter", type));
		l.add(first);
		/* The first range began at a label that is not in the code. */
		for (TryCatchBlockNode b : m.tryCatchBlocks)
			if (b.handler == end && b.start != null && !m.instructions.contains(b.start))
				b.start = first;
		m.instructions.insert(l);
		m.maxStack += 1;
	}

	/** Pushes the object that a synchronized method locks; self: the local that holds `this`. */
	private static void lock(CallGraph.Node n, InsnList l, int self) {
		if ((n.method.access & Opcodes.ACC_STATIC) == 0) {
			l.add(new VarInsnNode(Opcodes.ALOAD, self));
		} else if ((n.owner.version & 0xffff) >= Opcodes.V1_5) {
			l.add(new LdcInsnNode(Type.getObjectType(n.owner.name)));
		} else {
			l.add(new LdcInsnNode(n.owner.name.replace('/', '.')));
			l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "java/lang/Class", "forName",
				"(Ljava/lang/String;)Ljava/lang/Class;", false));
		}
	}

	/** True if the local of `this` is overwritten, as obfuscators do. */
	private static boolean isThisStored(MethodNode m) {
		if ((m.access & Opcodes.ACC_STATIC) != 0)
			return false;
		for (AbstractInsnNode i : m.instructions)
			if (i instanceof VarInsnNode && ((VarInsnNode) i).var == 0
					&& i.getOpcode() >= Opcodes.ISTORE && i.getOpcode() <= Opcodes.ASTORE)
				return true;
		return false;
	}
}
