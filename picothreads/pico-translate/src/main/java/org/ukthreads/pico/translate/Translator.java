// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
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
import org.ukthreads.pico.translate.analyse.Types;
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
import org.ukthreads.pico.translate.rewrite.Originals;
import org.ukthreads.pico.translate.rewrite.Pinned;
import org.ukthreads.pico.translate.rewrite.SchedulingPoints;
import org.ukthreads.pico.translate.verify.Verifier;

/*
 * Translates a whole program.
 *
 *   read      class files -> trees, hierarchy
 *   analyse   replacements (Thread, locks, sockets), call graph and locks to a fixpoint
 *   rewrite   lambdas that suspend -> classes; methods that suspend -> body + resume copy
 *   verify    every changed class, if Options.verify is set (Verifier)
 *
 * Only what must change changes: the file of a class without a suspending method, a replaced
 * call or a pin stays the same, byte for byte.
 */
public final class Translator {
	public static final class Options {
		/** Mark what is translated, so that programs can be translated against it. */
		public boolean library;
		/** For tests: every method may suspend, at random, at its entry. */
		public boolean chaos;
		/** For simulations: where a thread may lose its turn. */
		public SchedulingPoints.Level points = SchedulingPoints.Level.NONE;
		/** Which methods get a twin. */
		public Hot hot = Hot.of(System.getProperty("pico.hot", "direct"));
		/** Check each changed or added class file. */
		public boolean verify;
		/** Packages (a/b/c) all of whose methods are assumed to suspend. */
		public final Set<String> conservative = new HashSet<>();
		/** More replacement rules. */
		public final List<String> rules = new ArrayList<>();
		/** Most steps of the analysis. Beyond them a receiver may be of any class that fits. */
		public long budget = 600_000_000;
		/** Threads that write classes; the result is the same. */
		public int threads = Runtime.getRuntime().availableProcessors();
		/** Called with the progress, as text. */
		public Consumer<String> progress = s -> {};
	}

	private final Options options;
	private final Hierarchy hierarchy;
	private final Replacements replacements;
	private final SchedulingPoints points;
	private final List<ClassInfo> translated = new ArrayList<>();
	private final Large large = new Large();
	/* State of one pass. */
	private CallGraph graph;
	private Twins twins;
	/** The program changes the code of loaded classes (Mockito's inline mocks). */
	private boolean rewrites;
	private Report report = new Report();
	private final Map<String, byte[]> files = new LinkedHashMap<>();
	private final Map<String, ClassNode> nodes = new LinkedHashMap<>();
	private final Set<String> dirty = new HashSet<>();

	public Translator(Options options, Hierarchy.Finder libraries) {
		this.options = options;
		hierarchy = new Hierarchy(libraries);
		replacements = new Replacements(hierarchy);
		points = new SchedulingPoints(options.points);
		options.rules.forEach(replacements::read);
	}

	/** A translator with the translated classes of the libraries, and the rules of both. */
	static Translator over(ClassPath libraries, ClassPath program, Options options) {
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
		return t;
	}

