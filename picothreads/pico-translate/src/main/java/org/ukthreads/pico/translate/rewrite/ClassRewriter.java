// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.ConstantDynamic;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.AnnotationNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.ukthreads.pico.translate.Report;
import org.ukthreads.pico.translate.analyse.CallGraph;
import org.ukthreads.pico.translate.analyse.Liveness;
import org.ukthreads.pico.translate.analyse.Replacements;
import org.ukthreads.pico.translate.analyse.Twins;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/** Rewrites one class: splits methods that suspend, and brackets the others where they pin. */
public final class ClassRewriter {
	final ClassNode node;
	final Hierarchy hierarchy;
	final CallGraph graph;
	final Replacements replacements;
	final Report report;
	final Companion companion;
	private final boolean library;
	private final Large large;
	final Twins twins;
	private final Set<String> shown;
	private final Set<String> resumers = new HashSet<>();

	public ClassRewriter(ClassNode node, Hierarchy hierarchy, CallGraph graph,
			Replacements replacements, Report report, boolean library, Large large,
			Twins twins, Set<String> shown) {
		this.node = node;
		this.hierarchy = hierarchy;
		this.graph = graph;
		this.replacements = replacements;
		this.report = report;
		this.library = library;
		this.large = large;
		this.twins = twins;
		this.shown = shown;
		companion = new Companion(node);
	}

	/**
	 * Resume code casts to t. Other code may pass on values of a class that is hidden in another
	 * package, but a cast names the class: it becomes public.
	 */
	void names(Type t) {
		Type e = t.getSort() == Type.ARRAY ? t.getElementType() : t;
		ClassInfo c = e.getSort() == Type.OBJECT ? hierarchy.get(e.getInternalName()) : null;
		if (c != null && c.kind == ClassInfo.Kind.PROGRAM
				&& (c.access & Opcodes.ACC_PUBLIC) == 0
				&& !ClassInfo.packageOf(c.name)
					.equals(ClassInfo.packageOf(node.name)))
			shown.add(c.name);
	}

	int parts(MethodNode m) {
		return large.parts(node.name + '.' + m.name + m.desc);
	}

	void parts(MethodNode m, int n) {
		if (n > 1)
			large.parts(node.name + '.' + m.name + m.desc, n);
	}

	/**
	 * The name of the resume code: the method's own, which costs nothing, unless an overload has
	 * it.
	 */
	String resumerName(MethodNode m) {
		String name = m.name;
		for (int k = 1; !resumers.add(name); k++)
			name = "pico$" + m.name + "$" + k;
		resumes(name, m);
		return name;
	}

	/** Records that a method of this name is resume code of m. */
	void resumes(String name, MethodNode m) {
		large.resumes(node.name + '.' + name, node.name + '.' + m.name + m.desc);
	}

	/** True for a call that a rule pins, and for what a bootstrap method has made or makes here. */
	boolean pins(AbstractInsnNode i) {
		if (i instanceof MethodInsnNode) {
			MethodInsnNode c = (MethodInsnNode) i;
			if (c.name.equals("<init>") || !replacements.pins(c.owner, c.name))
				return false;
			report.pin(node.name, "", c, "calls that a rule pins");
			return true;
		}
		Handle by;
		if (i instanceof InvokeDynamicInsnNode) {
			by = ((InvokeDynamicInsnNode) i).bsm;
			if (by.getOwner().startsWith("java/lang/"))
				return false;
		} else if (i instanceof LdcInsnNode && suspends(((LdcInsnNode) i).cst)) {
			by = ((ConstantDynamic) ((LdcInsnNode) i).cst).getBootstrapMethod();
		} else {
			return false;
		}
		report.pin(node.name, "", new MethodInsnNode(Opcodes.INVOKESTATIC, by.getOwner(),
			by.getName(), by.getDesc()), "made by a bootstrap method");
		return true;
	}

