// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Calls of untranslated methods that lock their object with the JVM's monitor. If the program may
 * hold our monitor of the same object, the call enters ours, too.
 *
 *   buffer.append(x)   -->   pico$$own$0(buffer, x)
 *
 *   static StringBuffer pico$$own$0(StringBuffer b, String x) {
 *       boolean held = SelfLocked.enter(b, "append(Ljava/lang/String;)");
 *       try { return b.append(x); } finally { SelfLocked.exit(b, held); }
 *   }
 *
 * enter() does nothing until an object that locks itself is in one of our monitors for the first
 * time, and then looks at the object's class. So this class may include too much: a type above one
 * that locks itself (`self` rules: an OutputStream may be a ByteArrayOutputStream), a class of the
 * program that overrides without a lock. enter() pins if it must wait, so the call suspends only if
 * the method does, and the program's shape stays.
 */
public final class SelfLocks {
	private static final String NAME = "pico$$own$";
	private static final String RUNTIME = "org/ukthreads/pico/SelfLocked";

	private final Hierarchy hierarchy;
	/** Class to the methods that lock it in their bodies. */
	private final Map<String, Set<String>> rules;
	/** Classes that rules replace by ones that lock with our monitor. */
	private final Set<String> replaced;
	/** True if the program may hold our monitor of this type. */
	private final Predicate<String> ours;
	private final boolean frames;
	private final Map<String, Boolean> owners = new HashMap<>();
	/** Owner and method to the types of which one must be ours. */
	private final Map<String, List<String>> known = new HashMap<>();
	/** For each class, the call to the method made for it. */
	private final Map<ClassNode, Map<String, Own>> made = new HashMap<>();

	/** frames: add stack-map frames, because the writer does not compute them. */
	public SelfLocks(Hierarchy hierarchy, Replacements rules, Predicate<String> ours,
			boolean frames) {
		this.frames = frames;
		this.hierarchy = hierarchy;
		this.rules = rules.selves();
		replaced = rules.replaced();
		this.ours = ours;
	}

	/** True if the method was made by this class. */
	static boolean isOwn(MethodNode m) {
		return m.name.startsWith(NAME);
	}

	/** The method calls and invokedynamic that matter if all types are ours. */
	List<AbstractInsnNode> candidates(ClassNode c, MethodNode m) {
		List<AbstractInsnNode> l = new ArrayList<>(0);
		if (isOwn(m) || (c.access & Opcodes.ACC_INTERFACE) != 0
				&& (c.version & 0xffff) < Opcodes.V1_8)
			return l;
		for (AbstractInsnNode i : m.instructions)
			if (locks(i, t -> true))
				l.add(i);
		return l;
	}

	/** Those that matter for the types that are ours now. */
	List<AbstractInsnNode> of(List<AbstractInsnNode> candidates) {
		List<AbstractInsnNode> l = new ArrayList<>(0);
		for (AbstractInsnNode i : candidates)
			if (locks(i, ours))
				l.add(i);
		return l;
	}

	private boolean locks(AbstractInsnNode i, Predicate<String> ours) {
		if (i instanceof InvokeDynamicInsnNode)
			return handle((InvokeDynamicInsnNode) i, ours) >= 0;
		if (!(i instanceof MethodInsnNode) || i.getOpcode() == Opcodes.INVOKESTATIC)
			return false;
		MethodInsnNode m = (MethodInsnNode) i;
		return !m.name.equals("<init>") && locks(m.owner, m.name, m.desc, ours);
	}

	/** The bootstrap argument that refers to such a method; below 0: none. */
	private int handle(InvokeDynamicInsnNode d, Predicate<String> ours) {
		for (int k = 0; k < d.bsmArgs.length; k++) {
			if (!(d.bsmArgs[k] instanceof Handle))
				continue;
			Handle h = (Handle) d.bsmArgs[k];
			if ((h.getTag() == Opcodes.H_INVOKEVIRTUAL || h.getTag() == Opcodes.H_INVOKEINTERFACE)
					&& locks(h.getOwner(), h.getName(), h.getDesc(), ours))
				return k;
		}
		return -1;
	}

