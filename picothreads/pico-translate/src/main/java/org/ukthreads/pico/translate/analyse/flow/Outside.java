// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse.flow;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.AnnotationNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * What untranslated code does with the program's objects, in Flow's variables:
 *
 *   told      what it was given, as an argument, as `this` of a superclass of its own, in a
 *             field of its own. It may pass any of that to any code, and calls whatever
 *             overrides a method that it knows. This models containers: what goes into one
 *             List comes out of any, filtered by the next cast
 *   lib       objects of translated libraries, which come out of their calls
 *   made      what reflection may make: any class of the program
 *   invoked, returned    arguments of reflective calls, and what public methods return
 *   put, got             the same for reflective access to fields
 *   swapped              the same for field updaters, which know volatile fields only
 *
 * The JDK is known not to scan the program for classes. Libraries that are neither the JDK's nor
 * translated may do so: a class that has an annotation, is named by a literal, or is made nowhere
 * in the program is then told, and is passed and stored by reflection, too.
 *
 * Assumed: the receiver only reads arrays that are passed or stored by reflection; fields of
 * deserialised objects hold what the program stored there.
 */
final class Outside {
	private final Flow flow;
	private final Solver solver;
	private final Universe universe;
	private final Hierarchy hierarchy;

	final int told;
	/** Objects whose methods it calls but that it need not pass on: see inherited(). */
	private final int known;
	private final int lib;
	private final int made;
	private final int strange;
	private final int invoked;
	private final int making;
	private final int receiving;
	private final int returned;
	private final int put;
	private final int got;
	private final int swapped;
	/** What synchronized wrappers, and collections of unknown libraries, may pass on. */
	private final int wrapped;

	/* What the program mentions. */
	private final Set<String> news = new HashSet<>();
	private final Set<String> marked = new HashSet<>();
	private final Set<String> names = new HashSet<>();
	/** Reflection lists the members of a class. */
	private boolean lists;
	/** Reflection also finds constructors that are not public. */
	private boolean declared;
	private boolean alien;
	private boolean returns;
	private boolean gets;
	private boolean swaps;

	private final List<Flow.Method> called = new ArrayList<>();
	private final List<Integer> fields = new ArrayList<>();
	private final List<Integer> volatiles = new ArrayList<>();
	private final List<Flow.Call> fresh = new ArrayList<>();
	private boolean invokes;
	private boolean makes;
	private boolean receives;
	private boolean puts;
	private boolean spoiled;

	Outside(Flow flow, Iterable<ClassNode> classes) {
		this.flow = flow;
		solver = flow.solver;
		universe = flow.universe;
		hierarchy = flow.hierarchy;
		told = solver.add(null);
		known = solver.add(null);
		lib = solver.add(null);
		made = solver.add(null);
		strange = solver.add(null);
		invoked = solver.add(null);
		making = solver.add(null);
		receiving = solver.add(null);
		returned = solver.add(null);
		put = solver.add(null);
		got = solver.add(null);
		swapped = solver.add(null);
		wrapped = solver.add(null);
		for (ClassNode c : classes)
			look(c);
	}

	/* --- what the program mentions --- */

	private void look(ClassNode c) {
		alien |= isAlien(c.superName);
		c.interfaces.forEach(i -> alien |= isAlien(i));
		boolean seen = annotated(c.visibleAnnotations);
		for (FieldNode f : c.fields)
			seen |= annotated(f.visibleAnnotations);
		for (MethodNode m : c.methods) {
			seen |= annotated(m.visibleAnnotations);
			for (AbstractInsnNode i : m.instructions)
				look(i);
		}
		if (seen)
			marked.add(c.name);
	}

	private boolean annotated(List<AnnotationNode> l) {
		if (l == null || l.isEmpty())
			return false;
		boolean any = false;
		for (AnnotationNode a : l) {
			String n = Type.getType(a.desc).getInternalName();
			alien |= isAlien(n);
			any |= !n.startsWith("java/lang/");
		}
		return any;
	}

