// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.ConstantDynamic;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.AnnotationNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.ukthreads.pico.translate.analyse.flow.Flow;
import org.ukthreads.pico.translate.analyse.flow.Settled;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Which methods may suspend: the smallest set that holds the roots (the primitives, the methods
 * that translated libraries declare, @Pico) and every method with a call that may run a method of
 * the set. Flow says which classes' methods a call may run; without it, class-hierarchy analysis.
 *
 * When a method is found to suspend, the calls that may run it are examined: by name and
 * descriptor, then by class (the call's type and the method's class must be able to meet in one
 * object). Constructors and static initialisers stop the spread: the JVM runs them, so what they
 * call is pinned inside, and their callers do not suspend. Locks are part of the same fixpoint
 * (see Locks).
 */
public final class CallGraph {
	/** A method of the program. */
	public static final class Node {
		public final ClassNode owner;
		public final MethodNode method;
		public final String key;
		boolean suspends;
		boolean never;
		boolean initial;
		/** The callee that made it suspend, for the report. */
		String because;

		Node(ClassNode owner, MethodNode method, String key) {
			this.owner = owner;
			this.method = method;
			this.key = key;
		}

		public boolean suspends() {
			return suspends;
		}

		/** Excludes the method from translation: what it calls pins. */
		public void refuse() {
			never = true;
			suspends = false;
		}

		public boolean never() {
			return never;
		}

		public String because() {
			return because;
		}

		/**
		 * True if only the class's initialiser runs it, where everything pins: see
		 * CallGraph.initial().
		 */
		public boolean initial() {
			return initial;
		}

		@Override
		public String toString() {
			return owner.name + '.' + key;
		}

		/** True if it cannot be split: its suspensions pin. */
		public boolean pinned() {
			return method.name.startsWith("<") || never;
		}
	}

	private static final class Caller {
		final Node node;
		final MethodInsnNode call;

		Caller(Node node, MethodInsnNode call) {
			this.node = node;
			this.call = call;
		}
	}

	private static final String PICO = "Lorg/ukthreads/pico/Pico;";
	private static final String DECLARED = "@Pico";
	private static final String NEVER = "Lorg/ukthreads/pico/NeverBlocks;";

	private final Hierarchy hierarchy;
	private final Map<String, Node> nodes = new LinkedHashMap<>();
	/** By name+desc; exact calls (isExact) by class, name and desc. */
	private final Map<String, List<Caller>> callers = new HashMap<>();
	/** name+desc to the classes whose method of that name suspends. */
	private final Map<String, Set<String>> suspending = new HashMap<>();
	private final ArrayDeque<String[]> work = new ArrayDeque<>();
	/** Those of them that apply to any call of a fitting type (see isDeclared). */
	private final Map<String, Set<String>> declared = new HashMap<>();

	private Flow flow;
	private Settled settled;

	public CallGraph(Hierarchy h) {
		hierarchy = h;
	}

	public void addClass(ClassNode c, Set<String> conservative) {
		boolean all = annotated(c.visibleAnnotations, c.invisibleAnnotations, PICO)
			|| conservative.contains(ClassInfo.packageOf(c.name));
		boolean none = annotated(c.visibleAnnotations, c.invisibleAnnotations, NEVER);
		if (annotated(c.visibleAnnotations, c.invisibleAnnotations, PICO))
			for (MethodNode m : c.methods)
				for (AbstractInsnNode i : m.instructions)
					if (isOpen(i))
						open.add((MethodInsnNode) i);
		for (MethodNode m : c.methods) {
			Node n = addMethod(c, m);
			n.never = none || annotated(m.visibleAnnotations, m.invisibleAnnotations, NEVER);
			if (!n.never && (all && m.instructions.size() > 0 && !m.name.startsWith("<")
					|| annotated(m.visibleAnnotations, m.invisibleAnnotations, PICO)))
				mark(n, DECLARED);
		}
	}

	/** Calls of @Pico classes that may suspend, whatever the analysis finds. */
	private final Set<MethodInsnNode> open =
		java.util.Collections.newSetFromMap(new java.util.IdentityHashMap<>());

