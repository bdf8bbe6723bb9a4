package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.AnnotationNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.ukthreads.pico.translate.Report;
import org.ukthreads.pico.translate.analyse.CallGraph;
import org.ukthreads.pico.translate.analyse.Replacements;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/** One class: its suspending methods are split, the others are bracketed where they pin. */
public final class ClassRewriter {
	/** A method above this many bytes of code is not translated but pinned. */
	static final int MAX_CODE = 65_000;

	final ClassNode node;
	final Hierarchy hierarchy;
	final CallGraph graph;
	final Replacements replacements;
	final Report report;
	final Companion companion;
	private final boolean library;
	private int resumers;

	public ClassRewriter(ClassNode node, Hierarchy hierarchy, CallGraph graph,
			Replacements replacements, Report report, boolean library) {
		this.node = node;
		this.hierarchy = hierarchy;
		this.graph = graph;
		this.replacements = replacements;
		this.report = report;
		this.library = library;
		companion = new Companion(node);
	}

	String resumerName(MethodNode m) {
		return "pico$" + m.name.replace('<', '_').replace('>', '_') + "$" + resumers++;
	}

	/** A call that is not a site but may come back into the program. */
	boolean pins(MethodInsnNode c) {
		if (replacements.pins(c.owner, c.name) || graph.mayCallBack(c)) {
			report.pin(node.name, "", c, "untranslated code that may call back");
			return true;
		}
		return false;
	}

	/** May the receiver's code be the JDK's? Its type is, or a proxy may stand for it. */
	boolean mayBeForeign(MethodInsnNode c) {
		ClassInfo k = hierarchy.get(c.owner);
		if (k == null || k.kind == ClassInfo.Kind.FOREIGN)
			return (k == null || (k.access & Opcodes.ACC_FINAL) == 0);
		return k.isInterface() && graph.makesProxies();
	}

	/** Rewrites in place; true when anything changed. */
	public boolean rewrite() {
		boolean any = false;
		List<MethodNode> added = new ArrayList<>();
		for (MethodNode m : node.methods) {
			CallGraph.Node n = graph.node(node.name, m.name + m.desc);
			if (n == null || m.instructions.size() == 0)
				continue;
			any |= guard(m);
			try {
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
		return any;
	}

	private boolean split(MethodNode m, List<MethodNode> added) throws AnalyzerException {
		int before = companion.sites();
		MethodNode copy = new MethodRewriter(this, m).rewrite(Hash.of(m));
		if (companion.sites() == before)
			return true;
		if (copy != null)
			added.add(copy);
		report.translated(node.name, m.name + m.desc);
		if (library) {
			if (m.invisibleAnnotations == null)
				m.invisibleAnnotations = new ArrayList<>();
			m.invisibleAnnotations.add(new AnnotationNode("Lorg/ukthreads/pico/Pico;"));
		}
		return true;
	}

	/** <init>, <clinit>: what suspends inside blocks the OS thread. */
	private boolean pinAll(MethodNode m) {
		boolean any = false;
		for (AbstractInsnNode i : m.instructions.toArray()) {
			if (!(i instanceof MethodInsnNode))
				continue;
			MethodInsnNode c = (MethodInsnNode) i;
			if (c.name.equals("<init>"))
				continue;
			boolean s = graph.suspends(c);
			if (!s && !pins(c))
				continue;
			if (s)
				report.pin(node.name, m.name, c, m.name.equals("<clinit>")
					? "a static initialiser" : "a constructor");
			MethodRewriter.pinCall(m, c);
			any = true;
		}
		return any;
	}

	/** A method that never suspends itself: only calls that may come back are bracketed. */
	private boolean pinForeign(MethodNode m) {
		boolean any = false;
		for (AbstractInsnNode i : m.instructions.toArray())
			if (i instanceof MethodInsnNode && !((MethodInsnNode) i).name.equals("<init>")
					&& pins((MethodInsnNode) i)) {
				MethodRewriter.pinCall(m, (MethodInsnNode) i);
				any = true;
			}
		return any;
	}

	/** A Capture in a handler of the program becomes a PinnedException there. */
	private boolean guard(MethodNode m) {
		boolean any = false;
		List<Object> done = new ArrayList<>();
		for (TryCatchBlockNode b : m.tryCatchBlocks) {
			if (!"java/lang/Throwable".equals(b.type) || done.contains(b.handler))
				continue;
			done.add(b.handler);
			m.instructions.insert(b.handler, new MethodInsnNode(Opcodes.INVOKESTATIC,
				"org/ukthreads/pico/Capture", "guard",
				"(Ljava/lang/Throwable;)Ljava/lang/Throwable;", false));
			any = true;
		}
		return any;
	}

	public byte[] write() {
		for (MethodNode m : node.methods)
			m.tryCatchBlocks.removeIf(b -> isEmpty(b));
		boolean frames = (node.version & 0xffff) >= Opcodes.V1_6;
		ClassWriter w = new ClassWriter(frames ? ClassWriter.COMPUTE_FRAMES
			: ClassWriter.COMPUTE_MAXS) {
			@Override
			protected String getCommonSuperClass(String a, String b) {
				return hierarchy.commonSuper(a, b);
			}
		};
		node.accept(w);
		return w.toByteArray();
	}

	/** A range without an instruction is a format error. */
	private static boolean isEmpty(TryCatchBlockNode b) {
		for (AbstractInsnNode i = b.start; i != null && i != b.end; i = i.getNext())
			if (i.getOpcode() >= 0)
				return false;
		return true;
	}

	/** The companion's name and bytes, or null when no method was split. */
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