	/**
	 * True if the methods that make this constant may suspend. A method handle is a constant, but
	 * making it calls nothing.
	 */
	private boolean suspends(Object constant) {
		if (!(constant instanceof ConstantDynamic))
			return false;
		ConstantDynamic c = (ConstantDynamic) constant;
		boolean any = suspends(c.getBootstrapMethod());
		for (int k = 0; k < c.getBootstrapMethodArgumentCount(); k++) {
			Object a = c.getBootstrapMethodArgument(k);
			any |= a instanceof Handle ? suspends((Handle) a) : suspends(a);
		}
		return any;
	}

	private boolean suspends(Handle h) {
		int op = h.getTag() == Opcodes.H_INVOKESTATIC ? Opcodes.INVOKESTATIC
			: h.getTag() == Opcodes.H_INVOKEVIRTUAL ? Opcodes.INVOKEVIRTUAL
			: h.getTag() == Opcodes.H_INVOKEINTERFACE ? Opcodes.INVOKEINTERFACE
			: Opcodes.INVOKESPECIAL;
		return graph.suspends(new MethodInsnNode(op, h.getOwner(), h.getName(), h.getDesc(),
			h.isInterface()));
	}

	/** True if the method counts its entry, because untranslated code may call it. */
	boolean isEntered(MethodNode m) {
		if (!graph.isCalledFromOutside(node.name, m, replacements))
			return false;
		report.entered(node.name + '.' + m.name + m.desc);
		return true;
	}

	/** Rewrites in place; true if anything changed. */
	public boolean rewrite() {
		boolean any = false;
		List<MethodNode> added = new ArrayList<>();
		for (MethodNode m : node.methods) {
			CallGraph.Node n = graph.node(node.name, m.name + m.desc);
			if (n == null || m.instructions.size() == 0)
				continue;
			try {
				if (large.refused(n.toString())) {
					any |= m.name.startsWith("<") ? bracket(m, added) : wrap(m, added);
					continue;
				}
				if (n.initial()) {
					any |= initial(m);
					continue;
				}
				any |= guard(m);
				if (n.pinned())
					any |= pinAll(m);
				else if (n.suspends())
					any |= split(m, added);
				else
					any |= pinForeign(m);
			} catch (AnalyzerException e) {
				throw new IllegalStateException(n + ": " + e.getMessage(), e);
			}
		}
		node.methods.addAll(added);
		MethodNode chooser = companion.chooser();
		if (chooser != null)
			node.methods.add(chooser);
		return any;
	}

	private boolean split(MethodNode m, List<MethodNode> added) throws AnalyzerException {
		int before = companion.sites();
		long hash = Hash.of(m);
		MethodRewriter r = new MethodRewriter(this, m);
		if (!r.prepare()) {
			/* Its callers assume that it may suspend, which costs them little. */
			large.refuse(node.name + '.' + m.name + m.desc);
			wrap(m, added);
			r = new MethodRewriter(this, m);
			r.prepare();
		}
		added.addAll(r.rewrite(hash));
		if (companion.sites() == before)
			return true;
		report.translated(node.name, m.name + m.desc);
		if (library) {
			if (m.invisibleAnnotations == null)
				m.invisibleAnnotations = new ArrayList<>();
			m.invisibleAnnotations.add(new AnnotationNode("Lorg/ukthreads/pico/Pico;"));
		}
		return true;
	}

	private boolean suspends(AbstractInsnNode i) {
		return i instanceof MethodInsnNode && !((MethodInsnNode) i).name.equals("<init>")
			&& graph.suspends((MethodInsnNode) i);
	}

	/** For <init>, <clinit> and @NeverBlocks: brackets each call that may suspend. */
	private boolean pinAll(MethodNode m) {
		boolean any = false;
		for (AbstractInsnNode i : m.instructions.toArray()) {
			boolean s = suspends(i);
			if (!s && !pins(i))
				continue;
			if (s)
				report.pin(node.name, m.name, (MethodInsnNode) i, m.name.equals("<clinit>")
					? "in static initialisers" : "in constructors");
			MethodRewriter.pinCall(m, i);
			any = true;
		}
		return any;
	}

	/** One bracket around a method that only an initialiser calls, if it calls what may suspend. */
	private boolean initial(MethodNode m) {
		boolean any = false;
		for (AbstractInsnNode i : m.instructions) {
			if (suspends(i))
				report.pin(node.name, m.name, (MethodInsnNode) i, "in static initialisers");
			any |= suspends(i) || pins(i);
		}
		if (any)
			pin(m, m.instructions.getFirst());
		return any;
	}