	/** True if it calls an untranslated method that a class of some program may override. */
	private boolean isOpen(AbstractInsnNode i) {
		if (i.getOpcode() != Opcodes.INVOKEINTERFACE && i.getOpcode() != Opcodes.INVOKEVIRTUAL)
			return false;
		MethodInsnNode m = (MethodInsnNode) i;
		if (m.owner.equals("java/lang/Object"))
			return m.name.equals("hashCode") || m.name.equals("equals")
				|| m.name.equals("toString");
		ClassInfo c = m.owner.startsWith("[") ? null : hierarchy.get(m.owner);
		return c != null && c.kind == ClassInfo.Kind.FOREIGN
			&& (c.access & Opcodes.ACC_FINAL) == 0;
	}

	/** Adds a method with its calls. Calls that suspend already take effect in run(). */
	public Node addMethod(ClassNode c, MethodNode m) {
		Node n = new Node(c, m, hierarchy.names().key(m.name, m.desc));
		nodes.put(n.toString(), n);
		for (AbstractInsnNode i : m.instructions)
			if (i instanceof MethodInsnNode) {
				addCall(n, (MethodInsnNode) i);
				if (suspends((MethodInsnNode) i))
					late.add(new Object[] {n, i});
			} else if (i instanceof InvokeDynamicInsnNode) {
				handles(((InvokeDynamicInsnNode) i).bsm, ((InvokeDynamicInsnNode) i).bsmArgs);
			} else if (i instanceof LdcInsnNode) {
				handles(((LdcInsnNode) i).cst);
			}
		return n;
	}

	/** Methods to which the program has a handle. */
	private final Set<String> handled = new HashSet<>();

	private void handles(Object constant, Object... more) {
		if (constant instanceof Handle) {
			Handle h = (Handle) constant;
			ClassInfo c = hierarchy.resolve(h.getOwner(), h.getName() + h.getDesc());
			if (c != null)
				handled.add(c.name + '.' + h.getName() + h.getDesc());
		} else if (constant instanceof ConstantDynamic) {
			ConstantDynamic d = (ConstantDynamic) constant;
			handles(d.getBootstrapMethod());
			for (int k = 0; k < d.getBootstrapMethodArgumentCount(); k++)
				handles(d.getBootstrapMethodArgument(k));
		}
		for (Object o : more)
			handles(o);
	}

	/**
	 * Marks static methods that only their class's initialiser calls, directly or through others of
	 * them. All that they call pins, so they are not translated but get one bracket (reflection may
	 * call them, too): Clojure's load() has 4,000 calls, and the JVM's verifier looks at each
	 * handler for each instruction. In a library only private methods are marked, because other
	 * callers are not known. Must be called before run().
	 */
	public void initial(boolean library) {
		Set<Node> in = new LinkedHashSet<>();
		for (Node n : nodes.values())
			if (!n.suspends && !n.never && isInitial(n, library))
				in.add(n);
		while (in.removeIf(n -> !callers.get(n.toString()).stream().allMatch(c ->
				c.node.owner == n.owner && (c.node.method.name.equals("<clinit>")
				|| in.contains(c.node)))))
			continue;
		for (Node n : in) {
			n.initial = true;
			n.refuse();
		}
	}

	private boolean isInitial(Node n, boolean library) {
		int access = n.method.access;
		return (access & Opcodes.ACC_STATIC) != 0 && !n.method.name.startsWith("<")
			&& (!library || (access & Opcodes.ACC_PRIVATE) != 0)
			&& n.method.instructions.size() > 0 && callers.containsKey(n.toString())
			&& !handled.contains(n.toString()) && !n.method.name.equals("main");
	}

	/** Calls of methods that suspended before the caller was known. */
	private final List<Object[]> late = new ArrayList<>();