	private boolean locks(String owner, String name, String desc, Predicate<String> ours) {
		if (!owners.computeIfAbsent(owner, this::mayLock))
			return false;
		String key = name + desc.substring(0, desc.indexOf(')') + 1);
		for (String t : known.computeIfAbsent(owner + '.' + key, k -> types(owner, key)))
			if (ours.test(t))
				return true;
		return false;
	}

	/** True if the type, or a self-locking type below it, has any such method. */
	private boolean mayLock(String owner) {
		if (owner.startsWith("[") || owner.equals("java/lang/Object")
				|| hierarchy.isSubtype(owner, "java/lang/Thread"))
			return false;
		for (String t : rules.keySet())
			if (hierarchy.isSubtype(t, owner) || hierarchy.isSubtype(owner, t))
				return true;
		for (String s : hierarchy.supers(owner)) {
			ClassInfo c = hierarchy.get(s);
			if (c != null && c.kind == ClassInfo.Kind.FOREIGN)
				for (int access : c.methods.values())
					if ((access & Opcodes.ACC_SYNCHRONIZED) != 0)
						return true;
		}
		return false;
	}

	private List<String> types(String owner, String key) {
		List<String> l = new ArrayList<>(0);
		if (isLocking(owner, key))
			l.add(owner);
		for (String t : rules.keySet())
			if (!t.equals(owner) && hierarchy.isSubtype(t, owner) && isLocking(t, key))
				l.add(t);
		return l;
	}

	/** True if an object of exactly this class locks itself in the method. */
	private boolean isLocking(String type, String key) {
		String name = key.substring(0, key.indexOf('('));
		for (ClassInfo c = hierarchy.get(type); c != null;
				c = c.superName == null ? null : hierarchy.get(c.superName)) {
			boolean has = false;
			boolean locks = false;
			for (Map.Entry<String, Integer> m : c.methods.entrySet())
				if (m.getKey().startsWith(key)) {
					has = true;
					locks |= (m.getValue() & Opcodes.ACC_SYNCHRONIZED) != 0;
				}
			if (rules.getOrDefault(c.name, Set.of()).contains(name))
				return true;
			if (has)
				return locks && c.kind == ClassInfo.Kind.FOREIGN && !replaced.contains(c.name);
		}
		return false;
	}

	/** A method that enters our monitor, and the call in it. */
	static final class Own {
		final MethodNode method;
		final MethodInsnNode call;

		Own(MethodNode method, MethodInsnNode call) {
			this.method = method;
			this.call = call;
		}
	}

	/** The call that the instruction makes, or that its method reference means. */
	MethodInsnNode call(AbstractInsnNode i) {
		if (i instanceof MethodInsnNode)
			return (MethodInsnNode) i;
		InvokeDynamicInsnNode d = (InvokeDynamicInsnNode) i;
		Handle h = (Handle) d.bsmArgs[handle(d, ours)];
		return new MethodInsnNode(h.isInterface() ? Opcodes.INVOKEINTERFACE
			: Opcodes.INVOKEVIRTUAL, h.getOwner(), h.getName(), h.getDesc(), h.isInterface());
	}

	/** Replaces all such calls of a method; the new methods are in the class then. */
	public void apply(ClassNode c, MethodNode m) {
		for (List<AbstractInsnNode> l; !(l = of(candidates(c, m))).isEmpty();)
			for (AbstractInsnNode i : l)
				replace(c, m, i, call(i),
					new MethodInsnNode(Opcodes.INVOKESTATIC, "", "", "()V", false));
	}

	/**
	 * Changes i to use a method that makes this call under our monitor; `to` becomes the call of
	 * it.
	 */
	Own replace(ClassNode c, MethodNode in, AbstractInsnNode i, MethodInsnNode call,
			MethodInsnNode to) {
		InvokeDynamicInsnNode d = i == call ? null : (InvokeDynamicInsnNode) i;
		int k = d == null ? -1 : handle(d, ours);
		if (d == null)
			in.instructions.set(i, to);
		Own own = made.computeIfAbsent(c, x -> new LinkedHashMap<>()).computeIfAbsent(
			call.getOpcode() + call.owner + '.' + call.name + call.desc, x -> make(c, call));
		to.owner = c.name;
		to.name = own.method.name;
		to.desc = own.method.desc;
		to.itf = (c.access & Opcodes.ACC_INTERFACE) != 0;
		if (d != null)
			d.bsmArgs[k] = new Handle(Opcodes.H_INVOKESTATIC, to.owner, to.name, to.desc, to.itf);
		return own;
	}

