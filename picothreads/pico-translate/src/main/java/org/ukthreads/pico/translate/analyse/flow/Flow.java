// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse.flow;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.MultiANewArrayInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.Frame;
import org.ukthreads.pico.translate.analyse.Types;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Which classes the objects of each variable may have, and so which methods a virtual call may
 * run. Class-hierarchy analysis says that `it.next()` runs the next() of every class; this analysis
 * says that the iterator of an ArrayList is the JDK's.
 *
 * Variables are fields, parameters, results, and values that an instruction makes. Each has one
 * set for all calls (no contexts). Sets hold only classes of the program and of translated
 * libraries: calls of objects of other classes run no code of ours.
 *
 *   new C            {C}
 *   x = y            y --> x, filtered by what x can hold by its type
 *   x.m(y)           for each class in x that m's owner may be: y --> its m's parameter,
 *                    the class itself --> its m's this, its m's result --> the call's
 *   arrays           an array's variable holds what its elements may be; edges between
 *                    arrays go both ways. An array that is kept as an Object leaks: its
 *                    elements go to the outside and come from there
 *   the outside      see Outside: untranslated code may pass on whatever it gets
 *
 * A call that finds many methods (a visitor's, an interpreter's), or meets an unknown class, goes
 * through a hub, which calls of the same type and name share: each call is linked to the hub, and
 * the hub to each method. Without hubs a program of 10,000 classes had a hundred million edges.
 *
 * The budget limits steps and memory; beyond it the analysis is given up (TooMuch). A method that
 * cannot be followed (its class is not split) is assumed to do anything with what it names.
 *
 * Nothing is assumed to be unreachable. A method that no call reaches (the outside calls it by
 * name, or the program is a library) gets whatever the outside may have.
 */
public final class Flow {
	/** A method and its variables. A variable below 0 can hold no object of ours. */
	static final class Method {
		final ClassInfo owner;
		final String key;
		final MethodNode node;
		final int[] parameters;
		/** Variables of the parameters, by local. */
		final int[] locals;
		int self = -1;
		int result = -1;
		/** Methods that its calls may run. */
		Set<Method> calls = Set.of();
		/** Called from outside, or by no call that is known. */
		boolean root;
		/** Reached from a root. */
		boolean reached;

		/** For a hub: calls what the hub finds. */
		Method() {
			owner = null;
			node = null;
			key = null;
			parameters = null;
			locals = null;
		}

		Method(ClassInfo owner, MethodNode node, String key, int n) {
			this.owner = owner;
			this.node = node;
			this.key = key;
			parameters = new int[n];
			locals = new int[Type.getArgumentsAndReturnSizes(node.desc) >> 2];
		}

		void runs(Method m) {
			calls = with(calls, m);
		}

		boolean isStatic() {
			return (node.access & Opcodes.ACC_STATIC) != 0;
		}
	}

	/** A call with the sources of its receiver and arguments. */
	static final class Call {
		final Method in;
		final MethodInsnNode insn;
		final String key;
		final int[] receiver;
		final int[][] args;
		final int result;
		/** Classes whose methods it may run. */
		Set<String> targets = Set.of();
		/** It may run code of the outside, and of a library (which also returns what it makes). */
		boolean outside;
		boolean library;
		/**
		 * From a class that it met to the program's method there; NONE if it has none of that name.
		 */
		private Map<ClassInfo, Method> met = Map.of();
		/** Set when it has found MANY methods, or a stranger: the hub then takes its place. */
		private Call hub;
		private Map<Integer, List<ClassInfo>> found;

		Call(Method in, MethodInsnNode insn, String key, int[] receiver, int[][] args,
				int result) {
			this.in = in;
			this.insn = insn;
			this.key = key;
			this.receiver = receiver;
			this.args = args;
			this.result = result;
		}

		void mayRun(ClassInfo of) {
			targets = with(targets, of.name);
		}