	private void look(AbstractInsnNode i) {
		if (i.getOpcode() == Opcodes.NEW) {
			news.add(((TypeInsnNode) i).desc);
		} else if (i instanceof LdcInsnNode && ((LdcInsnNode) i).cst instanceof Type) {
			String base = ((Type) ((LdcInsnNode) i).cst).getSort() == Type.METHOD ? null
				: Universe.base((Type) ((LdcInsnNode) i).cst);
			if (base != null)
				marked.add(base);
		} else if (i instanceof LdcInsnNode && ((LdcInsnNode) i).cst instanceof String) {
			names.add((String) ((LdcInsnNode) i).cst);
		} else if (i instanceof MethodInsnNode) {
			String o = ((MethodInsnNode) i).owner;
			alien |= !o.startsWith("[") && isAlien(o);
			boolean any = isHandle(o);
			returns |= any || isInvoke((MethodInsnNode) i);
			gets |= any || o.equals("java/lang/reflect/Field");
			swaps |= isUpdater(o);
			declared |= ((MethodInsnNode) i).name.startsWith("getDeclaredConstructor");
			lists |= LISTS.contains(((MethodInsnNode) i).name)
				&& (o.equals("java/lang/Class") || o.equals("org/ukthreads/pico/Members"))
				|| o.startsWith("java/beans/");
		}
	}

	private static final Set<String> LISTS = Set.of("getMethods", "getDeclaredMethods",
		"getConstructors", "getDeclaredConstructors", "getFields", "getDeclaredFields",
		"getRecordComponents");

	/** True if reflection may list all members of this class. */
	private boolean isListed(String owner) {
		return lists || alien && (marked.contains(owner) || !news.contains(owner));
	}

	/**
	 * True if reflection may find this name: it lists all names, or a constant is the name or its
	 * beginning, as in "set" + property.
	 */
	private boolean isNamed(String owner, String name) {
		if (isListed(owner) || names.contains(name))
			return true;
		for (int k = 1; k < name.length(); k++)
			if (Character.isUpperCase(name.charAt(k)) && names.contains(name.substring(0, k)))
				return true;
		return false;
	}

	private static boolean isMakable(ClassInfo c) {
		for (Map.Entry<String, Integer> m : c.methods.entrySet())
			if (m.getKey().startsWith("<init>") && (m.getValue() & Opcodes.ACC_PUBLIC) != 0)
				return true;
		return false;
	}

	/** True if reflection may find this constructor by the types of its parameters. */
	private boolean isTyped(String owner, String desc) {
		for (Type t : Type.getArgumentTypes(desc))
			if (!isListed(owner) && t.getSort() >= Type.ARRAY
					&& !t.getDescriptor().startsWith("Ljava/lang/")
					&& Universe.base(t) != null && !marked.contains(Universe.base(t)))
				return false;
		return true;
	}

	private final Map<String, Boolean> aliens = new HashMap<>();

	/** True if it is neither the program's, nor translated, nor the JDK's. */
	private boolean isAlien(String name) {
		if (name == null || name.startsWith("java/"))
			return false;
		return aliens.computeIfAbsent(name, k -> {
			ClassInfo c = hierarchy.get(k);
			return (c == null || c.kind == ClassInfo.Kind.FOREIGN)
				&& Hierarchy.platform(k) == null;
		});
	}

	private static boolean isHandle(String owner) {
		return owner.startsWith("java/lang/invoke/") || owner.endsWith("/misc/Unsafe")
			|| owner.equals("org/ukthreads/pico/Handles");
	}

	private static boolean isInvoke(MethodInsnNode i) {
		return i.name.equals("invoke") && (i.owner.equals("java/lang/reflect/Method")
			|| i.owner.equals("org/ukthreads/pico/Reflect"));
	}

	private static boolean isMake(MethodInsnNode i) {
		return i.name.equals("newInstance") && (i.owner.equals("java/lang/Class")
			|| i.owner.equals("java/lang/reflect/Constructor"));
	}

	private static boolean isUpdater(String owner) {
		return owner.startsWith("java/util/concurrent/atomic/")
			&& owner.endsWith("FieldUpdater");
	}

	void field(String owner, FieldNode f, int v) {
		if (v < 0 || !isNamed(owner, f.name))
			return;
		fields.add(v);
		if ((f.access & Opcodes.ACC_VOLATILE) != 0)
			volatiles.add(v);
	}

	/** Reflection finds methods that are public or annotated, and any constructor. */
	void method(Flow.Method m) {
		if (m.node.name.equals("<init>") ? isTyped(m.owner.name, m.node.desc)
				: isNamed(m.owner.name, m.node.name)
				&& ((m.node.access & Opcodes.ACC_PUBLIC) != 0
				|| m.node.visibleAnnotations != null))
			called.add(m);
	}

