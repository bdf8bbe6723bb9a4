// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.lang.ref.Reference;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;

/*
 * Divides what the frames of one thread reach into two parts:
 *
 *   shared  also reached from outside (static fields, the test's instance and arguments,
 *           other threads, held monitors), or not to be saved (streams, files, threads,
 *           reflection, what is inside them); and everything that these reach
 *   own     the rest: only the frames could tell these objects from copies, so they are
 *           really saved and loaded
 *
 *   frames --> own --> own
 *                 \--> shared --> shared        never shared --> own
 *
 * An own object that Java's serial form writes inside another must be reached from that one
 * only. Otherwise both are shared, because the form would make a second object of it.
 */
public final class Parting {
	private final Codec codec;
	private final Heap.Marks shared = new Heap.Marks();
	private final ArrayDeque<Object> todo = new ArrayDeque<>();
	private final List<Object> met = new ArrayList<>();
	private final Heap.Marks seen = new Heap.Marks();
	/** An object that is written inside another, to that one. */
	private final Map<Object, Object> inside = new IdentityHashMap<>();
	private final List<Object> twice = new ArrayList<>();
	private final Map<String, String> literals;
	/** Reasons, and what cannot be saved. */
	public final java.util.Set<String> refused = new java.util.TreeSet<>();

	public Parting(Codec codec, Map<String, String> literals) {
		this.codec = codec;
		this.literals = literals;
	}

	/* --- shared --- */

	/** Marks o and all that it reaches as shared. */
	public void share(Object o) {
		if (mark(o))
			while ((o = todo.poll()) != null)
				Heap.refs(o, this::mark);
	}

	public static boolean hasStatics(Class<?> c) {
		return Heap.hasStatics(c);
	}

	public void shareStatics(Class<?> c) {
		Heap.statics(c, this::share);
	}

	private boolean mark(Object o) {
		Kind k = KINDS.get(o.getClass());
		if (k == Kind.SAME || !shared.add(o))
			return false;
		if (k == Kind.NODE)
			todo.add(o);
		return true;
	}

	/**
	 * SAME: saved by name, the same when loaded. VALUE: its parts do not matter. MACHINE: of the
	 * runtime or the JVM, leads everywhere.
	 */
	private enum Kind { SAME, VALUE, MACHINE, NODE }

	private static final ClassValue<Kind> KINDS = new ClassValue<>() {
		@Override
		protected Kind computeValue(Class<?> c) {
			String n = c.getName();
			if (c == Class.class || Enum.class.isAssignableFrom(c) || c == Boolean.class
					|| c == java.util.Locale.class)
				return Kind.SAME;
			if (c == String.class || c == Character.class || n.startsWith("java.math.Big")
					|| Number.class.isAssignableFrom(c) && n.startsWith("java.lang.")
					|| c == StackTraceElement.class)
				return Kind.VALUE;
			boolean machine = n.startsWith("org.ukthreads.pico.oracle.")
				|| n.startsWith("org.ukthreads.pico.durable.")
				|| n.matches("org.ukthreads.pico.(PicoRuntime|Carrier|CarrierThread|Context"
				+ "|Capture|Site|MethodRef|Timers|RoundRobin|.*Code)|.*\\$\\$Pico")
				|| ClassLoader.class.isAssignableFrom(c) || c == Thread.class
				|| n.startsWith("java.lang.invoke.") || n.startsWith("java.lang.Module")
				|| n.startsWith("jdk.internal.") || n.startsWith("sun.");
			return machine ? Kind.MACHINE : Kind.NODE;
		}
	};

	/** The name to report; of a JDK class that is not public, the public one above it. */
	private static String name(Class<?> c) {
		while (!c.isArray() && c.getSuperclass() != null && c.getSuperclass() != Object.class
				&& Shape.isJdk(c) && !java.lang.reflect.Modifier.isPublic(c.getModifiers()))
			c = c.getSuperclass();
		return java.nio.charset.Charset.class.isAssignableFrom(c)
			? "java.nio.charset.Charset" : c.getName();
	}

	private static boolean isAtom(Class<?> c) {
		Kind k = KINDS.get(c);
		return k == Kind.SAME || k == Kind.VALUE;
	}

	/* --- own --- */