		private void meets(ClassInfo t, Method m) {
			if (met.isEmpty())
				met = new HashMap<>(2);
			met.put(t, m);
		}

		/** The hub takes over. */
		private void leaveTo(Call h) {
			hub = h;
			met = Map.of();
			targets = Set.of();
		}
	}

	/** Returns s with x added, perhaps as a new set: most have at most one member. */
	private static <T> Set<T> with(Set<T> s, T x) {
		if (s.isEmpty())
			return Set.of(x);
		if (s.size() > 1) {
			s.add(x);
			return s;
		}
		if (s.contains(x))
			return s;
		Set<T> more = new HashSet<>(s);
		more.add(x);
		return more;
	}

	private Call callOf(Method in, MethodInsnNode i, int[] receiver, int[][] args, int result) {
		return new Call(in, i, hierarchy.names().key(i.name, i.desc), receiver, args, result);
	}

	/** The analysis would exceed its budget of steps or memory. */
	public static final class TooMuch extends RuntimeException {
		TooMuch(String what) {
			super(what, null, false, false);
		}
	}

	final Hierarchy hierarchy;
	final Universe universe;
	Solver solver;
	/** Calls that have met a class: part of the budget, as are the solver's steps. */
	private long steps;
	private final Consumer<String> progress;
	private Outside outside;
	private final List<Method> all = new ArrayList<>();
	/** By name+desc, then by class. */
	private final Map<String, Map<String, Method>> methods = new HashMap<>();
	private final Map<MethodInsnNode, Call> calls = new IdentityHashMap<>();
	/** Name+desc to the methods with such a call. */
	private final Map<String, Set<Method>> callers = new HashMap<>();
	private final Map<AbstractInsnNode, ClassNode> lambdas;
	/** Variables of the program's fields, by owner.name. */
	private final Map<String, Integer> fields = new HashMap<>();
	/** Dimensions of the variables that are arrays. */
	private final Map<Integer, Integer> arrays = new HashMap<>();

	/**
	 * @param classes the program's, including those of its lambdas
	 * @param lambdas invokedynamic to the class with its method `make`
	 * @param aside   classes whose code is not followed
	 * @param budget  steps
	 */
	public Flow(Hierarchy h, Collection<ClassNode> classes,
			Map<AbstractInsnNode, ClassNode> lambdas, Set<String> aside, long budget,
			Consumer<String> progress) {
		solver = new Solver(budget);
		this.progress = progress;
		hierarchy = h;
		this.lambdas = lambdas;
		universe = new Universe(h);
		outside = new Outside(this, classes);
		for (ClassNode c : classes) {
			for (FieldNode f : c.fields)
				outside.field(c.name, f, field(c.name + '.' + f.name, f.desc));
			for (MethodNode m : c.methods)
				outside.method(declare(c, m));
		}
		int n = 0;
		for (ClassNode c : classes) {
			progress.accept("following class " + ++n + " of " + classes.size());
			for (MethodNode m : c.methods)
				if (m.instructions.size() > 0 && aside.contains(c.name))
					blind(method(c.name, m.name + m.desc));
				else if (m.instructions.size() > 0)
					read(c, method(c.name, m.name + m.desc));
		}
		outside.start();
		solve();
		/* Only `calls` is needed from here on. */
		solver = null;
		outside = null;
	}

	/** Not followed: it passes on what it names, and calls with any objects of the outside. */
	private void blind(Method m) {
		outside.calls(m);
		flow(outside.told, m.result);
		for (int p : m.parameters)
			flow(p, outside.told);
		for (AbstractInsnNode i : m.node.instructions) {
			if (i.getOpcode() == Opcodes.NEW) {
				int k = universe.of(((TypeInsnNode) i).desc);
				if (k >= 0)
					solver.put(outside.told, k);
			} else if (i instanceof FieldInsnNode) {
				int v = resolve((FieldInsnNode) i);
				if (v != OUTSIDE) {
					flow(v, outside.told);
					flow(outside.told, v);
				}
			} else if (i instanceof MethodInsnNode) {
				blindly(m, (MethodInsnNode) i);
			}
		}
	}