	private void addCall(Node n, MethodInsnNode i) {
		if (i.owner.startsWith("["))
			return;
		String key = i.name + i.desc;
		if (isExact(i)) {
			ClassInfo c = i.name.equals("<init>") ? hierarchy.get(i.owner)
				: hierarchy.resolve(i.owner, key);
			if (c == null || c.kind == ClassInfo.Kind.FOREIGN)
				return;
			key = c.name + '.' + key;
		}
		callers.computeIfAbsent(key, k -> new ArrayList<>()).add(new Caller(n, i));
	}

	/** True if the call runs exactly the method that it names. */
	private static boolean isExact(MethodInsnNode i) {
		return i.getOpcode() == Opcodes.INVOKESTATIC || i.getOpcode() == Opcodes.INVOKESPECIAL;
	}

	/** Adds a call that a later stage has put into n. */
	public void addSite(Node n, MethodInsnNode i) {
		addCall(n, i);
		if (suspends(i))
			mark(n, i.owner + '.' + i.name + i.desc);
	}

	private static boolean annotated(List<AnnotationNode> v, List<AnnotationNode> w,
			String desc) {
		return has(v, desc) || has(w, desc);
	}

	private static boolean has(List<AnnotationNode> l, String desc) {
		return l != null && l.stream().anyMatch(a -> a.desc.equals(desc));
	}

	/** Adds a method that suspends. */
	public void addRoot(String owner, String key) {
		if (!suspending.computeIfAbsent(key, k -> new HashSet<>()).add(owner))
			return;
		if (isDeclared(owner, key))
			declared.computeIfAbsent(key, k -> new HashSet<>()).add(owner);
		work.add(new String[] {owner, key});
	}

	public void mark(Node n, String because) {
		if (n.suspends || n.never)
			return;
		n.suspends = true;
		n.because = because;
		if (!n.method.name.startsWith("<"))
			addRoot(n.owner.name, n.key);
		else if (n.method.name.equals("<init>"))
			subclasses(n);
	}

	/** Marks the constructors that call this one. */
	private void subclasses(Node n) {
		for (Caller c : callers.getOrDefault(n.toString(), List.of()))
			if (c.node.method.name.equals("<init>") && (n.owner.name.equals(c.node.owner.superName)
					|| n.owner == c.node.owner))
				mark(c.node, n.toString());
	}

	/** Spreads the marks until nothing changes. */
	public void run() {
		for (Object[] l : late) {
			MethodInsnNode i = (MethodInsnNode) l[1];
			if (suspends(i))
				mark((Node) l[0], i.owner + '.' + i.name + i.desc);
		}
		late.clear();
		String[] w;
		while ((w = work.poll()) != null) {
			Set<String> owner = Set.of(w[0]);
			Map<String, Boolean> meets = new HashMap<>();
			boolean says = declared.getOrDefault(w[1], Set.of()).contains(w[0]);
			String because = w[0] + '.' + w[1];
			callers.getOrDefault(because, List.of()).forEach(c -> mark(c.node, because));
			List<Caller> virtual = callers.getOrDefault(w[1], new ArrayList<>());
			/*
			 * Otherwise a method that many call and many declare would be examined for each pair.
			 */
			virtual.removeIf(c -> c.node.suspends || c.node.never);
			for (Caller c : virtual)
				if (reaches(c.call, owner, says ? owner : Set.of(), meets))
					mark(c.node, because);
		}
	}

	/**
	 * True if the call may run the method of one of these owners. says: those that apply to any
	 * call of a fitting type; meets: earlier results, by the call's type.
	 */
	private boolean reaches(MethodInsnNode call, Set<String> owners, Set<String> says,
			Map<String, Boolean> meets) {
		if (isExact(call)) {
			ClassInfo c = hierarchy.resolve(call.owner, call.name + call.desc);
			return c != null && owners.contains(c.name);
		}
		if (settled != null && settled.isSettled(call))
			return false;
		Set<String> targets = flow == null ? null : flow.targets(call);
		if (targets != null && !java.util.Collections.disjoint(targets, owners))
			return true;
		Set<String> fitting = targets == null ? owners : says;
		return !fitting.isEmpty() && meets.computeIfAbsent(call.owner, k -> meets(k, fitting));
	}

	private boolean meets(String type, Set<String> owners) {
		for (String o : owners)
			if (hierarchy.mayMeet(type, o))
				return true;
		return false;
	}