	/** Divides what the roots reach; shared objects must be marked before. */
	public void part(List<Object> roots) {
		roots.forEach(this::meet);
		for (int k = 0; k < met.size(); k++)
			follow(met.get(k));
		for (Object o : met) {
			String why = refusal(o);
			if (why != null) {
				refused.add(why + ": " + name(o.getClass()));
				share(o);
			}
		}
		for (Object y : twice) {
			share(y);
			share(inside.get(y));
		}
		for (Object o : met)
			if (!shared.has(o) && isContainer(o))
				Heap.refs(o, y -> {
					/* A shared iterator refers to it: the table of a set. */
					if (shared.has(y) && !(y instanceof Comparator) && !isEmpty(y))
						share(o);
				});
		/* The form of an own object would copy a shared one inside it. */
		inside.forEach((y, x) -> {
			if (shared.has(y) && !shared.has(x))
				share(x);
		});
	}

	/** The number of objects known to be shared. */
	public int walked() {
		return shared.size();
	}

	public List<Object> sharedOnes() {
		List<Object> l = new ArrayList<>();
		for (Object o : met)
			if (shared.has(o))
				l.add(o);
		return l;
	}

	public int own() {
		int n = 0;
		for (Object o : met)
			if (!shared.has(o))
				n++;
		return n;
	}

	public int size() {
		return met.size() + inside.size();
	}

	private void meet(Object o) {
		if (o == null)
			return;
		if (inside.containsKey(o))
			twice.add(o);
		else if (seen.add(o))
			met.add(o);
	}

	private void follow(Object o) {
		Class<?> c = o.getClass();
		if (shared.has(o) || isAtom(c))
			return;
		if (isForm(o))
			into(o, o);
		else if (isContainer(o) && o instanceof Map) {
			((Map<?, ?>) o).forEach((k, v) -> {
				meet(k);
				meet(v);
			});
			if (o instanceof SortedMap)
				meet(((SortedMap<?, ?>) o).comparator());
		} else if (isContainer(o)) {
			((Collection<?>) o).forEach(this::meet);
			if (o instanceof SortedSet)
				meet(((SortedSet<?>) o).comparator());
		} else {
			Heap.refs(o, this::meet);
		}
	}

	/** True for the array that all empty lists share. */
	private static boolean isEmpty(Object o) {
		return o instanceof Object[] && ((Object[]) o).length == 0;
	}

	/** True for a JDK collection, which is written as its contents. */
	private static boolean isContainer(Object o) {
		return o.getClass().getName().startsWith("java.util.")
			&& (o instanceof Map || o instanceof Collection);
	}

	/** True if it is written in Java's serial form, with its contents. */
	private boolean isForm(Object o) {
		return !isOwnWay(o.getClass()) && codec.shape(o.getClass()).how == Shape.How.STREAM;
	}

	private static boolean isOwnWay(Class<?> c) {
		return c.isArray() || Encoder.isKnown(c);
	}

	private void into(Object form, Object at) {
		Heap.refs(at, y -> {
			Class<?> c = y.getClass();
			if (isAtom(c) || isReferred(c)) {
				meet(y);
				return;
			}
			Object other = inside.putIfAbsent(y, form);
			if (seen.has(y) || other != null && other != form)
				twice.add(y);
			if (other == null)
				into(form, y);
		});
	}

	/** As in Encoder: true if a form refers to it by number. */
	private boolean isReferred(Class<?> c) {
		if (c.isArray())
			return false;
		Shape.How h = codec.shape(c).how;
		return Encoder.isKnown(c) || h == Shape.How.FIELDS || h == Shape.How.RECORD;
	}

	/** Why o cannot be saved, or null. */
	private String refusal(Object o) {
		Class<?> c = o.getClass();
		String n = c.getName();
		if (o instanceof String)
			return literals.get(o) == o ? "a literal" : null;
		if (o instanceof Integer && (byte) (int) (Integer) o == (Integer) o
				&& Integer.valueOf((Integer) o) != o)
			return "a boxed value that is not the cached one";
		if (isAtom(c))
			return null;
		if (n.indexOf('/') >= 0)
			return "a lambda of the JVM";
		if (Proxy.isProxyClass(c))
			return "a proxy";
		if (o instanceof Thread || o instanceof ThreadGroup || o instanceof ClassLoader)
			return "a thread or loader";
		if (o instanceof Reference)
			return "a weak reference";
		if (o instanceof AccessibleObject)
			return "reflection";
		if (n.startsWith("org.ukthreads."))
			return "of the runtime";
		if (n.startsWith("java.security."))
			return "of java.security";
		if (n.matches("java\\.beans\\..*ChangeSupport"))
			return "its serial form drops listeners that are not Serializable";
		if (!isOwnWay(c) && codec.shape(c).how == Shape.How.REFUSED)
			return c.getName().startsWith("java") ? "not Serializable (the JDK)"
				: "not Serializable (extends a JDK class)";
		if (c == Object.class)
			return "identity (a hash table of the program may contain it)";
		return null;
	}
}