	private void blindly(Method in, MethodInsnNode i) {
		if (i.owner.startsWith("["))
			return;
		Type[] types = Type.getArgumentTypes(i.desc);
		int[][] args = new int[types.length][];
		for (int k = 0; k < args.length; k++)
			args[k] = told(types[k]);
		int[] on = i.getOpcode() == Opcodes.INVOKESTATIC ? new int[0]
			: told(Type.getObjectType(i.owner));
		int result = variable(Type.getReturnType(i.desc));
		flow(result, outside.told);
		resolved(callOf(in, i, on, args, result));
	}

	/** A new variable of the outside's objects of this type. */
	private int[] told(Type t) {
		int v = variable(t);
		flow(outside.told, v);
		return v < 0 ? new int[0] : new int[] {v};
	}

	/** The classes whose methods a call may run; null if unknown. */
	public Set<String> targets(MethodInsnNode call) {
		Call c = calls.get(call);
		return c == null ? null : c.hub != null ? c.hub.targets : c.targets;
	}

	/** `to` is a copy of the call `from`. */
	public void copied(MethodInsnNode from, MethodInsnNode to) {
		if (calls.containsKey(from))
			calls.put(to, calls.get(from));
	}

	/** `to` also takes the place of `from`. */
	public void joined(MethodInsnNode from, MethodInsnNode to) {
		Call a = calls.remove(to);
		Set<String> more = targets(from);
		if (a == null || more == null)
			return;
		Call c = callOf(a.in, to, a.receiver, a.args, a.result);
		c.targets = new HashSet<>(a.hub != null ? a.hub.targets : a.targets);
		c.targets.addAll(more);
		calls.put(to, c);
	}

	/**
	 * Solves with the methods that no call of the program names as entries; then again with those
	 * that are still not reached (methods that only call each other).
	 */
	private void solve() {
		for (Method m : all)
			if (m.node.name.equals("<clinit>") || !isNamed(m))
				outside.calls(m);
		boolean any = true;
		while (any) {
			do
				while (!solver.run(1 << 20))
					step();
			while (outside.settle());
			solver.check(steps);
			reach();
			any = false;
			for (Method m : all)
				if (!m.reached) {
					outside.calls(m);
					any = true;
				}
		}
	}

	private void step() {
		progress.accept("following calls, " + (solver.steps() + steps) / 1_000_000
			+ " million steps");
		solver.check(steps);
	}

	private boolean isNamed(Method m) {
		Set<Method> by = callers.getOrDefault(m.key, Set.of());
		return by.size() > 1 || by.size() == 1 && !by.contains(m)
			|| m.owner.name.contains("$$L");
	}

	/** Marks what the roots reach, adding to the marks there are. */
	private void reach() {
		ArrayDeque<Method> work = new ArrayDeque<>();
		for (Method m : all)
			if (m.root || m.reached) {
				m.reached = true;
				work.add(m);
			}
		for (Call h : hubs.values())
			if (h.in.reached)
				work.add(h.in);
		Method m;
		while ((m = work.poll()) != null)
			for (Method t : m.calls)
				if (!t.reached) {
					t.reached = true;
					work.add(t);
				}
	}

	/* --- variables --- */

	/** A new variable of this type; below 0 if it can hold no object of ours. */
	int variable(Type t) {
		String base = Universe.base(t);
		if (base == null || universe.cone(base).isEmpty())
			return -1;
		int v = solver.add(base.equals("java/lang/Object") ? null : universe.cone(base));
		if (t.getSort() == Type.ARRAY)
			arrays.put(v, t.getDimensions());
		return v;
	}