	/**
	 * True if the method is in the set by declaration: it applies to any call of a fitting type. An
	 * annotation on an abstract method applies to all its implementations.
	 */
	private boolean isDeclared(String owner, String key) {
		Node n = node(owner, key);
		if (n != null && DECLARED.equals(n.because))
			return true;
		ClassInfo c = hierarchy.get(owner);
		return c == null || (c.methods.getOrDefault(key, Opcodes.ACC_ABSTRACT)
			& Opcodes.ACC_ABSTRACT) != 0;
	}

	/** Sets the analysis of receivers; without it, every class that fits counts. */
	public void follow(Flow f) {
		flow = f;
	}

	/** Sets the calls that always run the JDK's code. For libraries. */
	public void settle(Settled s) {
		settled = s;
	}

	/** Tells the analysis that `to` is a copy of the call `from`. */
	public void copied(MethodInsnNode from, MethodInsnNode to) {
		if (flow != null)
			flow.copied(from, to);
		if (settled != null)
			settled.copied(from, to);
	}

	/** n makes the call `to` also in place of `from`, a call of the same method. */
	public void joined(Node n, MethodInsnNode from, MethodInsnNode to) {
		if (flow != null)
			flow.joined(from, to);
		addSite(n, from);
	}

	/** True if this call of the program may suspend. */
	public boolean suspends(MethodInsnNode call) {
		if (open.contains(call))
			return true;
		if (call.owner.startsWith("["))
			return false;
		String key = call.name + call.desc;
		Set<String> owners = suspending.get(key);
		if (owners == null)
			return false;
		return reaches(call, owners, declared.getOrDefault(key, Set.of()), new HashMap<>());
	}

	/** Methods that the JDK calls by name. */
	private static final Set<String> REFLECTED = Set.of("readObject", "writeObject",
		"readObjectNoData", "readResolve", "writeReplace");

	/**
	 * True if untranslated code may call this method without knowing the program, because it
	 * overrides one that such code knows.
	 */
	public boolean isCalledFromOutside(String owner, MethodNode m, Replacements rules) {
		if (REFLECTED.contains(m.name))
			return true;
		if ((m.access & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE)) != 0
				|| m.name.startsWith("<"))
			return false;
		for (ClassInfo c : outside.computeIfAbsent(owner, this::outside)) {
			if (c == UNKNOWN)
				return true;
			Integer access = c.methods.get(m.name + m.desc);
			if (access != null && (access & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE)) == 0
					&& !rules.isDirect(c.name))
				return true;
		}
		return false;
	}

	/** Used by all threads that write classes. */
	private final Map<String, Set<ClassInfo>> outside = new ConcurrentHashMap<>();
	/** A class that was not found: it may declare any method. */
	private static final ClassInfo UNKNOWN = new ClassInfo("?", null, List.of(), 0,
		ClassInfo.Kind.FOREIGN);

	/** The untranslated types that objects with this class's methods may have. */
	private Set<ClassInfo> outside(String owner) {
		Set<String> names = new HashSet<>(hierarchy.supers(owner));
		for (String k : hierarchy.below(owner))
			names.addAll(hierarchy.supers(k));
		Set<ClassInfo> s = new HashSet<>();
		for (String n : names) {
			ClassInfo c = hierarchy.get(n);
			if (c == null)
				s.add(UNKNOWN);
			else if (c.kind == ClassInfo.Kind.FOREIGN)
				s.add(c);
		}
		return s;
	}

	/** True if a method that the type itself declares may suspend for some object of the type. */
	public boolean suspends(String type) {
		ClassInfo c = hierarchy.get(type);
		if (c == null)
			return false;
		for (String key : c.methods.keySet())
			for (String o : suspending.getOrDefault(key, Set.of()))
				if (hierarchy.isSubtype(o, type))
					return true;
		return false;
	}

	public Node node(String owner, String key) {
		return nodes.get(owner + '.' + key);
	}

	public Iterable<Node> nodes() {
		return nodes.values();
	}
}
