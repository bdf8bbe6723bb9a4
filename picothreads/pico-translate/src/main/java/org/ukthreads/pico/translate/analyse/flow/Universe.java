// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse.flow;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/**
 * The classes whose objects are followed: those of the program and of translated libraries that can
 * have objects, numbered; and the methods that a call finds in such an object.
 */
final class Universe {
	private final Hierarchy hierarchy;
	private final Map<String, Integer> index = new LinkedHashMap<>();
	private final List<ClassInfo> classes = new ArrayList<>();
	/** Classes with a superclass or interface that was not found. */
	private final BitSet vague = new BitSet();
	private final Map<String, BitSet> cones = new HashMap<>();
	private final Map<String, Map<Integer, List<ClassInfo>>> found = new HashMap<>();

	Universe(Hierarchy h) {
		hierarchy = h;
		for (String name : h.below("java/lang/Object")) {
			ClassInfo c = h.get(name);
			if (c == null || (c.access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_INTERFACE)) != 0)
				continue;
			index.put(name, classes.size());
			for (String s : h.supers(name))
				if (h.get(s) == null)
					vague.set(classes.size());
			classes.add(c);
		}
	}

	int size() {
		return classes.size();
	}

	/**
	 * The number that stands for unknown classes below an interface, or below an abstract class of
	 * the program: a plug-in that reflection loads, a proxy.
	 */
	int stranger() {
		return classes.size();
	}

	ClassInfo get(int k) {
		return classes.get(k);
	}

	/** The number of a class; -1 if it is not followed. */
	int of(String name) {
		return index.getOrDefault(name, -1);
	}

	/** The classes that an object of this type (of an array: its elements) may have. */
	BitSet cone(String type) {
		BitSet b = cones.get(type);
		if (b != null)
			return b;
		b = new BitSet();
		if (type.equals("java/lang/Object"))
			b.set(0, classes.size());
		else
			for (String k : hierarchy.below(type))
				if (index.containsKey(k))
					b.set(index.get(k));
		/* A type that was not found may be above any class with an unknown supertype. */
		ClassInfo c = hierarchy.get(type);
		if (c == null)
			b.or(vague);
		else if (c.isInterface() || c.kind == ClassInfo.Kind.PROGRAM
				&& (c.access & Opcodes.ACC_ABSTRACT) != 0)
			b.set(stranger());
		cones.put(type, b);
		return b;
	}

	/** The name of a type, or of an array's innermost elements; null if primitive. */
	static String base(Type t) {
		Type e = t.getSort() == Type.ARRAY ? t.getElementType() : t;
		return e.getSort() == Type.OBJECT ? e.getInternalName() : null;
	}

	/**
	 * The classes whose code a virtual call of name+desc may run in an object of class k: the
	 * nearest superclass with code, otherwise every interface with such a default method.
	 */
	List<ClassInfo> find(int k, String key) {
		return find(table(key), k, key);
	}

	/** Earlier results for name+desc, by class. */
	Map<Integer, List<ClassInfo>> table(String key) {
		return found.computeIfAbsent(key, x -> new HashMap<>());
	}

	List<ClassInfo> find(Map<Integer, List<ClassInfo>> table, int k, String key) {
		List<ClassInfo> l = table.get(k);
		if (l == null)
			table.put(k, l = find(classes.get(k).name, key));
		return l;
	}

	private List<ClassInfo> find(String name, String key) {
		for (ClassInfo c = hierarchy.get(name); c != null;
				c = c.superName == null ? null : hierarchy.get(c.superName))
			if (isCode(c, key))
				return List.of(c);
		List<ClassInfo> l = new ArrayList<>();
		for (String s : hierarchy.supers(name)) {
			ClassInfo c = hierarchy.get(s);
			if (c != null && c.isInterface() && isCode(c, key))
				l.add(c);
		}
		return l;
	}

	private static boolean isCode(ClassInfo c, String key) {
		Integer access = c.methods.get(key);
		return access != null && (access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_STATIC)) == 0;
	}

	/** Name+desc of the virtual methods that an object of class k has from outside the program. */
	Set<String> known(int k) {
		Set<String> s = new HashSet<>();
		for (String n : hierarchy.supers(classes.get(k).name)) {
			ClassInfo c = hierarchy.get(n);
			if (c == null || c.kind == ClassInfo.Kind.PROGRAM)
				continue;
			c.methods.forEach((key, access) -> {
				if ((access & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE)) == 0
						&& !key.startsWith("<"))
					s.add(key);
			});
		}
		return s;
	}
}