	private int field(String name, String desc) {
		return fields.computeIfAbsent(name, k -> variable(Type.getType(desc)));
	}

	private Method declare(ClassNode c, MethodNode m) {
		Type[] args = Type.getArgumentTypes(m.desc);
		Method r = new Method(hierarchy.get(c.name), m,
			hierarchy.names().key(m.name, m.desc), args.length);
		int local = 0;
		if (!r.isStatic()) {
			r.self = solver.add(universe.cone(c.name));
			r.locals[local++] = r.self;
		}
		for (int k = 0; k < args.length; k++) {
			r.parameters[k] = variable(args[k]);
			r.locals[local] = r.parameters[k];
			local += args[k].getSize();
		}
		r.result = variable(Type.getReturnType(m.desc));
		all.add(r);
		methods.computeIfAbsent(r.key, k -> new HashMap<>(2)).put(c.name, r);
		return r;
	}

	/** Whatever a holds, b may hold. */
	void flow(int a, int b) {
		if (a < 0 || b < 0 || a == b)
			return;
		boolean x = arrays.containsKey(a);
		boolean y = arrays.containsKey(b);
		if (x && y) {
			solver.edge(a, b);
			solver.edge(b, a);
		} else if (x) {
			solver.edge(a, outside.told);
			solver.edge(outside.told, a);
		} else if (y) {
			solver.edge(a, b);
			solver.edge(b, outside.told);
			solver.edge(outside.told, b);
		} else {
			solver.edge(a, b);
		}
	}

	void flow(int[] from, int b) {
		for (int a : from)
			flow(a, b);
	}

	/** As flow, but for an array's elements only. */
	void element(int a, int b) {
		if (a >= 0 && b >= 0)
			solver.edge(a, b);
	}

	/* --- a method's body --- */

	private final class Body implements Sources.Maker {
		final Method method;
		final Map<Object, Integer> made = new IdentityHashMap<>();

		Body(Method m) {
			method = m;
		}

		@Override
		public int make(AbstractInsnNode i) {
			return made.computeIfAbsent(i, k -> variable(i));
		}

		private int variable(AbstractInsnNode i) {
			if (i instanceof FieldInsnNode)
				return read((FieldInsnNode) i);
			if (i instanceof MethodInsnNode)
				return ofCall((MethodInsnNode) i);
			if (i instanceof InvokeDynamicInsnNode)
				return Flow.this.variable(Type.getReturnType(((InvokeDynamicInsnNode) i).desc));
			if (i instanceof MultiANewArrayInsnNode)
				return Flow.this.variable(Type.getType(((MultiANewArrayInsnNode) i).desc));
			if (i.getOpcode() == Opcodes.AALOAD)
				return solver.add(null);
			Type t = Type.getObjectType(((TypeInsnNode) i).desc);
			if (i.getOpcode() == Opcodes.ANEWARRAY)
				return Flow.this.variable(Type.getType("[" + t.getDescriptor()));
			int v = Flow.this.variable(t);
			if (v >= 0 && i.getOpcode() == Opcodes.NEW && universe.of(t.getInternalName()) >= 0)
				solver.put(v, universe.of(t.getInternalName()));
			return v;
		}

		private int ofCall(MethodInsnNode c) {
			/* A clone of an array has the same elements. */
			if (c.owner.startsWith("["))
				return c.name.equals("clone") ? Flow.this.variable(Type.getObjectType(c.owner))
					: -1;
			return Flow.this.variable(Type.getReturnType(c.desc));
		}

		private int read(FieldInsnNode i) {
			int f = resolve(i);
			if (f != OUTSIDE)
				return f;
			int v = Flow.this.variable(Type.getType(i.desc));
			flow(outside.told, v);
			return v;
		}

		@Override
		public int parameter(int local) {
			return method.locals[local];
		}

