// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;
import org.ukthreads.pico.translate.analyse.CallGraph;
import org.ukthreads.pico.translate.analyse.Replacements;
import org.ukthreads.pico.translate.analyse.Types;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Constructors that may suspend. A frame cannot hold an object that is not constructed, so the work
 * is taken out of the constructor:
 *
 *   C(Alloc)                        allocates: calls S(Alloc), or S() of an outside class
 *   static pico$init(C, args)       the body, with S.pico$init for super(...)
 *   static C pico$new(args)         both; `new C(args)` in the program becomes this call
 *
 * The original constructors stay, for untranslated code and reflection, and pin inside. All
 * constructors of a split class are split, and those of its superclasses, up to an outside class,
 * whose constructor must be the one without arguments (it then runs before the arguments and
 * initialisers, not after them). Other constructors stay pinned. Fields are no longer final,
 * because they are written outside a constructor.
 */
public final class Constructors {
	private static final String ALLOC = "org/ukthreads/pico/Alloc";
	static final String INIT = "pico$init";
	static final String NEW = "pico$new";

	private final Hierarchy hierarchy;
	private final CallGraph graph;
	private final Map<String, ClassNode> nodes;
	private final Set<String> split = new LinkedHashSet<>();
	private final Set<String> refused = new HashSet<>();

	private final Map<AbstractInsnNode, Lambdas.Lambda> lambdas = new HashMap<>();

	private final Replacements rules;

	public Constructors(Hierarchy h, CallGraph g, Replacements rules,
			Map<String, ClassNode> nodes, List<Lambdas.Lambda> all) {
		this.rules = rules;
		all.forEach(l -> lambdas.put(l.site, l));
		hierarchy = h;
		graph = g;
		this.nodes = nodes;
	}

	private final Set<String> changed = new LinkedHashSet<>();

	public Set<String> changed() {
		return changed;
	}

	/** One round; true if calls were changed and the graph must run again. */
	public boolean run() throws AnalyzerException {
		List<CallGraph.Node> todo = new ArrayList<>();
		for (CallGraph.Node n : graph.nodes())
			if (n.method.name.equals("<init>") && n.suspends() && !n.never())
				todo.add(n);
		boolean any = false;
		for (CallGraph.Node n : todo)
			if (!split.contains(n.owner.name) && fits(n.owner.name)) {
				split(n.owner);
				any = true;
			}
		if (!split.isEmpty() || splitLibraries())
			for (ClassNode c : new ArrayList<>(nodes.values()))
				for (MethodNode m : new ArrayList<>(c.methods))
					any |= sites(c, m);
		return any;
	}

	/** True if all constructors of the class, and of those above, can be split. */
	private boolean fits(String name) throws AnalyzerException {
		if (split.contains(name))
			return true;
		if (refused.contains(name))
			return false;
		ClassNode c = nodes.get(name);
		boolean ok = c != null && (c.access & Opcodes.ACC_ENUM) == 0
			&& !c.superName.equals("java/lang/Record");
		if (ok)
			for (MethodNode m : c.methods)
				if (m.name.equals("<init>"))
					ok &= fits(c, m);
		if (!ok)
			refused.add(name);
		return ok;
	}

	private boolean fits(ClassNode c, MethodNode m) throws AnalyzerException {
		MethodInsnNode s = superCall(hierarchy, c.name, m);
		if (s == null)
			return false;
		if (s.owner.equals(c.name))
			return true;
		if (nodes.containsKey(s.owner))
			return fits(s.owner);
		ClassInfo k = hierarchy.get(s.owner);
		return k != null && k.kind == ClassInfo.Kind.FOREIGN && s.desc.equals("()V");
	}

	/** The only call of super(...) or this(...), or null. */
	static MethodInsnNode superCall(Hierarchy h, String owner, MethodNode m)
			throws AnalyzerException {
		Frame<BasicValue>[] fs = Types.of(h, owner, m);
		MethodInsnNode found = null;
		for (int k = 0; k < fs.length; k++) {
			AbstractInsnNode i = m.instructions.get(k);
			if (fs[k] == null || i.getOpcode() != Opcodes.INVOKESPECIAL
					|| !((MethodInsnNode) i).name.equals("<init>"))
				continue;
			MethodInsnNode call = (MethodInsnNode) i;
			BasicValue on = fs[k].getStack(fs[k].getStackSize() - 1
				- Type.getArgumentTypes(call.desc).length);
			if (!(on instanceof Types.New) || ((Types.New) on).at != null)
				continue;
			if (found != null)
				return null;
			found = call;
		}
		return found;
	}

