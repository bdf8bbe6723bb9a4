package org.ukthreads.pico.translate;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodTooLargeException;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.JSRInlinerAdapter;
import org.objectweb.asm.commons.SerialVersionUIDAdder;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.ukthreads.pico.translate.analyse.CallGraph;
import org.ukthreads.pico.translate.analyse.Hot;
import org.ukthreads.pico.translate.analyse.Locks;
import org.ukthreads.pico.translate.analyse.Replacements;
import org.ukthreads.pico.translate.analyse.Twins;
import org.ukthreads.pico.translate.analyse.flow.Flow;
import org.ukthreads.pico.translate.analyse.flow.Settled;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.read.CodeSizes;
import org.ukthreads.pico.translate.read.Hierarchy;
import org.ukthreads.pico.translate.rewrite.CallBackCalls;
import org.ukthreads.pico.translate.rewrite.ClassRewriter;
import org.ukthreads.pico.translate.rewrite.Constructors;
import org.ukthreads.pico.translate.rewrite.Lambdas;
import org.ukthreads.pico.translate.rewrite.Large;
import org.ukthreads.pico.translate.verify.Verifier;

/*
 * A whole program in, a whole program out.
 *
 *   read      class files -> trees, hierarchy
 *   analyse   replacements (Thread, locks, sockets), call graph and locks to a fixpoint
 *   rewrite   lambdas that suspend -> classes; methods that suspend -> body + resume copy
 *   verify    every changed class, if Options.verify says so (Verifier)
 *
 * Only what must change changes: a class without a suspending method, a replaced call or
 * a pin comes out byte for byte as it went in.
 */
public final class Translator {
	/** What a run is told. */
	public static final class Options {
		/** Mark what was translated, so that others can be translated against it. */
		public boolean library;
		/** For tests: every method may suspend, at random, when it is entered. */
		public boolean chaos;
		/** Which methods get a twin. */
		public Hot hot = Hot.of(System.getProperty("pico.hot", "direct"));
		/** Check what comes out. */
		public boolean verify;
		/** Packages (a/b/c) all of whose methods are taken to suspend. */
		public final Set<String> conservative = new HashSet<>();
		/** More replacement rules. */
		public final List<String> rules = new ArrayList<>();
	}

	private final Options options;
	private final Hierarchy hierarchy;
	private final Replacements replacements;
	private final List<ClassInfo> translated = new ArrayList<>();
	private final Large large = new Large();
	/* Of one pass. */
	private CallGraph graph;
	private Twins twins;
	private Report report = new Report();
	private final Map<String, byte[]> files = new LinkedHashMap<>();
	private final Map<String, ClassNode> nodes = new LinkedHashMap<>();
	private final Set<String> dirty = new HashSet<>();

	public Translator(Options options, Hierarchy.Finder libraries) {
		this.options = options;
		hierarchy = new Hierarchy(libraries);
		replacements = new Replacements(hierarchy);
		options.rules.forEach(replacements::read);
	}

	/**
	 * A translator with everything added: the program's classes, the libraries' (those of
	 * the pico packages take part as translated ones) and their rules.
	 */
	public static Translator of(ClassPath program, ClassPath libraries, Options options) {
		Translator t = new Translator(options, name -> {
			byte[] b = libraries.entries().get(name + ".class");
			return b != null ? b : program.entries().get(name + ".class");
		});
		libraries.rules().forEach(t::rules);
		program.rules().forEach(t::rules);
		libraries.entries().forEach((name, b) -> {
			if (ClassPath.isClass(name, b) && !ClassPath.isTool(name)
					&& (ClassPath.isPico(name) || Build.isTranslated(b)))
				t.library(b);
		});
		program.entries().forEach((name, b) -> {
			if (!ClassPath.isClass(name, b) || ClassPath.isTool(name))
				return;
			if (ClassPath.isPico(name) && !options.library) {
				t.library(b);
			} else if (Build.isTranslated(b)) {
				t.library(b);
				t.asTheyAre.put(name.substring(0, name.length() - 6), b);
			} else {
				t.add(b);
			}
		});
		return t;
	}

	/** Rules of a library: the text of its META-INF/pico/replace. */
	public void rules(String text) {
		replacements.read(text);
	}

	/** A class that was translated before, or is the runtime's: may be called, stays. */
	public void library(byte[] file) {
		ClassInfo c = hierarchy.add(file, ClassInfo.Kind.TRANSLATED);
		translated.add(c);
		if (!ClassPath.isPico(c.name + ".class"))
			others.add(file);
	}

	/** Translated classes that are not ours. */
	private final List<byte[]> others = new ArrayList<>();

	/** Translated classes among the program's: they go along unchanged. */
	private final Map<String, byte[]> asTheyAre = new LinkedHashMap<>();

	/** A class of the program. */
	public void add(byte[] file) {
		ClassReader r = new ClassReader(file);
		if (files.putIfAbsent(r.getClassName(), file) != null)
			return;
		hierarchy.add(file, ClassInfo.Kind.PROGRAM);
	}