		@Override
		public int caught(TryCatchBlockNode b) {
			return made.computeIfAbsent(b, k -> {
				int v = Flow.this.variable(Type.getObjectType(b.type == null
					? "java/lang/Throwable" : b.type));
				flow(outside.told, v);
				return v;
			});
		}

		@Override
		public int join() {
			return solver.add(null);
		}

		@Override
		public void joins(int from, int to) {
			if (arrays.containsKey(from))
				flow(from, to);
			else
				solver.edge(from, to);
		}
	}

	private static final int OUTSIDE = -2;

	/** The field's variable; OUTSIDE if it is not the program's. */
	private int resolve(FieldInsnNode i) {
		for (ClassInfo c = hierarchy.get(i.owner); c != null
				&& c.kind == ClassInfo.Kind.PROGRAM;
				c = c.superName == null ? null : hierarchy.get(c.superName)) {
			Integer v = fields.get(c.name + '.' + i.name);
			if (v != null)
				return v;
			for (String s : c.interfaces) {
				v = fields.get(s + '.' + i.name);
				if (v != null)
					return v;
			}
		}
		for (String s : hierarchy.supers(i.owner))
			if (fields.containsKey(s + '.' + i.name))
				return fields.get(s + '.' + i.name);
		return OUTSIDE;
	}

	private void read(ClassNode c, Method m) {
		Body body = new Body(m);
		Frame<Sources.V>[] fs;
		try {
			fs = Sources.analyzer(body).analyzeAndComputeMaxs(c.name, m.node);
		} catch (AnalyzerException | RuntimeException e) {
			throw new Types.Unreadable(c.name, m.key + ": " + e.getMessage(), e);
		}
		boolean again = true;
		while (again) {
			again = false;
			for (int k = 0; k < fs.length; k++)
				if (fs[k] != null && m.node.instructions.get(k).getOpcode() == Opcodes.AALOAD)
					for (int a : top(fs[k], 1))
						if (dimensions(a) > 1)
							again |= arrays.putIfAbsent(body.make(m.node.instructions.get(k)),
								dimensions(a) - 1) == null;
		}
		for (int k = 0; k < fs.length; k++)
			if (fs[k] != null)
				read(body, m.node.instructions.get(k), fs[k]);
	}

	private int dimensions(int v) {
		return arrays.getOrDefault(v, 0);
	}

	private static int[] top(Frame<Sources.V> f, int depth) {
		return f.getStack(f.getStackSize() - 1 - depth).from;
	}

	private void read(Body body, AbstractInsnNode i, Frame<Sources.V> f) {
		switch (i.getOpcode()) {
		case Opcodes.CHECKCAST:
			flow(top(f, 0), body.make(i));
			break;
		case Opcodes.PUTFIELD: case Opcodes.PUTSTATIC: {
			int v = resolve((FieldInsnNode) i);
			flow(top(f, 0), v == OUTSIDE ? outside.told : v);
			break;
		}
		case Opcodes.AALOAD:
			for (int a : top(f, 1))
				if (dimensions(a) > 1)
					flow(a, body.make(i));
				else
					element(a, body.make(i));
			break;
		case Opcodes.AASTORE:
			for (int a : top(f, 2))
				for (int v : top(f, 0))
					store(v, a);
			break;
		case Opcodes.ARETURN:
			flow(top(f, 0), body.method.result);
			break;
		case Opcodes.ATHROW:
			flow(top(f, 0), outside.told);
			break;
		case Opcodes.INVOKEDYNAMIC:
			dynamic(body, (InvokeDynamicInsnNode) i, f);
			break;
		case Opcodes.INVOKEVIRTUAL: case Opcodes.INVOKEINTERFACE: case Opcodes.INVOKESPECIAL:
		case Opcodes.INVOKESTATIC:
			call(body, (MethodInsnNode) i, f);
			break;
		default:
			break;
		}
	}