	/* --- what it does by itself --- */

	void start() {
		for (int k = 0; k < universe.size(); k++) {
			ClassInfo c = universe.get(k);
			if (c.kind == ClassInfo.Kind.TRANSLATED) {
				solver.put(lib, k);
				if ((c.access & Opcodes.ACC_PUBLIC) != 0)
					solver.put(told, k);
				continue;
			}
			if (!c.name.contains("$$L") && (declared || isMakable(c)))
				solver.put(made, k);
			/* For Enum.valueOf, and for EnumMap's keys. */
			if (hierarchy.isSubtype(c.name, "java/lang/Enum"))
				solver.put(told, k);
			boolean nowhere = !news.contains(c.name) && !c.name.contains("$$L");
			if (nowhere)
				solver.put(strange, k);
			if (alien && (nowhere || marked.contains(c.name))) {
				solver.put(told, k);
				solver.put(invoked, k);
				solver.put(making, k);
				solver.put(receiving, k);
				solver.put(put, k);
			}
			/* Any object may be made into a string. */
			for (Flow.Method m : flow.methods(k, "toString()Ljava/lang/String;"))
				called(m, k);
		}
		solver.edge(told, strange);
		if (returns)
			for (Flow.Method m : called)
				flow.element(m.result, returned);
		if (gets)
			for (int f : fields)
				flow.element(f, got);
		if (swaps)
			for (int f : volatiles) {
				flow.element(swapped, f);
				flow.element(f, swapped);
			}
		solver.edge(told, known);
		solver.listen(known, k -> {
			if (k == universe.stranger())
				return;
			for (String key : universe.known(k))
				for (Flow.Method m : flow.methods(k, key))
					called(m, k);
		});
	}

	/**
	 * A library returns what it makes by its type: newThread(Runnable), submit's Future. What it
	 * returns as an Object came from the program.
	 */
	private static boolean isTold(Type t) {
		return !t.getDescriptor().equals("Ljava/lang/Object;");
	}

	/** The outside calls a method that it knows on an object of class k. */
	private void called(Flow.Method m, int k) {
		solver.put(m.self, k);
		m.root = true;
		Type[] types = Type.getArgumentTypes(m.node.desc);
		for (int n = 0; n < types.length; n++) {
			flow.flow(told, m.parameters[n]);
			if (isTold(types[n]))
				flow.flow(lib, m.parameters[n]);
		}
		flow.flow(m.result, told);
	}

	/** No known call runs this method. */
	void calls(Flow.Method m) {
		m.root = true;
		for (int p : m.parameters)
			flow.flow(strange, p);
		flow.flow(m.result, told);
		if (m.self < 0)
			return;
		BitSet all = universe.cone(m.owner.name);
		boolean any = m.node.name.equals("<init>")
			|| (m.node.access & Opcodes.ACC_PRIVATE) != 0;
		for (int k = all.nextSetBit(0); k >= 0 && k < universe.size(); k = all.nextSetBit(k + 1))
			if (any || universe.find(k, m.key).contains(m.owner))
				solver.put(m.self, k);
	}

	private void pass(int from, Flow.Method m, boolean constructors) {
		if (m.node.name.equals("<init>") == constructors)
			for (int p : m.parameters)
				flow.element(from, p);
	}

	/** At the fixpoint: adds edges that are needed after all; true: solve again. */
	boolean settle() {
		boolean any = false;
		if (!invokes && !solver.isEmpty(invoked)) {
			invokes = true;
			any = true;
			for (Flow.Method m : called)
				pass(invoked, m, false);
		}
		if (!makes && !solver.isEmpty(making)) {
			makes = true;
			any = true;
			for (Flow.Method m : called)
				pass(making, m, true);
		}
		if (!receives && !solver.isEmpty(receiving)) {
			receives = true;
			any = true;
			for (Flow.Method m : called)
				if (m.self >= 0) {
					flow.flow(receiving, m.self);
					m.root = true;
				}
		}
		if (!puts && !solver.isEmpty(put)) {
			puts = true;
			any = true;
			for (int f : fields)
				flow.element(put, f);
		}
		if (!spoiled && holdsIterator()) {
			spoiled = true;
			any = true;
			for (Flow.Call c : fresh)
				flow.flow(told, c.result);
		}
		return any;
	}