	/** Translates all that was added: name to class file, new classes included. */
	public Map<String, byte[]> run() {
		Map<String, byte[]> out;
		others.forEach(replacements::uses);
		files.values().forEach(hierarchy::learn);
		do
			out = pass();
		while (out == null);
		out.putAll(asTheyAre);
		return out;
	}

	/** Null: a method came out too large; once more, with that known. */
	private Map<String, byte[]> pass() {
		graph = new CallGraph(hierarchy);
		report = new Report();
		nodes.clear();
		dirty.clear();
		files.forEach((name, file) -> {
			report.before += file.length;
			report.classes++;
			hierarchy.add(file, ClassInfo.Kind.PROGRAM);
			ClassNode n = read(file);
			nodes.put(name, n);
			String sup = n.superName;
			if (replacements.apply(n))
				dirty.add(name);
			if (!java.util.Objects.equals(sup, n.superName))
				hierarchy.add(info(n));
		});
		/* A library may be given what it does not use. */
		for (ClassInfo c : translated)
			if (options.library || replacements.isUsed(c.name))
				c.suspends.keySet().forEach(k -> graph.addRoot(c.name, k));
		List<Lambdas.Lambda> lambdas = new ArrayList<>();
		Lambdas maker = new Lambdas(hierarchy);
		for (ClassNode n : nodes.values())
			for (Lambdas.Lambda l : maker.of(n)) {
				lambdas.add(l);
				if (l.accessor() != null) {
					n.methods.add(l.accessor());
					hierarchy.get(n.name).methods.put(l.accessor().name
						+ l.accessor().desc, l.accessor().access);
				}
			}
		if (options.chaos)
			nodes.values().forEach(this::chaos);
		for (ClassNode n : nodes.values()) {
			report.methods += n.methods.size();
			graph.addClass(n, options.conservative);
			for (MethodNode m : n.methods)
				if (large.refused(n.name + '.' + m.name + m.desc))
					graph.node(n.name, m.name + m.desc).refuse();
		}
		for (Lambdas.Lambda l : lambdas) {
			hierarchy.add(info(l.node));
			graph.addClass(l.node, Set.of());
		}
		Map<String, ClassNode> all = new LinkedHashMap<>(nodes);
		lambdas.forEach(l -> all.put(l.node.name, l.node));
		/* A library meets classes that nobody has written yet. */
		if (options.library) {
			replacements.open().forEach(o -> graph.addRoot(o[0], o[1]));
			graph.settle(settled(all));
		} else {
			graph.follow(flow(all, lambdas));
		}
		Locks locks = new Locks(hierarchy, graph, replacements.locks());
		Constructors constructors = new Constructors(hierarchy, graph,
			replacements, all, lambdas);
		CallBackCalls callBacks = new CallBackCalls(graph, replacements, lambdas);
		try {
			do
				locks.run();
			while (constructors.run() | callBacks.run());
		} catch (AnalyzerException e) {
			throw new IllegalStateException(e);
		}
		locks.converted().forEach(n -> dirty.add(n.owner.name));
		dirty.addAll(constructors.changed());
		dirty.addAll(callBacks.changed());
		commit(lambdas);
		twins = new Twins(hierarchy);
		twins.choose(graph, options.hot, large::isLarge);
		return write();
	}

	private Settled settled(Map<String, ClassNode> all) {
		try {
			return new Settled(hierarchy, all.values());
		} catch (AnalyzerException e) {
			throw new IllegalStateException(e);
		}
	}

	private Flow flow(Map<String, ClassNode> all, List<Lambdas.Lambda> lambdas) {
		Map<AbstractInsnNode, ClassNode> made = new IdentityHashMap<>();
		lambdas.forEach(l -> made.put(l.site, l.node));
		try {
			return new Flow(hierarchy, all.values(), made);
		} catch (AnalyzerException e) {
			throw new IllegalStateException(e);
		}
	}

	/** Called by the JDK by reflection, where nothing brackets them. */
	private static final Set<String> REFLECTED = Set.of("values", "$values", "valueOf",
		"readObject", "writeObject", "readResolve", "writeReplace", "finalize",
		"readExternal", "writeExternal", "readObjectNoData");

	private void chaos(ClassNode n) {
		for (MethodNode m : n.methods) {
			if (m.instructions.size() == 0 || m.name.startsWith("<")
					|| REFLECTED.contains(m.name))
				continue;
			m.instructions.insert(new MethodInsnNode(Opcodes.INVOKESTATIC,
				"org/ukthreads/pico/Chaos", "point", "()V", false));
			dirty.add(n.name);
		}
	}