	private void store(int v, int a) {
		if (!arrays.containsKey(v)) {
			element(v, a);
			return;
		}
		flow(v, a);
		/* The array is kept as an Object. */
		if (dimensions(a) < 2)
			flow(v, outside.told);
	}

	private void dynamic(Body body, InvokeDynamicInsnNode i, Frame<Sources.V> f) {
		Type[] types = Type.getArgumentTypes(i.desc);
		ClassNode lambda = lambdas.get(i);
		Method make = lambda == null ? null : method(lambda.name, "make" + i.desc);
		int result = body.make(i);
		for (int k = 0; k < types.length; k++) {
			int[] from = top(f, types.length - 1 - k);
			if (make != null)
				flow(from, make.parameters[k]);
			else if (!i.bsm.getOwner().equals("java/lang/invoke/StringConcatFactory"))
				flow(from, outside.told);
		}
		/* equals, hashCode and toString of a record call those of its fields. */
		for (Object a : i.bsmArgs)
			if (a instanceof Handle && ((Handle) a).getTag() == Opcodes.H_GETFIELD)
				flow(fields.getOrDefault(((Handle) a).getOwner() + '.'
					+ ((Handle) a).getName(), -1), outside.told);
		if (make != null) {
			body.method.runs(make);
			flow(make.result, result);
		} else {
			flow(outside.told, result);
		}
	}

	/* --- calls --- */

	private void call(Body body, MethodInsnNode i, Frame<Sources.V> f) {
		Type[] types = Type.getArgumentTypes(i.desc);
		boolean on = i.getOpcode() != Opcodes.INVOKESTATIC;
		int[][] args = new int[types.length][];
		for (int k = 0; k < types.length; k++)
			args[k] = top(f, types.length - 1 - k);
		int[] receiver = on ? top(f, types.length) : new int[0];
		int result = Type.getReturnType(i.desc).getSort() < Type.ARRAY ? -1 : body.make(i);
		Call c = callOf(body.method, i, receiver, args, result);
		if (outside.isKnown(c))
			return;
		if (i.owner.startsWith("[")) {
			flow(receiver, result);
			return;
		}
		resolved(c);
	}

	private void resolved(Call c) {
		MethodInsnNode i = c.insn;
		calls.put(i, c);
		callers.computeIfAbsent(c.key, k -> new HashSet<>(2)).add(c.in);
		if (i.getOpcode() == Opcodes.INVOKESTATIC || i.getOpcode() == Opcodes.INVOKESPECIAL) {
			exact(c);
			return;
		}
		ClassInfo named = hierarchy.resolve(i.owner, c.key);
		int access = named == null ? Opcodes.ACC_PUBLIC : named.methods.get(c.key);
		if ((access & Opcodes.ACC_PRIVATE) != 0) {
			exact(c);
			return;
		}
		/* Package-private: a method of the same name in another package does not override it. */
		if ((access & (Opcodes.ACC_PUBLIC | Opcodes.ACC_PROTECTED)) == 0)
			exact(c);
		if (outside.mayReceive(c))
			outside.called(c, -1);
		BitSet cone = universe.cone(i.owner);
		if (!cone.isEmpty())
			for (int r : c.receiver)
				solver.listen(r, k -> {
					if (cone.get(k))
						dispatch(c, k);
				});
	}

	/** The call finds its method without the object's class. */
	private void exact(Call c) {
		ClassInfo t = hierarchy.resolve(c.insn.owner, c.key);
		if (t != null)
			c.mayRun(t);
		Method m = t == null ? null : method(t.name, c.key);
		if (m == null) {
			outside.called(c, -1);
			if (t != null && c.receiver.length > 0)
				outside.inherited(c, t, -1);
			return;
		}
		link(c, m);
		for (int r : c.receiver)
			flow(r, m.self);
	}

