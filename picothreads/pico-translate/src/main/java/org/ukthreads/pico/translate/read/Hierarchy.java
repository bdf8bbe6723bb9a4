// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/*
 * All classes by name, read from class files and never loaded: the program's, those it links with,
 * and the platform's, which are read on demand. A class that does not exist is null, and is treated
 * as if it extended Object.
 *
 * Any thread may ask while no thread adds or learns. Results are kept: a class has one ClassInfo.
 */
public final class Hierarchy {
	/** Finds a class file of the libraries or the platform, or returns null. */
	public interface Finder {
		byte[] find(String name);
	}

	private static final String SUSPENDS = "Lorg/ukthreads/pico/Pico;";
	private static final String LEAF = "Lorg/ukthreads/pico/Leaf;";

	private static final ClassInfo NOWHERE = new ClassInfo("?", null, List.of(), 0,
		ClassInfo.Kind.FOREIGN);

	private final Map<String, ClassInfo> classes = new ConcurrentHashMap<>();
	private final Map<String, Set<String>> supers = new ConcurrentHashMap<>();
	/** Null until computed. */
	private volatile Map<String, Set<String>> below;
	private final Finder finder;
	private final Names names = new Names();

	public Hierarchy(Finder finder) {
		this.finder = finder;
	}

	/** The names of all that is read. */
	public Names names() {
		return names;
	}

	public static byte[] platform(String name) {
		try (java.io.InputStream in = ClassLoader.getPlatformClassLoader()
				.getResourceAsStream(name + ".class")) {
			return in == null ? null : in.readAllBytes();
		} catch (java.io.IOException e) {
			throw new java.io.UncheckedIOException(e);
		}
	}

	public ClassInfo add(byte[] file, ClassInfo.Kind kind) {
		ClassInfo c = parse(file, kind);
		add(c);
		return c;
	}

	/** Adds a class that takes part in dispatch. */
	public void add(ClassInfo c) {
		classes.put(c.name, c);
		supers.remove(c.name);
		below = null;
		known.add(c.name);
	}

	/** Classes whose methods a call may reach: program and translated ones. */
	private final Set<String> known = new HashSet<>();

	public ClassInfo get(String name) {
		ClassInfo c = classes.get(name);
		if (c == null) {
			c = find(name);
			ClassInfo first = classes.putIfAbsent(name, c);
			c = first != null ? first : c;
		}
		return c == NOWHERE ? null : c;
	}

	private ClassInfo find(String name) {
		byte[] b = name.startsWith("[") ? null : finder.find(name);
		if (b == null && !name.startsWith("["))
			b = platform(name);
		return b == null ? NOWHERE : parse(b, ClassInfo.Kind.FOREIGN);
	}