	/** True if a wrapped collection may be ours, with its own iterator. */
	private boolean holdsIterator() {
		for (String t : List.of("java/lang/Iterable", "java/util/Iterator", "java/util/Map"))
			if (solver.meets(wrapped, universe.cone(t)))
				return true;
		return false;
	}

	/* --- calls --- */

	/** True if the receiver may be an object of the outside. */
	boolean mayReceive(Flow.Call c) {
		ClassInfo o = hierarchy.get(c.insn.owner);
		if (o == null || o.kind != ClassInfo.Kind.PROGRAM)
			return true;
		return (o.access & Opcodes.ACC_ANNOTATION) != 0;
	}

	/** The receiver may be of an unknown class: a plug-in, a proxy. */
	void stranger(Flow.Call c) {
		called(c, -1);
		flow.flow(made, c.result);
		handsStranger(c);
	}

	private void handsStranger(Flow.Call c) {
		if (c.result >= 0)
			solver.put(c.result, universe.stranger());
	}

	/** The call runs code of the outside, on an object of class k if k is not below 0. */
	void called(Flow.Call c, int k) {
		if (!c.library && k >= 0 && universe.get(k).kind == ClassInfo.Kind.TRANSLATED)
			library(c);
		if (c.outside)
			return;
		c.outside = true;
		ClassInfo o = hierarchy.get(c.insn.owner);
		if (!c.library && o != null && o.kind == ClassInfo.Kind.TRANSLATED)
			library(c);
		/* Arrays of arguments are only read. */
		if (isInvoke(c.insn) || isMake(c.insn) || isReader(c.insn))
			pass(c, told);
		else
			for (int[] a : c.args)
				flow.flow(a, told);
		if (isFresh(hierarchy, c.insn) && !spoiled)
			fresh.add(c);
		else
			flow.flow(told, c.result);
		reflection(c);
	}

	private void library(Flow.Call c) {
		c.library = true;
		if (isTold(Type.getReturnType(c.insn.desc)))
			flow.flow(lib, c.result);
	}

	/**
	 * The call runs a method of the outside on one of our objects (of class k; if below 0, the
	 * receiver). Methods of collections, streams and exceptions call its methods and may return it,
	 * but do not pass it on.
	 */
	void inherited(Flow.Call c, ClassInfo from, int k) {
		if (from.name.equals("java/lang/Object"))
			return;
		int to = keeping.computeIfAbsent(from.name, this::keeps) ? told : known;
		if (k >= 0) {
			solver.put(to, k);
			if (c.result >= 0)
				solver.put(c.result, k);
			return;
		}
		flow.flow(c.receiver, to);
		flow.flow(c.receiver, c.result);
	}

	private final Map<String, Boolean> keeping = new HashMap<>();

	private boolean keeps(String from) {
		return !from.matches("java/(util|io|util/concurrent)/[A-Z][^/]*")
			&& !hierarchy.isSubtype(from, "java/lang/Throwable")
			&& !from.equals("java/lang/Enum") && !from.equals("java/lang/Number")
			&& !from.equals("java/lang/Record");
	}

	private void reflection(Flow.Call c) {
		String o = c.insn.owner;
		boolean all = isHandle(o) || isAlien(o);
		if (isInvoke(c.insn)) {
			pass(c.args[c.args.length - 1], invoked);
			pass(c.args[c.args.length - 2], receiving);
			flow.flow(returned, c.result);
		}
		if (all) {
			pass(c, invoked);
			pass(c, making);
			pass(c, receiving);
			flow.flow(returned, c.result);
		}
		if (all || o.equals("java/lang/reflect/Field")) {
			pass(c, put);
			flow.flow(got, c.result);
		}
		if (isUpdater(o)) {
			pass(c, swapped);
			flow.flow(swapped, c.result);
		}
		if (isMake(c.insn)) {
			pass(c, making);
			flow.flow(made, c.result);
		}
		if (all || o.startsWith("java/io/ObjectInput") || !isPlain(o))
			flow.flow(made, c.result);
		if (all || isMake(c.insn) || o.equals("java/lang/reflect/Proxy"))
			handsStranger(c);
		if (o.equals("java/util/ServiceLoader")) {
			solver.edge(made, told);
			solver.put(told, universe.stranger());
		}
		if (isAlien(o) || (o.equals("java/util/Collections") || o.equals(WRAPPERS))
				&& c.insn.name.startsWith("synchronized"))
			wraps(c);
	}