	/** The call meets an object of class k. */
	private void dispatch(Call c, int k) {
		if (c.hub != null)
			return;
		if (k == universe.stranger()) {
			/* It meets all classes that fit, like all such calls of that type and name. */
			if (c.in.node != null)
				c.leaveTo(hub(c));
			else
				stranger(c);
			return;
		}
		steps++;
		if (c.found == null)
			c.found = universe.table(c.key);
		for (ClassInfo t : universe.find(c.found, k, c.key)) {
			Method m = c.met.get(t);
			if (m == null)
				m = meet(c, t);
			if (m != NONE) {
				solver.put(m.self, k);
				continue;
			}
			outside.called(c, k);
			outside.inherited(c, t, k);
		}
		if (c.met.size() > MANY && c.in.node != null)
			c.leaveTo(hub(c));
	}

	private static final Method NONE = new Method();

	private Method meet(Call c, ClassInfo t) {
		c.mayRun(t);
		Method m = method(t.name, c.key);
		if (m == null)
			m = NONE;
		c.meets(t, m);
		if (m != NONE)
			link(c, m);
		return m;
	}

	private static final int MANY = 48;
	/** By the call's type, name and descriptor. */
	private final Map<String, Call> hubs = new HashMap<>();

	/** Links c to its hub. */
	private Call hub(Call c) {
		Call h = hubs.get(c.insn.owner + '.' + c.key);
		if (h == null) {
			int[][] args = new int[c.args.length][];
			Type[] types = Type.getArgumentTypes(c.insn.desc);
			for (int k = 0; k < args.length; k++)
				args[k] = new int[] {variable(types[k])};
			BitSet cone = universe.cone(c.insn.owner);
			int self = solver.add(cone);
			h = callOf(new Method(), c.insn, new int[] {self}, args,
				variable(Type.getReturnType(c.insn.desc)));
			hubs.put(c.insn.owner + '.' + c.key, h);
			Call hub = h;
			solver.listen(self, k -> dispatch(hub, k));
		}
		for (String t : c.targets)
			h.targets = with(h.targets, t);
		c.in.runs(h.in);
		for (int r : c.receiver)
			solver.edge(r, h.receiver[0]);
		for (int k = 0; k < c.args.length; k++)
			flow(c.args[k], h.args[k][0]);
		flow(h.result, c.result);
		return h;
	}

	/** The call meets an object of an unknown class, which may extend any of ours. */
	private void stranger(Call c) {
		outside.stranger(c);
		BitSet all = universe.cone(c.insn.owner);
		for (int k = all.nextSetBit(0); k >= 0 && k < universe.size();
				k = all.nextSetBit(k + 1))
			dispatch(c, k);
		ClassInfo t = hierarchy.resolve(c.insn.owner, c.key);
		Method m = t == null ? null : method(t.name, c.key);
		if (m == null)
			return;
		c.mayRun(t);
		link(c, m);
		if (m.self >= 0)
			solver.put(m.self, universe.stranger());
	}

	private void link(Call c, Method m) {
		c.in.runs(m);
		for (int k = 0; k < c.args.length; k++)
			flow(c.args[k], m.parameters[k]);
		flow(m.result, c.result);
	}

	/** The program's method, or null. */
	private Method method(String owner, String key) {
		Map<String, Method> of = methods.get(key);
		return of == null ? null : of.get(owner);
	}

	/** The program's methods that a call of this name may run on an object of class k. */
	List<Method> methods(int k, String key) {
		List<Method> l = new ArrayList<>(1);
		for (ClassInfo t : universe.find(k, key)) {
			Method m = method(t.name, key);
			if (m != null)
				l.add(m);
		}
		return l;
	}

	/** Elements of one array may be copied to the other. */
	void elements(int[] from, int[] to) {
		for (int a : from)
			for (int b : to)
				if (arrays.containsKey(a) && arrays.containsKey(b)) {
					flow(a, b);
				} else {
					flow(a, outside.told);
					flow(outside.told, b);
					flow(b, outside.told);
				}
	}
}