	/** The receiver of a protected or super call is an object of the class itself. */
	private String receiver(ClassNode c, MethodInsnNode m) {
		ClassInfo r = hierarchy.resolve(m.owner, m.name + m.desc);
		boolean open = r == null || (r.methods.get(m.name + m.desc) & Opcodes.ACC_PUBLIC) != 0;
		return m.getOpcode() == Opcodes.INVOKESPECIAL
			|| !open && hierarchy.isSubtype(c.name, m.owner) ? c.name : m.owner;
	}

	private Own make(ClassNode c, MethodInsnNode m) {
		String name = NAME + made.get(c).size();
		Type result = Type.getReturnType(m.desc);
		MethodNode own = new MethodNode(Opcodes.ASM9, Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC
			| ((c.access & Opcodes.ACC_INTERFACE) != 0 ? Opcodes.ACC_PUBLIC
			: Opcodes.ACC_PRIVATE), name, "(L" + receiver(c, m) + ";" + m.desc.substring(1),
			null, null);
		InsnList l = own.instructions;
		int words = Type.getArgumentsAndReturnSizes(m.desc) >> 2;
		LabelNode start = new LabelNode();
		LabelNode end = new LabelNode();
		l.add(new VarInsnNode(Opcodes.ALOAD, 0));
		l.add(new LdcInsnNode(m.name + m.desc.substring(0, m.desc.indexOf(')') + 1)));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, RUNTIME, "enter",
			"(Ljava/lang/Object;Ljava/lang/String;)Z", false));
		l.add(new VarInsnNode(Opcodes.ISTORE, words));
		l.add(start);
		l.add(new VarInsnNode(Opcodes.ALOAD, 0));
		int at = 1;
		for (Type t : Type.getArgumentTypes(m.desc)) {
			l.add(new VarInsnNode(t.getOpcode(Opcodes.ILOAD), at));
			at += t.getSize();
		}
		l.add(m);
		l.add(end);
		exit(l, words);
		l.add(new InsnNode(result.getOpcode(Opcodes.IRETURN)));
		LabelNode caught = new LabelNode();
		l.add(caught);
		if (frames)
			l.add(frame(own.desc));
		exit(l, words);
		l.add(new InsnNode(Opcodes.ATHROW));
		own.tryCatchBlocks.add(new TryCatchBlockNode(start, end, caught, null));
		own.maxLocals = words + 1;
		own.maxStack = words + result.getSize() + 2;
		c.methods.add(own);
		hierarchy.get(c.name).methods.put(own.name + own.desc, own.access);
		return new Own(own, m);
	}

	/** The frame at the handler. */
	private static FrameNode frame(String desc) {
		List<Object> locals = new ArrayList<>();
		for (Type t : Type.getArgumentTypes(desc))
			locals.add(t.getSort() >= Type.ARRAY ? t.getInternalName()
				: t == Type.LONG_TYPE ? Opcodes.LONG : t == Type.DOUBLE_TYPE ? Opcodes.DOUBLE
				: t == Type.FLOAT_TYPE ? Opcodes.FLOAT : Opcodes.INTEGER);
		locals.add(Opcodes.INTEGER);
		return new FrameNode(Opcodes.F_FULL, locals.size(), locals.toArray(), 1,
			new Object[] {"java/lang/Throwable"});
	}

	private static void exit(InsnList l, int held) {
		l.add(new VarInsnNode(Opcodes.ALOAD, 0));
		l.add(new VarInsnNode(Opcodes.ILOAD, held));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, RUNTIME, "exit",
			"(Ljava/lang/Object;Z)V", false));
	}
}