	/** True if it takes the elements of an array, and not the array. */
	private static boolean isReader(MethodInsnNode i) {
		switch (i.owner) {
		case "java/lang/String": case "java/text/MessageFormat":
			return i.name.equals("format");
		case "java/util/List": case "java/util/Set": case "java/util/stream/Stream":
			return i.name.equals("of");
		case "java/util/Collections":
			return i.name.equals("addAll");
		case "java/util/Arrays":
			return i.name.endsWith("toString") || i.name.endsWith("equals")
				|| i.name.endsWith("ashCode") || i.name.equals("stream");
		default:
			return false;
		}
	}

	private void pass(Flow.Call c, int to) {
		for (int[] a : c.args)
			pass(a, to);
	}

	private static final Pattern COLLECTION
		= Pattern.compile("Ljava/(util/[A-Z]\\w*|lang/Iterable);");

	/** Its arguments that are collections. */
	private void wraps(Flow.Call c) {
		Type[] types = Type.getArgumentTypes(c.insn.desc);
		for (int k = 0; k < types.length; k++)
			if (COLLECTION.matcher(types[k].getDescriptor()).matches())
				pass(c.args[k], wrapped);
	}

	private void pass(int[] from, int to) {
		for (int v : from)
			solver.edge(v, to);
	}

	/** Our versions of the wrappers of Collections. */
	private static final String WRAPPERS = "org/ukthreads/pico/juc/Synchronized";

	private static final String[] PLAIN = {"lang", "util", "io", "nio", "net", "math", "text",
		"time", "security", "sql"};

	/** True for a part of the JDK that makes no objects by name. */
	private boolean isPlain(String owner) {
		for (String p : PLAIN)
			if (owner.startsWith("java/" + p + "/"))
				return true;
		ClassInfo c = hierarchy.get(owner);
		return c != null && c.kind != ClassInfo.Kind.FOREIGN;
	}

	private static final Set<String> FRESH = Set.of("iterator", "listIterator",
		"descendingIterator", "spliterator", "entrySet", "keySet", "values", "keys", "elements",
		"descendingMap", "descendingSet", "descendingKeySet", "navigableKeySet", "subList",
		"stream");

	/**
	 * True if the result is a new object of the JDK's, whatever the call got; not for a
	 * synchronized wrapper, whose iterator is that of the wrapped collection.
	 */
	static boolean isFresh(Hierarchy h, MethodInsnNode call) {
		if (!FRESH.contains(call.name))
			return false;
		ClassInfo o = h.resolve(call.owner, call.name + call.desc);
		return o != null && (o.name.startsWith("java/util/")
			|| o.name.equals("java/lang/Iterable"));
	}

	/** True for calls that keep nothing, or only pass on what they got. */
	boolean isKnown(Flow.Call c) {
		switch (c.insn.owner) {
		case "java/lang/String": case "java/lang/StringBuilder": case "java/lang/StringBuffer":
			return c.insn.name.equals("valueOf") || c.insn.name.equals("append")
				|| c.insn.name.equals("insert");
		case "java/lang/System":
			if (!c.insn.name.equals("arraycopy"))
				return false;
			flow.elements(c.args[0], c.args[2]);
			return true;
		case "java/util/Arrays":
			if (!c.insn.name.startsWith("copyOf") || c.result < 0)
				return false;
			flow.elements(c.args[0], new int[] {c.result});
			return true;
		case "org/ukthreads/pico/Members":
			return c.insn.name.equals("getClass");
		case "java/lang/reflect/Array":
			return c.insn.name.equals("newInstance");
		case "java/util/Objects":
			if (!c.insn.name.equals("requireNonNull"))
				return false;
			flow.flow(c.args[0], c.result);
			if (c.args.length > 1)
				flow.flow(c.args[1], told);
			return true;
		case "java/lang/Object":
			if (!c.key.equals("clone()Ljava/lang/Object;"))
				return false;
			flow.flow(c.receiver, c.result);
			return c.insn.getOpcode() == Opcodes.INVOKESPECIAL;
		default:
			return false;
		}
	}
}