	private void split(ClassNode c) throws AnalyzerException {
		if (!split.add(c.name))
			return;
		changed.add(c.name);
		if (nodes.containsKey(c.superName))
			split(nodes.get(c.superName));
		for (FieldNode f : c.fields)
			if ((f.access & Opcodes.ACC_STATIC) == 0)
				f.access &= ~Opcodes.ACC_FINAL;
		List<MethodNode> made = new ArrayList<>();
		for (MethodNode m : c.methods)
			if (m.name.equals("<init>")) {
				made.add(init(c, m));
				if ((c.access & Opcodes.ACC_ABSTRACT) == 0)
					made.add(make(c, m));
			}
		made.add(alloc(c));
		c.methods.addAll(made);
		for (MethodNode m : made)
			hierarchy.get(c.name).methods.put(m.name + m.desc, m.access);
		for (MethodNode m : made)
			graph.addMethod(c, m);
	}

	private static String with(String owner, String desc) {
		return "(L" + owner + ";" + desc.substring(1);
	}

	/**
	 * C(Alloc), for the class and its subclasses. It is not public, so getConstructors() leaves it
	 * out.
	 */
	private MethodNode alloc(ClassNode c) {
		MethodNode a = new MethodNode(Opcodes.ASM9, Opcodes.ACC_PROTECTED
			| Opcodes.ACC_SYNTHETIC, "<init>", "(L" + ALLOC + ";)V", null, null);
		boolean up = nodes.containsKey(c.superName);
		a.instructions.add(new VarInsnNode(Opcodes.ALOAD, 0));
		if (up)
			a.instructions.add(new VarInsnNode(Opcodes.ALOAD, 1));
		a.instructions.add(new MethodInsnNode(Opcodes.INVOKESPECIAL, c.superName, "<init>",
			up ? a.desc : "()V", false));
		a.instructions.add(new InsnNode(Opcodes.RETURN));
		a.maxLocals = 2;
		a.maxStack = 2;
		return a;
	}

	/** pico$init: the body, as a static method of the allocated object. */
	private MethodNode init(ClassNode c, MethodNode m) throws AnalyzerException {
		MethodNode i = new MethodNode(Opcodes.ASM9, Opcodes.ACC_PUBLIC | Opcodes.ACC_STATIC
			| Opcodes.ACC_SYNTHETIC, INIT, with(c.name, m.desc), null, null);
		MethodInsnNode up = superCall(hierarchy, c.name, m);
		int at = m.instructions.indexOf(up);
		m.accept(i);
		for (int k = 0; k < m.instructions.size(); k++) {
			AbstractInsnNode from = m.instructions.get(k);
			Lambdas.Lambda l = lambdas.get(from);
			if (l != null)
				l.copied(i, i.instructions.get(k));
			if (from instanceof MethodInsnNode)
				graph.copied((MethodInsnNode) from, (MethodInsnNode) i.instructions.get(k));
		}
		MethodInsnNode call = (MethodInsnNode) i.instructions.get(at);
		if (call.owner.equals(c.name) || nodes.containsKey(call.owner)) {
			call.setOpcode(Opcodes.INVOKESTATIC);
			call.name = INIT;
			call.desc = with(call.owner, call.desc);
		} else {
			i.instructions.set(call, new InsnNode(Opcodes.POP));
		}
		i.visibleAnnotations = null;
		i.invisibleAnnotations = null;
		i.visibleParameterAnnotations = null;
		i.invisibleParameterAnnotations = null;
		i.parameters = null;
		i.visibleTypeAnnotations = null;
		i.invisibleTypeAnnotations = null;
		return i;
	}

	private static MethodNode make(ClassNode c, MethodNode m) {
		MethodNode n = new MethodNode(Opcodes.ASM9, m.access & (Opcodes.ACC_PUBLIC
			| Opcodes.ACC_PROTECTED) | Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC, NEW,
			m.desc.substring(0, m.desc.length() - 1) + "L" + c.name + ";", null, null);
		int self = Type.getArgumentsAndReturnSizes(m.desc) >> 2;
		n.instructions.add(new TypeInsnNode(Opcodes.NEW, c.name));
		n.instructions.add(new InsnNode(Opcodes.DUP));
		n.instructions.add(new InsnNode(Opcodes.ACONST_NULL));
		n.instructions.add(new MethodInsnNode(Opcodes.INVOKESPECIAL, c.name, "<init>",
			"(L" + ALLOC + ";)V", false));
		n.instructions.add(new VarInsnNode(Opcodes.ASTORE, self));
		n.instructions.add(new VarInsnNode(Opcodes.ALOAD, self));
		int at = 0;
		for (Type t : Type.getArgumentTypes(m.desc)) {
			n.instructions.add(new VarInsnNode(t.getOpcode(Opcodes.ILOAD), at));
			at += t.getSize();
		}
		n.instructions.add(new MethodInsnNode(Opcodes.INVOKESTATIC, c.name, INIT,
			with(c.name, m.desc), false));
		n.instructions.add(new MethodInsnNode(Opcodes.INVOKESTATIC, ALLOC, "published", "()V",
			false));
		n.instructions.add(new VarInsnNode(Opcodes.ALOAD, self));
		n.instructions.add(new InsnNode(Opcodes.ARETURN));
		n.maxLocals = self + 1;
		n.maxStack = at + 3;
		return n;
	}