	/**
	 * For a method that is too large for a bracket around each call: one bracket covers all of it,
	 * from super(...) on. The body stays, because only it may write final fields or construct its
	 * object. If even that does not fit, the body of a static initialiser moves, and its fields are
	 * no longer final.
	 */
	private boolean bracket(MethodNode m, List<MethodNode> added)
			throws AnalyzerException {
		String name = node.name + '.' + m.name + m.desc;
		MethodInsnNode up = m.name.equals("<init>")
			? Constructors.superCall(hierarchy, node.name, m) : null;
		if (large.bare(name) && m.name.equals("<clinit>")
				&& (node.access & Opcodes.ACC_INTERFACE) == 0) {
			for (FieldNode f : node.fields)
				if ((f.access & Opcodes.ACC_STATIC) != 0)
					f.access &= ~Opcodes.ACC_FINAL;
			return wrap(m, added);
		}
		if (large.bare(name) || up == null && m.name.equals("<init>")) {
			report.refused(name, "64 KB; a suspension in it fails as a lost frame");
			return false;
		}
		for (AbstractInsnNode i : m.instructions.toArray())
			if (i == up)
				break;
			else if (up != null && (suspends(i) || pins(i)))
				MethodRewriter.pinCall(m, i);
		pin(m, up == null ? m.instructions.getFirst() : up.getNext());
		report.refused(name, "over 64 KB with a bracket for each call; pins");
		return true;
	}

	/** Adds one bracket from there to the end. */
	private static void pin(MethodNode m, AbstractInsnNode from) {
		LabelNode start = new LabelNode();
		LabelNode end = new LabelNode();
		InsnList l = new InsnList();
		l.add(MethodRewriter.pins("enter"));
		l.add(start);
		m.instructions.insertBefore(from, l);
		for (AbstractInsnNode i = from; i != null; i = i.getNext())
			if (i.getOpcode() >= Opcodes.IRETURN && i.getOpcode() <= Opcodes.RETURN)
				m.instructions.insertBefore(i, MethodRewriter.pins("exit"));
		m.instructions.add(end);
		m.instructions.add(MethodRewriter.pins("exit"));
		m.instructions.add(new InsnNode(Opcodes.ATHROW));
		m.tryCatchBlocks.add(new TryCatchBlockNode(start, end, end, null));
	}

	/**
	 * For a method that is too large for handlers: moves the body, unchanged, into a pinned
	 * bracket.
	 */
	private boolean wrap(MethodNode m, List<MethodNode> added) {
		MethodNode body = new MethodNode(Opcodes.ASM9, m.access & ~(Opcodes.ACC_PUBLIC
			| Opcodes.ACC_PROTECTED | Opcodes.ACC_FINAL | Opcodes.ACC_SYNCHRONIZED)
			| Opcodes.ACC_PRIVATE | Opcodes.ACC_SYNTHETIC, "pico$$pinned$" + added.size(),
			m.desc, null, m.exceptions.toArray(new String[0]));
		body.instructions = m.instructions;
		body.tryCatchBlocks = m.tryCatchBlocks;
		body.maxLocals = m.maxLocals;
		body.maxStack = m.maxStack;
		added.add(body);
		boolean st = (m.access & Opcodes.ACC_STATIC) != 0;
		boolean itf = (node.access & Opcodes.ACC_INTERFACE) != 0;
		m.instructions = new InsnList();
		m.tryCatchBlocks = new ArrayList<>();
		m.localVariables = null;
		m.visibleLocalVariableAnnotations = null;
		m.invisibleLocalVariableAnnotations = null;
		int at = 0;
		if (!st)
			m.instructions.add(new VarInsnNode(Opcodes.ALOAD, at++));
		for (Type t : Type.getArgumentTypes(m.desc)) {
			m.instructions.add(new VarInsnNode(t.getOpcode(Opcodes.ILOAD), at));
			at += t.getSize();
		}
		MethodInsnNode call = new MethodInsnNode(st ? Opcodes.INVOKESTATIC
			: Opcodes.INVOKESPECIAL, node.name, body.name, body.desc, itf);
		m.instructions.add(call);
		m.instructions.add(new InsnNode(Type.getReturnType(m.desc)
			.getOpcode(Opcodes.IRETURN)));
		m.maxLocals = at;
		MethodRewriter.pinCall(m, call);
		report.refused(node.name + '.' + m.name + m.desc,
			"over 64 KB with handlers; pins");
		return true;
	}