	/**
	 * A translator with the program's classes, the libraries' (those of the pico packages count as
	 * translated) and their rules.
	 */
	public static Translator of(ClassPath program, ClassPath libraries, Options options) {
		Translator t = over(libraries, program, options);
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

	private final List<String> rules = new ArrayList<>();
	private Set<String> locks = Set.of();

	/** Adds the rules of a library: the text of its META-INF/pico/replace. */
	public void rules(String text) {
		rules.add(text);
		replacements.read(text);
	}

	/** Adds a class that is translated already or the runtime's: it may be called and stays. */
	public void library(byte[] file) {
		ClassInfo c = hierarchy.add(file, ClassInfo.Kind.TRANSLATED);
		translated.add(c);
		if (!ClassPath.isPico(c.name + ".class"))
			others.add(file);
	}

	/** Translated classes that are not of the pico packages. */
	private final List<byte[]> others = new ArrayList<>();

	/** Translated classes among the program's, which are part of the result unchanged. */
	private final Map<String, byte[]> asTheyAre = new LinkedHashMap<>();

	/** Adds a class of the program. */
	public void add(byte[] file) {
		ClassReader r = new ClassReader(file);
		if (files.putIfAbsent(r.getClassName(), file) != null)
			return;
		hierarchy.add(file, ClassInfo.Kind.PROGRAM);
	}

	/** Translates all that was added. Returns class files by name, new classes included. */
	public Map<String, byte[]> run() {
		Map<String, byte[]> out;
		others.forEach(replacements::uses);
		files.forEach((name, file) -> {
			if (!hierarchy.learn(file))
				guessed.add(name);
		});
		files.values().forEach(points::learn);
		do
			out = tryPass();
		while (out == null);
		out.putAll(asTheyAre);
		return out;
	}

	/** Classes that cannot be split, with the reasons: their methods pin. */
	private final Map<String, String> aside = new TreeMap<>();

	/**
	 * Classes that name missing classes without saying what those extend. If one cannot be analysed
	 * (Jython's copy of ASM, without its tree package), this is found before the whole analysis,
	 * not when all others are written.
	 */
	private final Set<String> guessed = new HashSet<>();

	/** Sets the class aside if it cannot be analysed. */
	private void look(ClassNode n) {
		try {
			for (MethodNode m : n.methods)
				if (m.instructions.size() > 0)
					Types.of(hierarchy, n.name, m);
		} catch (AnalyzerException | Types.Unreadable e) {
			aside.putIfAbsent(n.name, e.getMessage());
		}
	}

	private Map<String, byte[]> tryPass() {
		try {
			return pass();
		} catch (Types.Unreadable e) {
			if (!files.containsKey(e.owner) || aside.put(e.owner, e.getMessage()) != null)
				throw e;
			return null;
		}
	}

	/**
	 * Reads, analyses and writes. Null: another pass is needed, because a method became too large
	 * or a class cannot be written.
	 */
	private Map<String, byte[]> pass() {
		graph = new CallGraph(hierarchy);
		report = new Report();
		nodes.clear();
		dirty.clear();
		readAll();
		List<Lambdas.Lambda> lambdas = lambdas();
		if (options.chaos)
			whole().forEach(this::chaos);
		Map<String, ClassNode> all = calls(lambdas);
		findSuspending(all, lambdas);
		findLocks(all, lambdas);
		commit(lambdas);
		twins = new Twins(hierarchy);
		twins.choose(graph, rewrites ? options.hot.rewritten() : options.hot, large::isLarge);
		return write();
	}

	/** Reads the classes, and applies the rules and the scheduling points. */
	private void readAll() {
		options.progress.accept("reading " + files.size() + " classes");
		files.forEach((name, file) -> {
			report.before += file.length;
			report.classes++;
			hierarchy.add(file, ClassInfo.Kind.PROGRAM);
			ClassNode n = read(file);
			nodes.put(name, n);
			for (MethodNode m : n.methods) {
				if (Types.isHuge(m))
					aside.put(name, m.name + m.desc + " is too large");
				rewrites |= rewrites(m);
			}
			String sup = n.superName;
			if (points.insert(n) | replacements.apply(n))
				dirty.add(name);
			if (!java.util.Objects.equals(sup, n.superName))
				hierarchy.add(info(n));
			if (guessed.contains(name))
				look(n);
		});
	}

	private static boolean rewrites(MethodNode m) {
		for (AbstractInsnNode i : m.instructions)
			if (i instanceof MethodInsnNode
					&& ((MethodInsnNode) i).owner.equals("java/lang/instrument/Instrumentation")
					&& ((MethodInsnNode) i).name.equals("retransformClasses"))
				return true;
		return false;
	}

	/** Makes classes of lambdas, so that the call graph contains their methods. */
	private List<Lambdas.Lambda> lambdas() {
		List<Lambdas.Lambda> lambdas = new ArrayList<>();
		Lambdas maker = new Lambdas(hierarchy);
		for (ClassNode n : whole())
			for (Lambdas.Lambda l : maker.of(n)) {
				lambdas.add(l);
				if (l.accessor() != null) {
					n.methods.add(l.accessor());
					hierarchy.get(n.name).methods.put(l.accessor().name
						+ l.accessor().desc, l.accessor().access);
				}
			}
		return lambdas;
	}

	/** Builds the call graph. Returns the classes to write. */
	private Map<String, ClassNode> calls(List<Lambdas.Lambda> lambdas) {
		/* A library may get objects of classes that it does not use itself. */
		for (ClassInfo c : translated)
			if (options.library || replacements.isUsed(c.name))
				c.suspends.keySet().forEach(k -> graph.addRoot(c.name, k));
		for (ClassNode n : nodes.values()) {
			report.methods += n.methods.size();
			graph.addClass(n, options.conservative);
			for (MethodNode m : n.methods)
				if (aside.containsKey(n.name) || large.refused(n.name + '.' + m.name + m.desc))
					graph.node(n.name, m.name + m.desc).refuse();
		}
		for (Lambdas.Lambda l : lambdas) {
			hierarchy.add(info(l.node));
			graph.addClass(l.node, Set.of());
		}
		graph.initial(options.library);
		Map<String, ClassNode> all = new LinkedHashMap<>(nodes);
		all.keySet().removeAll(aside.keySet());
		lambdas.forEach(l -> all.put(l.node.name, l.node));
		return all;
	}

	/** Finds which methods each call may run, and so which may suspend. */
	private void findSuspending(Map<String, ClassNode> all, List<Lambdas.Lambda> lambdas) {
		/* A library calls methods of classes that do not exist yet. */
		if (options.library) {
			replacements.open().forEach(o -> graph.addRoot(o[0], o[1]));
			graph.settle(settled(all));
		} else {
			follow(all, lambdas);
		}
	}

	/**
	 * Finds which locks become ours. Such a lock may suspend, and so may its callers: repeats
	 * until nothing changes.
	 */
	private void findLocks(Map<String, ClassNode> all, List<Lambdas.Lambda> lambdas) {
		options.progress.accept("looking at locks");
		Locks locks = new Locks(hierarchy, graph, replacements, aside.keySet(),
			!options.library);
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
		this.locks = locks.ours();
		locks.converted().forEach(n -> dirty.add(n.owner.name));
		dirty.addAll(constructors.changed());
		dirty.addAll(callBacks.changed());
	}

	private Settled settled(Map<String, ClassNode> all) {
		try {
			return new Settled(hierarchy, all.values());
		} catch (AnalyzerException e) {
			throw new IllegalStateException(e);
		}
	}

	/** All classes that are not set aside. */
	private List<ClassNode> whole() {
		List<ClassNode> l = new ArrayList<>(nodes.values());
		l.removeIf(n -> aside.containsKey(n.name));
		return l;
	}

	/** Runs the flow analysis, if its budget suffices. */
	private void follow(Map<String, ClassNode> all, List<Lambdas.Lambda> lambdas) {
		Map<AbstractInsnNode, ClassNode> made = new IdentityHashMap<>();
		lambdas.forEach(l -> made.put(l.site, l.node));
		List<ClassNode> classes = new ArrayList<>(all.values());
		aside.keySet().forEach(k -> classes.add(nodes.get(k)));
		try {
			if (spent == null) {
				graph.follow(new Flow(hierarchy, classes, made, aside.keySet(),
					options.budget, options.progress));
				return;
			}
		} catch (Flow.TooMuch e) {
			spent = e.getMessage();
		} catch (OutOfMemoryError e) {
			spent = "the heap";
		}
		report.cut(spent);
	}

	/** The budget that the analysis exceeds; null if it does not. */
	private String spent;

	/** Methods that the JDK calls by reflection, without a bracket. */
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

	/** Keeps the classes of lambdas that suspend. */
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

	/** The result for one class. */
	private static final class Written {
		final Report report = new Report();
		/** Classes that must become public for it. */
		final Set<String> shown = new HashSet<>();
		byte[] file;
		byte[] companion;
		String companionName;
		Throwable failed;
	}

	private Map<String, byte[]> write() {
		for (CallGraph.Node n : graph.nodes())
			if (n.suspends())
				report.because(n.toString(), n.because());
		Map<String, byte[]> out = new LinkedHashMap<>();
		Set<String> shown = new HashSet<>();
		Set<String> left = Set.copyOf(aside.keySet());
		int threads = alone ? 1 : options.threads;
		again = false;
		int[] at = new int[1];
		Workers.inOrder(threads, nodes.values(), n -> left.contains(n.name) ? null : write(n),
			(n, w) -> {
				options.progress.accept("writing class " + ++at[0] + " of " + nodes.size());
				if (w == null)
					out.put(n.name, pinned(n.name));
				else if (w.failed == null)
					take(n, w, out, shown);
				else
					again(n, w.failed, threads);
			});
		shown.forEach(k -> out.computeIfPresent(k, this::open));
		return again ? null : out;
	}

	/** Another pass is needed. */
	private boolean again;
	/** Classes are written one by one, because the heap is too small for more. */
	private boolean alone;

	private void again(ClassNode n, Throwable failed, int threads) {
		again = true;
		if (failed instanceof OutOfMemoryError && threads > 1) {
			alone = true;
		} else if (failed instanceof MethodTooLargeException) {
			MethodTooLargeException e = (MethodTooLargeException) failed;
			if (!large.found(n.name, e.getMethodName(), e.getDescriptor()))
				leave(n.name, e);
		} else {
			leave(n.name, failed);
		}
	}

	private void take(ClassNode n, Written w, Map<String, byte[]> out, Set<String> shown) {
		report.add(w.report);
		shown.addAll(w.shown);
		out.put(n.name, w.file);
		if (w.companion != null)
			out.put(w.companionName, w.companion);
	}

	/** Runs on a worker. */
	private Written write(ClassNode n) {
		Written w = new Written();
		try {
			write(n, w);
		} catch (RuntimeException | OutOfMemoryError | StackOverflowError e) {
			w.failed = e;
			return w;
		}
		if (options.verify && w.report.changed > 0)
			Verifier.check(hierarchy, w.file);
		if (options.verify && w.companion != null)
			Verifier.check(hierarchy, w.companion);
		empty(n);
		return w;
	}

	private void write(ClassNode n, Written w) {
		ClassRewriter r = new ClassRewriter(n, hierarchy, graph, replacements, w.report,
			options.library, large, twins, w.shown);
		boolean changed = r.rewrite() | dirty.contains(n.name);
		byte[] old = files.get(n.name);
		if (changed && old != null) {
			keepSerialForm(n);
			if (!options.library && !large.isFull(n.name))
				Originals.of(old).record(n);
		}
		w.file = changed ? r.write(large.isFull(n.name) ? old : null) : old;
		w.report.after += w.file.length;
		if (changed) {
			w.report.changed++;
			huge(n.name, w.file, w.report);
		}
		w.companion = r.companion();
		w.companionName = r.companionName();
		if (w.companion != null) {
			w.report.after += w.companion.length;
			w.report.added++;
		}
	}

	/** Drops the code, which is written: the graph refers to the calls in it. */
	private static void empty(ClassNode n) {
		for (MethodNode m : n.methods) {
			while (m.instructions.size() > 0)
				m.instructions.remove(m.instructions.getFirst());
			m.tryCatchBlocks.clear();
			m.localVariables = null;
		}
	}

	/** Sets aside a class that cannot be written; throws if it is a library's. */
	private void leave(String name, Throwable why) {
		String by = name.contains("$$L") ? name.substring(0, name.indexOf("$$L")) : name;
		if (options.library || !files.containsKey(by)
				|| aside.put(by, String.valueOf(why)) != null)
			throw new IllegalStateException(name + ": " + why, why);
	}

	/** The original class with the rules applied and its methods pinned. */
	private byte[] pinned(String name) {
		report.refused(name, aside.get(name) + "; its methods pin");
		ClassNode n = new ClassNode(Opcodes.ASM9);
		new ClassReader(files.get(name)).accept(n, 0);
		byte[] b;
		try {
			replacements.apply(n);
			b = new Pinned(n, hierarchy, replacements, locks).write();
		} catch (AnalyzerException | RuntimeException e) {
			report.refused(name, e + "; a suspension in it fails as a lost frame");
			b = files.get(name);
		}
		report.after += b.length;
		report.changed++;
		return b;
	}

	/**
	 * Makes the class public. For a member class, reflection reads the InnerClasses attribute,
	 * which stays.
	 */
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

	private void huge(String name, byte[] file, Report report) {
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

	/**
	 * True if its serialVersionUID is computed from its members and its access. (A record's is 0.)
	 */
	private boolean hasDefaultForm(ClassNode n) {
		return (n.access & (Opcodes.ACC_INTERFACE | Opcodes.ACC_ENUM)) == 0
			&& !"java/lang/Record".equals(n.superName)
			&& hierarchy.isSubtype(n.name, "java/io/Serializable")
			&& n.fields.stream().noneMatch(f -> f.name.equals("serialVersionUID"));
	}

	/** New methods would change the default serialVersionUID: adds the old one as a field. */
	private void keepSerialForm(ClassNode n) {
		if (!hasDefaultForm(n))
			return;
		ClassNode old = new ClassNode(Opcodes.ASM9);
		new ClassReader(files.get(n.name)).accept(new SerialVersionUIDAdder(old),
			ClassReader.SKIP_FRAMES);
		old.fields.stream().filter(f -> f.name.equals("serialVersionUID")).forEach(f -> {
			f.access |= Opcodes.ACC_SYNTHETIC;
			n.fields.add(f);
		});
	}

	private ClassInfo info(ClassNode n) {
		ClassInfo c = new ClassInfo(n.name, n.superName, n.interfaces, n.access,
			ClassInfo.Kind.PROGRAM);
		n.methods.forEach(m -> c.methods.put(hierarchy.names().key(m.name, m.desc), m.access));
		return c;
	}

	private ClassNode read(byte[] file) {
		ClassNode n = new ClassNode(Opcodes.ASM9);
		ClassReader r = hierarchy.names().reader(file);
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

	/** All rules as one text. */
	public String rules() {
		return String.join("\n", rules) + '\n' + String.join("\n", options.rules);
	}

	/** The types whose locks are ours. */
	public Set<String> locks() {
		return locks;
	}

	/** For classes that the program makes at run time. */
	public Dynamic dynamic() {
		return new Dynamic(List.of(rules()), locks);
	}

	public Hierarchy hierarchy() {
		return hierarchy;
	}
}