	/** Changes `new C(args)` to C.pico$new(args) if it suspends, or to what a rule says. */
	private boolean sites(ClassNode c, MethodNode m) throws AnalyzerException {
		Set<AbstractInsnNode> gone = new HashSet<>();
		for (AbstractInsnNode n : candidates(c, m)) {
			List<MethodInsnNode> inits = inits(c, m).getOrDefault(n, List.of());
			boolean ok = !inits.isEmpty();
			for (MethodInsnNode i : inits)
				ok &= i.owner.equals(((TypeInsnNode) n).desc)
					&& (suspends(i) || rules.maker(c.name, i) != null);
			if (!ok)
				continue;
			AbstractInsnNode dup = News.next(n);
			boolean dupped = dup != null && dup.getOpcode() == Opcodes.DUP;
			for (MethodInsnNode i : inits) {
				String by = rules.maker(c.name, i);
				i.setOpcode(Opcodes.INVOKESTATIC);
				i.name = by != null ? Replacements.MAKE : NEW;
				i.desc = Replacements.made(i);
				i.owner = by != null ? by : i.owner;
				if (!dupped)
					m.instructions.insert(i, new InsnNode(Opcodes.POP));
				graph.addSite(graph.node(c.name, m.name + m.desc), i);
			}
			m.instructions.remove(n);
			if (dupped)
				m.instructions.remove(dup);
			changed.add(c.name);
			gone.add(n);
		}
		if (gone.isEmpty())
			return false;
		makers.get(m).removeAll(gone);
		return true;
	}

	/** Results by method. They stay true, so each method is examined once. */
	private final Map<MethodNode, Map<AbstractInsnNode, List<MethodInsnNode>>> inits =
		new HashMap<>();

	private Map<AbstractInsnNode, List<MethodInsnNode>> inits(ClassNode c, MethodNode m)
			throws AnalyzerException {
		Map<AbstractInsnNode, List<MethodInsnNode>> of = inits.get(m);
		if (of == null)
			inits.put(m, of = News.inits(Types.of(hierarchy, c.name, m), m));
		return of;
	}

	/** True if a library may have a class whose constructors were split in its build. */
	private boolean splitLibraries() {
		return hierarchy.get(ALLOC) != null;
	}

	/** True for a constructor of a library's class that was split and may suspend. */
	private boolean inLibrary(String owner, String desc) {
		ClassInfo c = hierarchy.get(owner);
		return c != null && c.kind == ClassInfo.Kind.TRANSLATED && c.suspends.containsKey(NEW
			+ desc.substring(0, desc.length() - 1) + "L" + owner + ";");
	}

	/** The NEWs of classes with a constructor that may have to be called differently. */
	private List<AbstractInsnNode> candidates(ClassNode c, MethodNode m) {
		if (m.name.equals(NEW))
			return List.of();
		Set<String> made = new HashSet<>();
		List<AbstractInsnNode> news = new ArrayList<>();
		for (AbstractInsnNode i : makers.computeIfAbsent(m, Constructors::makers))
			if (i.getOpcode() == Opcodes.NEW)
				news.add(i);
			else if (isInit(i) && isOther(c, (MethodInsnNode) i))
				made.add(((MethodInsnNode) i).owner);
		news.removeIf(n -> !made.contains(((TypeInsnNode) n).desc));
		return news;
	}

	/** The NEWs and constructor calls of each method. None is added later. */
	private final Map<MethodNode, List<AbstractInsnNode>> makers = new HashMap<>();

	private static List<AbstractInsnNode> makers(MethodNode m) {
		List<AbstractInsnNode> l = new ArrayList<>(0);
		for (AbstractInsnNode i : m.instructions)
			if (i.getOpcode() == Opcodes.NEW || isInit(i))
				l.add(i);
		return l;
	}

	private static boolean isInit(AbstractInsnNode i) {
		return i.getOpcode() == Opcodes.INVOKESPECIAL
			&& ((MethodInsnNode) i).name.equals("<init>");
	}

	private boolean isOther(ClassNode c, MethodInsnNode i) {
		return split.contains(i.owner) && suspends(i) || inLibrary(i.owner, i.desc)
			|| rules.maker(c.name, i) != null;
	}

	private boolean suspends(MethodInsnNode i) {
		CallGraph.Node n = graph.node(i.owner, i.name + i.desc);
		return n != null ? n.suspends() : inLibrary(i.owner, i.desc);
	}
}
