package org.ukthreads.pico.translate.analyse;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.MethodInsnNode;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Calls of untranslated code that may come back into a method that suspends; they are
 * bracketed as pins. Nothing is known of the code in between, so the question is which
 * of its objects may hold one of ours, by family of the method that ours overrides:
 *
 *   any         a parameter or the receiver is of the overridden method's type, or may
 *               be an object of the class that overrides (a map with removeEldestEntry)
 *   values      equals, hashCode, toString, compareTo: whatever stores or prints objects
 *   functions   Comparator, Function, Iterator...: whatever stores them for later
 *               (streams, futures, sorted collections)
 *   streams     InputStream, Reader...: the JDK's classes that wrap them
 *
 * A call that this misses ends in a PinnedException at the first suspension, and wants a
 * `pin` rule.
 */
final class CallBacks {
	private static final Set<String> VALUE = Set.of("java/lang/Object",
		"java/lang/Comparable", "java/lang/CharSequence", "java/lang/Record",
		"java/lang/Enum");
	private static final Set<String> NEVER = Set.of("java/lang/String", "java/lang/Thread",
		"java/lang/Class", "java/lang/Integer", "java/lang/Long", "java/lang/Character",
		"java/lang/Boolean", "java/lang/Double", "java/lang/Float", "java/lang/Short",
		"java/lang/Byte", "java/lang/Math", "java/lang/Throwable", "java/lang/Void",
		"java/math/BigInteger", "java/math/BigDecimal", "java/util/Locale",
		"java/lang/StackTraceElement");

	private final Hierarchy hierarchy;
	/** Foreign types with a method that a suspending one overrides. */
	private final Set<String> overridden = new HashSet<>();
	/** The classes that override so. */
	private final Set<String> owners = new HashSet<>();
	private boolean values;
	private boolean functions;
	private boolean streams;
	private final Map<String, Boolean> carries = new HashMap<>();

	CallBacks(Hierarchy h, Map<String, Set<String>> suspending) {
		hierarchy = h;
		suspending.forEach((key, owners) -> {
			for (String o : owners)
				for (String s : h.supers(o)) {
					ClassInfo c = h.get(s);
					if (c == null || c.kind != ClassInfo.Kind.FOREIGN
							|| !c.methods.containsKey(key))
						continue;
					Integer access = c.methods.get(key);
					if ((access & (Opcodes.ACC_PRIVATE | Opcodes.ACC_STATIC)) == 0)
						add(s, o);
				}
		});
	}

	private void add(String type, String owner) {
		if (VALUE.contains(type)) {
			values = true;
			return;
		}
		overridden.add(type);
		owners.add(owner);
		streams |= type.startsWith("java/io/") || type.startsWith("java/nio/");
		functions |= type.startsWith("java/util/") && !type.startsWith("java/util/concurrent/");
	}

	boolean through(MethodInsnNode call) {
		if (NEVER.contains(call.owner) && !values)
			return false;
		if (holds(call.owner))
			return true;
		boolean self = call.getOpcode() != Opcodes.INVOKESTATIC
			&& !call.name.equals("<init>");
		if (self && carries(call.owner))
			return true;
		for (Type t : Type.getArgumentTypes(call.desc)) {
			if (t.getSort() == Type.OBJECT && carries(t.getInternalName()))
				return true;
			if (t.getSort() == Type.ARRAY && values && t.getElementType().getSort() == Type.OBJECT)
				return true;
		}
		return false;
	}

	/** A class of the JDK whose objects store ours. */
	private boolean holds(String owner) {
		if (values && (owner.startsWith("java/util/") || owner.startsWith("java/text/")))
			return true;
		if (functions && (owner.startsWith("java/util/stream/")
				|| owner.startsWith("java/util/Optional") || sorts(owner)))
			return true;
		return streams && (owner.startsWith("java/io/") || owner.startsWith("java/util/zip/")
			|| owner.startsWith("java/util/jar/") || owner.equals("java/util/Scanner")
			|| owner.startsWith("java/nio/channels/"));
	}

	private boolean sorts(String owner) {
		return owner.startsWith("java/util/") && (hierarchy.isSubtype(owner, "java/util/SortedMap")
			|| hierarchy.isSubtype(owner, "java/util/SortedSet")
			|| owner.endsWith("PriorityQueue") || hierarchy.isSubtype(owner, "java/util/Iterator")
			|| owner.equals("java/util/Map") || owner.equals("java/util/Set")
			|| owner.equals("java/util/Collection"));
	}

	private boolean carries(String type) {
		if (NEVER.contains(type))
			return false;
		if (type.equals("java/lang/Object") || VALUE.contains(type))
			return values;
		return carries.computeIfAbsent(type, t -> {
			for (String s : hierarchy.supers(t))
				if (overridden.contains(s))
					return true;
			for (String o : owners)
				if (hierarchy.isSubtype(o, t))
					return true;
			return false;
		});
	}
}