	private ClassInfo parse(byte[] b, ClassInfo.Kind kind) {
		ClassReader r = names.reader(b);
		ClassInfo c = new ClassInfo(r.getClassName(), r.getSuperName(),
			List.of(r.getInterfaces()), r.getAccess(), kind);
		r.accept(new ClassVisitor(Opcodes.ASM9) {
			@Override
			public MethodVisitor visitMethod(int access, String name, String desc,
					String sig, String[] ex) {
				c.methods.put(names.key(name, desc), access);
				return new MethodVisitor(Opcodes.ASM9) {
					@Override
					public AnnotationVisitor visitAnnotation(String d, boolean v) {
						if (d.equals(SUSPENDS) || d.equals(LEAF))
							c.suspends.put(names.key(name, desc), true);
						return null;
					}
				};
			}
		}, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
		return c;
	}

	/** Missing class to the lowest superclass that is known of it. */
	private final Map<String, String> missing = new HashMap<>();

	/** Learns about missing classes from a class file: see StackMaps.learn. */
	public boolean learn(byte[] file) {
		return StackMaps.learn(this, file);
	}

	/**
	 * Records that objects of `name` are also of `sup`; useful if a class above `name` is missing.
	 */
	void learn(String name, String sup) {
		String top = name;
		while (get(top) != null)
			if ((top = get(top).superName) == null)
				return;
		if (top.equals(sup) || isInterface(sup) || supers(sup).contains(top)
				|| isSubtype(top, sup))
			return;
		String old = missing.get(top);
		if (old != null && !isSubtype(sup, old)) {
			learn(old, sup);
			return;
		}
		missing.put(top, sup);
		supers.clear();
	}

	public boolean isInterface(String name) {
		ClassInfo c = get(name);
		return c != null && c.isInterface();
	}

	/**
	 * True if it is not public, in a package other than that of `from`, in a class file that stays.
	 */
	public boolean isHidden(String name, String from) {
		ClassInfo c = get(name);
		return c != null && c.kind != ClassInfo.Kind.PROGRAM
			&& (c.access & Opcodes.ACC_PUBLIC) == 0
			&& !ClassInfo.packageOf(name).equals(ClassInfo.packageOf(from));
	}

	/** The class itself and everything above it. */
	public Set<String> supers(String name) {
		Set<String> s = supers.get(name);
		if (s != null)
			return s;
		s = new HashSet<>();
		s.add(name);
		s.add("java/lang/Object");
		ClassInfo c = get(name);
		if (c != null) {
			if (c.superName != null)
				s.addAll(supers(c.superName));
			for (String i : c.interfaces)
				s.addAll(supers(i));
		} else if (missing.containsKey(name)) {
			s.addAll(supers(missing.get(name)));
		}
		supers.put(name, s);
		return s;
	}

	/** True if the class and everything above it are known. */
	public boolean isWhole(String name) {
		for (String s : supers(name))
			if (get(s) == null)
				return false;
		return true;
	}

	public boolean isSubtype(String sub, String sup) {
		return sub.equals(sup) || sup.equals("java/lang/Object")
			|| supers(sub).contains(sup);
	}

	/** The program's and translated classes that are the type or below it. */
	public Set<String> below(String name) {
		Map<String, Set<String>> b = below;
		if (b == null)
			b = findBelow();
		return b.getOrDefault(name, Set.of());
	}

	private synchronized Map<String, Set<String>> findBelow() {
		if (below == null) {
			Map<String, Set<String>> b = new HashMap<>();
			for (String k : known)
				for (String s : supers(k))
					b.computeIfAbsent(s, x -> new HashSet<>()).add(k);
			below = b;
		}
		return below;
	}

	/** True if an object can be of both types, as far as dispatch and locks matter. */
	public boolean mayMeet(String a, String b) {
		if (isSubtype(a, b) || isSubtype(b, a))
			return true;
		if (!isInterface(a) && !isInterface(b))
			return false;
		Set<String> x = below(a);
		Set<String> y = below(b);
		if (x.size() > y.size()) {
			Set<String> t = x;
			x = y;
			y = t;
		}
		for (String k : x)
			if (y.contains(k))
				return true;
		return false;
	}

	/** The class whose method a call of owner.name+desc finds, going up, or null. */
	public ClassInfo resolve(String owner, String key) {
		for (ClassInfo c = get(owner); c != null;
				c = c.superName == null ? null : get(c.superName))
			if (c.methods.containsKey(key))
				return c;
		ClassInfo found = null;
		for (String s : supers(owner)) {
			ClassInfo c = get(s);
			if (c != null && c.isInterface() && isInherited(c, key)
					&& (found == null || isNearer(c, found, key)))
				found = c;
		}
		return found;
	}

	private static boolean isInherited(ClassInfo c, String key) {
		Integer access = c.methods.get(key);
		return access != null && (access & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE)) == 0;
	}

	/**
	 * True if the method of interface a hides that of b, or only a's has code and neither hides the
	 * other.
	 */
	private boolean isNearer(ClassInfo a, ClassInfo b, String key) {
		return isSubtype(a.name, b.name) || !isSubtype(b.name, a.name)
			&& (a.methods.get(key) & Opcodes.ACC_ABSTRACT) == 0
			&& (b.methods.get(key) & Opcodes.ACC_ABSTRACT) != 0;
	}

	/** As the verifier does: interfaces count as Object. */
	public String commonSuper(String a, String b) {
		if (a.equals(b))
			return a;
		if (isInterface(a) || isInterface(b)) {
			if (isInterface(a) && isSubtype(b, a))
				return a;
			if (isInterface(b) && isSubtype(a, b))
				return b;
			return "java/lang/Object";
		}
		List<String> up = new ArrayList<>();
		for (String k = a; k != null; k = superOf(k))
			up.add(k);
		for (String k = b; k != null; k = superOf(k))
			if (up.contains(k))
				return k;
		return "java/lang/Object";
	}

	public String superOf(String k) {
		ClassInfo c = get(k);
		if (c == null)
			return k.equals("java/lang/Object") ? null
				: missing.getOrDefault(k, "java/lang/Object");
		return c.superName;
	}
}