	/** Keeps the classes of the lambdas that suspend. */
	private void commit(List<Lambdas.Lambda> lambdas) {
		for (Lambdas.Lambda l : lambdas) {
			boolean s = false;
			for (MethodNode m : l.node.methods)
				s |= graph.node(l.node.name, m.name + m.desc).suspends();
			if (!s) {
				l.host.methods.remove(l.accessor());
				continue;
			}
			l.commit();
			dirty.add(l.host.name);
			nodes.put(l.node.name, l.node);
			dirty.add(l.node.name);
			report.added++;
		}
	}

	private Map<String, byte[]> write() {
		for (CallGraph.Node n : graph.nodes())
			if (n.suspends())
				report.because(n.toString(), n.because());
		Map<String, byte[]> out = new LinkedHashMap<>();
		boolean again = false;
		Set<String> shown = new HashSet<>();
		for (ClassNode n : nodes.values()) {
			ClassRewriter r = new ClassRewriter(n, hierarchy, graph, replacements, report,
				options.library, large, twins, shown);
			boolean changed = r.rewrite() | dirty.contains(n.name);
			if (changed && files.containsKey(n.name))
				keepSerialForm(n);
			byte[] b;
			try {
				b = !changed ? files.get(n.name)
					: r.write(large.isFull(n.name) ? files.get(n.name) : null);
			} catch (MethodTooLargeException e) {
				if (!large.found(n.name, e.getMethodName(), e.getDescriptor()))
					throw e;
				again = true;
				continue;
			}
			out.put(n.name, b);
			if (options.verify && changed)
				Verifier.check(hierarchy, b);
			report.after += b.length;
			if (changed) {
				report.changed++;
				huge(n.name, b);
			}
			byte[] c = r.companion();
			if (c != null) {
				out.put(r.companionName(), c);
				if (options.verify)
					Verifier.check(hierarchy, c);
				report.after += c.length;
				report.added++;
			}
		}
		shown.forEach(k -> out.computeIfPresent(k, this::open));
		return again ? null : out;
	}

	/** The class file's own access; reflection reads that of a member from elsewhere. */
	private byte[] open(String name, byte[] file) {
		byte[] b = file.clone();
		if (file == files.get(name) && hasDefaultForm(nodes.get(name))) {
			ClassReader r = new ClassReader(file);
			ClassWriter w = new ClassWriter(r, 0);
			r.accept(new SerialVersionUIDAdder(w), 0);
			b = w.toByteArray();
		}
		b[new ClassReader(b).header + 1] |= Opcodes.ACC_PUBLIC;
		return b;
	}

	private void huge(String name, byte[] file) {
		Map<String, Integer> before = null;
		for (Map.Entry<String, Integer> e : CodeSizes.of(file).entrySet()) {
			if (e.getValue() <= CodeSizes.HUGE)
				continue;
			if (before == null)
				before = files.containsKey(name) ? CodeSizes.of(files.get(name)) : Map.of();
			if (before.getOrDefault(e.getKey(), 0) <= CodeSizes.HUGE)
				report.huge(name + '.' + e.getKey(), e.getValue());
		}
	}

	/** Is its serialVersionUID made of its members and its access? */
	private boolean hasDefaultForm(ClassNode n) {
		return (n.access & (Opcodes.ACC_INTERFACE | Opcodes.ACC_ENUM)) == 0
			&& hierarchy.isSubtype(n.name, "java/io/Serializable")
			&& n.fields.stream().noneMatch(f -> f.name.equals("serialVersionUID"));
	}

	/** New methods change the default serialVersionUID: the old one is written down. */
	private void keepSerialForm(ClassNode n) {
		if (!hasDefaultForm(n))
			return;
		ClassNode old = new ClassNode(Opcodes.ASM9);
		new ClassReader(files.get(n.name)).accept(new SerialVersionUIDAdder(old),
			ClassReader.SKIP_FRAMES);
		old.fields.stream().filter(f -> f.name.equals("serialVersionUID"))
			.forEach(n.fields::add);
	}

	private static ClassInfo info(ClassNode n) {
		ClassInfo c = new ClassInfo(n.name, n.superName, n.interfaces, n.access,
			ClassInfo.Kind.PROGRAM);
		n.methods.forEach(m -> c.methods.put(m.name + m.desc, m.access));
		return c;
	}

	private static ClassNode read(byte[] file) {
		ClassNode n = new ClassNode(Opcodes.ASM9);
		ClassReader r = new ClassReader(file);
		boolean old = r.readShort(6) < Opcodes.V1_7;
		r.accept(!old ? n : new ClassVisitor(Opcodes.ASM9, n) {
			@Override
			public MethodVisitor visitMethod(int access, String name, String desc, String sig,
					String[] ex) {
				return new JSRInlinerAdapter(super.visitMethod(access, name, desc, sig, ex),
					access, name, desc, sig, ex);
			}
		}, ClassReader.SKIP_FRAMES);
		return n;
	}

	public Report report() {
		return report;
	}

	public Hierarchy hierarchy() {
		return hierarchy;
	}
}