	/** For a method that never suspends: brackets only what pins() finds. */
	private boolean pinForeign(MethodNode m) {
		boolean any = false;
		for (AbstractInsnNode i : m.instructions.toArray())
			if (pins(i)) {
				MethodRewriter.pinCall(m, i);
				any = true;
			}
		return any;
	}

	/** Makes handlers of the program change a Capture to a PinnedException. */
	private boolean guard(MethodNode m) {
		boolean any = false;
		Set<LabelNode> done = new HashSet<>();
		Set<LabelNode> targets = new HashSet<>();
		for (AbstractInsnNode i : m.instructions)
			targets.addAll(Liveness.targets(i));
		for (TryCatchBlockNode b : m.tryCatchBlocks) {
			if (!"java/lang/Throwable".equals(b.type) || done.contains(b.handler))
				continue;
			if (isJoined(b.handler, targets))
				separate(m, b.handler);
			done.add(b.handler);
			m.instructions.insert(b.handler, new MethodInsnNode(Opcodes.INVOKESTATIC,
				"org/ukthreads/pico/Capture", "guard",
				"(Ljava/lang/Throwable;)Ljava/lang/Throwable;", false));
			any = true;
		}
		return any;
	}

	/** True if code reaches a handler other than by an exception; targets: of all jumps. */
	private static boolean isJoined(LabelNode handler, Set<LabelNode> targets) {
		AbstractInsnNode p = handler;
		for (; p != null && p.getOpcode() < 0; p = p.getPrevious())
			if (p instanceof LabelNode && targets.contains(p))
				return true;
		return p == null || Liveness.falls(p);
	}

	/** Gives the exceptions a separate entry, which jumps there. */
	private static void separate(MethodNode m, LabelNode handler) {
		LabelNode own = new LabelNode();
		for (TryCatchBlockNode b : m.tryCatchBlocks)
			if (b.handler == handler && "java/lang/Throwable".equals(b.type))
				b.handler = own;
		m.instructions.add(own);
		m.instructions.add(new JumpInsnNode(Opcodes.GOTO, handler));
	}

	/** like: the original class file, if its constants must keep their places; or null. */
	public byte[] write(byte[] like) {
		for (MethodNode m : node.methods)
			m.tryCatchBlocks.removeIf(b -> isEmpty(b));
		boolean frames = (node.version & 0xffff) >= Opcodes.V1_6;
		ClassWriter w = new ClassWriter(like == null ? null : new ClassReader(like), frames
			? ClassWriter.COMPUTE_FRAMES : ClassWriter.COMPUTE_MAXS) {
			@Override
			protected String getCommonSuperClass(String a, String b) {
				return hierarchy.commonSuper(a, b);
			}
		};
		/* ASM's limits guard against hostile input and are too low for large methods. */
		w.setComputeLimits(Integer.MAX_VALUE, Long.MAX_VALUE);
		node.accept(w);
		byte[] b = w.toByteArray();
		return frames && !companion.isEmpty() ? Handlers.trim(b) : b;
	}

	/** An empty range is a format error. */
	private static boolean isEmpty(TryCatchBlockNode b) {
		for (AbstractInsnNode i = b.start; i != null && i != b.end; i = i.getNext())
			if (i.getOpcode() >= 0)
				return false;
		return true;
	}

	/** The companion's class file; null if no method was split. */
	public byte[] companion() {
		return companion.isEmpty() ? null : companion.write();
	}

	public String companionName() {
		return companion.name();
	}

	static ClassNode read(byte[] file) {
		ClassNode n = new ClassNode(Opcodes.ASM9);
		new ClassReader(file).accept(n, ClassReader.SKIP_FRAMES);
		return n;
	}
}
