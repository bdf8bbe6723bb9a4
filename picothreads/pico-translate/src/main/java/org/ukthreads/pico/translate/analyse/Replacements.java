// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.signature.SignatureReader;
import org.objectweb.asm.signature.SignatureVisitor;
import org.objectweb.asm.signature.SignatureWriter;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.ukthreads.pico.translate.read.ClassInfo;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Replaces what blocks in the JDK. The rules are data, in META-INF/pico/replace of every library
 * on the path:
 *
 *   class FROM TO                  `new FROM` makes a TO (TO extends FROM), and a class that
 *                                  extends FROM extends TO
 *   make FROM TO                   `new FROM(args)` becomes the static TO.make(args), if TO has
 *                                  such a method for these arguments that returns a FROM
 *   call OWNER NAME DESC TO [AS]   a call of that method becomes the static TO.AS; a receiver
 *                                  is its first argument. AS may have a descriptor, with wider
 *                                  types, if TO cannot name those of a later Java
 *   exact OWNER NAME DESC TO [AS]  as call, if the call names exactly this OWNER
 *   first OWNER NAME DESC TO AS    before the call, TO.AS gets the receiver (of a call with one
 *                                  argument of one word, or none)
 *   last OWNER NAME DESC TO AS     before the call (of a constructor, too), TO.AS gets the last
 *                                  argument
 *   map OWNER NAME DESC TO AS      TO.AS(receiver) becomes the receiver (of a call without
 *                                  arguments, or with one of one word)
 *   define OWNER NAME DESC TO AS   the class file that the call defines (an array, perhaps
 *                                  followed by two ints, or a ByteBuffer) is replaced by
 *                                  TO.AS(receiver, file)
 *   given OWNER NAME DESC TO AS    if a class of the program below OWNER overrides the method,
 *                                  it returns TO.AS(this, result)
 *   pin OWNER NAME|*               the call comes back into the program without showing on the
 *                                  stack (method handles): it is bracketed
 *   direct OWNER                   untranslated code never calls this type's methods
 *   carry OWNER NAME DESC TO [AS]  as call, if a function among the arguments may suspend
 *   open OWNER NAME DESC           the library calls it and programs implement it: it is assumed
 *                                  to suspend when the library itself is translated
 *   lock TO TYPE...                objects of TO and of the other types (outer classes) lock
 *                                  themselves with our monitors. They exist if a rule has led
 *                                  to TO
 *   self TYPE [NAME...]            untranslated; locks itself with the JVM's monitor in its
 *                                  synchronized methods and in those with these names
 *   # ...                          comment
 *
 * DESC `*` means every overload.
 */
public final class Replacements {
	private static final class Call {
		final String owner;
		final String desc;
		final String to;
		final String as;
		/** The rule applies only if the call names exactly this owner. */
		final boolean only;
		/** `to` gets the receiver; otherwise the last argument. */
		final boolean first;
		/** Null: the call's descriptor, with the receiver. */
		private final String asDesc;

		Call(String[] w) {
			only = w[0].equals("exact");
			first = w[0].equals("first");
			owner = w[1];
			desc = w[3];
			to = w[4];
			String as = w.length > 5 ? w[5] : w[2];
			int k = as.indexOf('(');
			this.as = k < 0 ? as : as.substring(0, k);
			asDesc = k < 0 ? null : as.substring(k);
		}

		String target(String desc, boolean isStatic) {
			return asDesc != null ? asDesc : isStatic ? desc
				: "(L" + owner + ";" + desc.substring(1);
		}
	}

	private final Map<String, String> classes = new HashMap<>();
	private final Map<String, String> makers = new HashMap<>();
	private final Map<String, List<Call>> calls = new HashMap<>();
	private final Map<String, List<Call>> shown = new HashMap<>();
	private final Map<String, List<Call>> maps = new HashMap<>();
	private final Map<String, List<Call>> defines = new HashMap<>();
	private final Map<String, List<Call>> given = new HashMap<>();
	private final Map<String, List<String>> pins = new HashMap<>();
	private final Hierarchy hierarchy;

	public Replacements(Hierarchy h) {
		hierarchy = h;
	}

	public void read(String text) {
		for (String line : text.split("\n")) {
			String[] w = line.trim().split("\\s+");
			if (w[0].isEmpty() || w[0].startsWith("#"))
				continue;
			switch (w[0]) {
			case "class":
				classes.put(w[1], w[2]);
				break;
			case "make":
				makers.put(w[1], w[2]);
				break;
			case "call":
			case "exact":
				calls.computeIfAbsent(w[2], k -> new ArrayList<>()).add(new Call(w));
				break;
			case "first":
			case "last":
				shown.computeIfAbsent(w[2] + w[3], k -> new ArrayList<>()).add(new Call(w));
				break;
			case "map":
				maps.computeIfAbsent(w[2] + w[3], k -> new ArrayList<>()).add(new Call(w));
				break;
			case "define":
				defines.computeIfAbsent(w[2] + w[3], k -> new ArrayList<>()).add(new Call(w));
				break;
			case "given":
				given.computeIfAbsent(w[2] + w[3], k -> new ArrayList<>()).add(new Call(w));
				break;
			case "pin":
				pins.computeIfAbsent(w[2], k -> new ArrayList<>()).add(w[1]);
				break;
			case "carry":
				carries.computeIfAbsent(w[2] + w[3], k -> new ArrayList<>()).add(new Call(w));
				break;
			case "direct":
				direct.add(w[1]);
				break;
			case "lock":
				locks.put(w[1], List.of(w).subList(1, w.length));
				break;
			case "self":
				selves.put(w[1], new HashSet<>(List.of(w).subList(2, w.length)));
				break;
			case "open":
				open.add(new String[] {w[1], w[2] + w[3]});
				break;
			default:
				throw new IllegalArgumentException("unknown replacement rule: " + line);
			}
		}
	}

	/** The static method that makes an object in place of a constructor. */
	public static final String MAKE = "make";

	/** The class with that method for this constructor, or null. */
	public String maker(String in, MethodInsnNode init) {
		String to = makers.get(init.owner);
		if (to == null || to.equals(in) || !init.name.equals("<init>"))
			return null;
		ClassInfo c = hierarchy.get(to);
		return c != null && c.methods.containsKey(MAKE + made(init)) ? to : null;
	}

	/** A constructor's descriptor, changed to one that returns the object. */
	public static String made(MethodInsnNode init) {
		return init.desc.substring(0, init.desc.length() - 1) + "L" + init.owner + ";";
	}

	private final Map<String, List<Call>> carries = new HashMap<>();

	/**
	 * True if a `carry` rule has this name and descriptor. Types and overrides decide in carried().
	 */
	public boolean mayCarry(MethodInsnNode m) {
		return carries.containsKey(m.name + m.desc);
	}

	/** True if we have a version of this call and the receiver inherits the JDK's. */
	public boolean carried(String in, MethodInsnNode m) {
		return carry(in, m) != null;
	}

	private Call carry(String in, MethodInsnNode m) {
		if (m.getOpcode() == Opcodes.INVOKESPECIAL || m.owner.startsWith("["))
			return null;
		for (Call c : carries.getOrDefault(m.name + m.desc, List.of()))
			if (!c.to.equals(in) && hierarchy.isSubtype(m.owner, c.owner)
					&& !overridden(m))
				return c;
		return null;
	}

	/** True if a class of the program overrides it: the call stays virtual. Carriers knows ours. */
	private boolean overridden(MethodInsnNode m) {
		String key = m.name + m.desc;
		for (String k : hierarchy.below(m.owner))
			for (String s : hierarchy.supers(k)) {
				ClassInfo c = hierarchy.get(s);
				if (c != null && c.kind != ClassInfo.Kind.FOREIGN && !isLock(outer(s))
						&& c.methods.containsKey(key))
					return true;
			}
		return false;
	}

	/** Changes the call to one of our version. */
	public void toCarrier(String in, MethodInsnNode m) {
		Call c = carry(in, m);
		if (m.getOpcode() != Opcodes.INVOKESTATIC)
			m.desc = "(L" + c.owner + ";" + m.desc.substring(1);
		m.setOpcode(Opcodes.INVOKESTATIC);
		m.owner = c.to;
		m.name = c.as;
		m.itf = false;
	}

	private final Map<String, Set<String>> selves = new HashMap<>();

	/** Classes that lock themselves with the JVM's monitor, and the methods whose bodies do so. */
	public Map<String, Set<String>> selves() {
		return selves;
	}

	/** The classes that `class` rules replace. */
	public Set<String> replaced() {
		return classes.keySet();
	}

	private final List<String[]> open = new ArrayList<>();

	/** Owner and name+desc of the `open` rules. */
	public List<String[]> open() {
		return open;
	}

	private final Map<String, List<String>> locks = new HashMap<>();
	/** Types of `lock` rules of which the program may have objects. */
	private final Set<String> used = new HashSet<>();

	private void use(String to) {
		used.addAll(locks.getOrDefault(to, List.of()));
	}

	/** Reads a translated class, which may use what rules led to in its own translation. */
	public void uses(byte[] file) {
		String text = new String(file, java.nio.charset.StandardCharsets.ISO_8859_1);
		for (String to : locks.keySet())
			if (text.contains(to))
				use(to);
	}

	/** The types whose objects lock themselves with our monitors. */
	public Set<String> locks() {
		return used;
	}

	private boolean isLock(String type) {
		for (List<String> l : locks.values())
			if (l.contains(type))
				return true;
		return false;
	}

	private static String outer(String type) {
		int k = type.indexOf('$');
		return k < 0 ? type : type.substring(0, k);
	}

	/** False if `lock` rules say that there are no objects of this class. */
	public boolean isUsed(String type) {
		return !isLock(outer(type)) || used.contains(outer(type));
	}

	private final Set<String> direct = new HashSet<>();

	/** True if only translated code calls this type's methods. */
	public boolean isDirect(String type) {
		return direct.contains(type);
	}

	public boolean pins(String owner, String name) {
		for (String n : new String[] {name, "*"})
			for (String o : pins.getOrDefault(n, List.of()))
				if (hierarchy.isSubtype(owner, o))
					return true;
		return false;
	}

	/** Rewrites a class in place; true if anything changed. */
	public boolean apply(ClassNode c) {
		boolean any = false;
		String sup = classes.get(c.superName);
		String old = c.superName;
		if (sup != null && !sup.equals(c.name)) {
			c.superName = sup;
			use(sup);
			if (c.signature != null)
				c.signature = below(c.signature, old, sup);
			any = true;
		} else {
			sup = null;
		}
		for (MethodNode m : c.methods) {
			any |= give(c, m);
			for (AbstractInsnNode i : m.instructions)
				any |= insn(c, i, old, sup) | show(m, i) | map(m, i) | define(m, i);
		}
		return any;
	}

	/** Applies `given`: passes what an overriding method returns to our method first. */
	private boolean give(ClassNode c, MethodNode m) {
		for (Call r : given.getOrDefault(m.name + m.desc, List.of())) {
			if (c.name.equals(r.to) || (m.access & Opcodes.ACC_STATIC) != 0
					|| !hierarchy.isSubtype(c.name, r.owner) || storesThis(m))
				continue;
			Type t = Type.getReturnType(m.desc);
			for (AbstractInsnNode i : m.instructions.toArray()) {
				if (i.getOpcode() != Opcodes.ARETURN)
					continue;
				InsnList l = new InsnList();
				l.add(new VarInsnNode(Opcodes.ALOAD, 0));
				l.add(new InsnNode(Opcodes.SWAP));
				l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, r.to, r.as,
					"(L" + r.owner + ";" + t + ")" + t, false));
				m.instructions.insertBefore(i, l);
			}
			m.maxStack += 1;
			return true;
		}
		return false;
	}

	private static boolean storesThis(MethodNode m) {
		for (AbstractInsnNode i : m.instructions)
			if (i.getOpcode() == Opcodes.ASTORE && ((VarInsnNode) i).var == 0)
				return true;
		return false;
	}

	/** The signature of a class after a change of its superclass, with the same type parameters. */
	private static String below(String signature, String old, String sup) {
		SignatureWriter w = new SignatureWriter() {
			private boolean next;

			@Override
			public SignatureVisitor visitSuperclass() {
				next = true;
				return super.visitSuperclass();
			}

			@Override
			public void visitClassType(String name) {
				super.visitClassType(next && name.equals(old) ? sup : name);
				next = false;
			}
		};
		new SignatureReader(signature).accept(w);
		return w.toString();
	}

	/** Applies `first` and `last`: passes a value on the stack also to our method. */
	private boolean show(MethodNode in, AbstractInsnNode i) {
		if (!(i instanceof MethodInsnNode))
			return false;
		MethodInsnNode m = (MethodInsnNode) i;
		if (m.getOpcode() == Opcodes.INVOKESPECIAL && !m.name.equals("<init>"))
			return false;
		for (Call r : shown.getOrDefault(m.name + m.desc, List.of())) {
			if (m.owner.startsWith("[") || !hierarchy.isSubtype(m.owner, r.owner))
				continue;
			Type[] args = Type.getArgumentTypes(m.desc);
			InsnList l = new InsnList();
			Type t = Type.getObjectType(r.owner);
			if (!r.first)
				t = args[args.length - 1];
			if (r.first && args.length > 0) {
				l.add(new InsnNode(Opcodes.DUP2));
				l.add(new InsnNode(Opcodes.POP));
			} else {
				l.add(new InsnNode(Opcodes.DUP));
			}
			l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, r.to, r.as,
				Type.getMethodDescriptor(Type.VOID_TYPE, t), false));
			in.instructions.insertBefore(m, l);
			in.maxStack += 2;
			return true;
		}
		return false;
	}

	private Call of(Map<String, List<Call>> rules, AbstractInsnNode i) {
		if (!(i instanceof MethodInsnNode))
			return null;
		MethodInsnNode m = (MethodInsnNode) i;
		for (Call r : rules.getOrDefault(m.name + m.desc, List.of()))
			if (!m.owner.startsWith("[") && hierarchy.isSubtype(m.owner, r.owner))
				return r;
		return null;
	}

	private boolean map(MethodNode in, AbstractInsnNode i) {
		Call r = of(maps, i);
		if (r == null)
			return false;
		boolean arg = Type.getArgumentTypes(((MethodInsnNode) i).desc).length > 0;
		InsnList l = new InsnList();
		if (arg)
			l.add(new InsnNode(Opcodes.SWAP));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, r.to, r.as, r.asDesc, false));
		if (arg)
			l.add(new InsnNode(Opcodes.SWAP));
		in.instructions.insertBefore(i, l);
		return true;
	}

	/** Applies `define`: passes the class file on the stack through our method. */
	private boolean define(MethodNode in, AbstractInsnNode i) {
		Call r = of(defines, i);
		if (r == null)
			return false;
		Type[] args = Type.getArgumentTypes(((MethodInsnNode) i).desc);
		int[] at = new int[args.length];
		int file = -1;
		int next = in.maxLocals;
		InsnList l = new InsnList();
		for (int k = args.length - 1; k >= 0; k--) {
			at[k] = next;
			l.add(new VarInsnNode(args[k].getOpcode(Opcodes.ISTORE), next));
			next += args[k].getSize();
			if (args[k].getDescriptor().equals("[B")
					|| args[k].getDescriptor().equals("Ljava/nio/ByteBuffer;"))
				file = k;
		}
		in.maxLocals = next;
		boolean part = file + 2 < args.length && args[file + 2] == Type.INT_TYPE;
		l.add(new InsnNode(Opcodes.DUP));
		for (int k = file; k <= (part ? file + 2 : file); k++)
			l.add(new VarInsnNode(args[k].getOpcode(Opcodes.ILOAD), at[k]));
		l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, r.to, r.as, "(Ljava/lang/Object;"
			+ args[file] + (part ? "II)" : ")") + args[file], false));
		l.add(new VarInsnNode(Opcodes.ASTORE, at[file]));
		for (int k = 0; k < args.length; k++) {
			if (part && k == file + 1) {
				l.add(new InsnNode(Opcodes.ICONST_0));
			} else if (part && k == file + 2) {
				l.add(new VarInsnNode(Opcodes.ALOAD, at[file]));
				l.add(new InsnNode(Opcodes.ARRAYLENGTH));
			} else {
				l.add(new VarInsnNode(args[k].getOpcode(Opcodes.ILOAD), at[k]));
			}
		}
		in.instructions.insertBefore(i, l);
		in.maxStack += 4;
		return true;
	}

	private boolean insn(ClassNode c, AbstractInsnNode i, String oldSuper, String newSuper) {
		if (i instanceof TypeInsnNode && i.getOpcode() == Opcodes.NEW) {
			TypeInsnNode t = (TypeInsnNode) i;
			String to = classes.get(t.desc);
			if (to == null || to.equals(c.name))
				return false;
			t.desc = to;
			use(to);
			return true;
		}
		if (i instanceof MethodInsnNode)
			return call(c, (MethodInsnNode) i, oldSuper, newSuper);
		if (i instanceof InvokeDynamicInsnNode) {
			InvokeDynamicInsnNode d = (InvokeDynamicInsnNode) i;
			boolean any = false;
			for (int k = 0; k < d.bsmArgs.length; k++)
				if (d.bsmArgs[k] instanceof Handle) {
					Handle h = handle(c.name, (Handle) d.bsmArgs[k]);
					any |= h != d.bsmArgs[k];
					d.bsmArgs[k] = h;
				}
			return any;
		}
		if (i instanceof LdcInsnNode && ((LdcInsnNode) i).cst instanceof Handle) {
			LdcInsnNode l = (LdcInsnNode) i;
			Handle h = handle(c.name, (Handle) l.cst);
			boolean any = h != l.cst;
			l.cst = h;
			return any;
		}
		return false;
	}

	private boolean call(ClassNode c, MethodInsnNode m, String oldSuper, String newSuper) {
		if (m.getOpcode() == Opcodes.INVOKESPECIAL && !isFinal(m)) {
			if (newSuper != null && m.owner.equals(oldSuper)) {
				/* super.method(), super(...) or `new OLD(...)`: all refer to the new class. */
				m.owner = newSuper;
				return true;
			}
			String to = m.name.equals("<init>") ? classes.get(m.owner) : null;
			if (to == null || to.equals(c.name))
				return false;
			m.owner = to;
			return true;
		}
		Call r = rule(m.owner, m.name, m.desc, m.getOpcode() == Opcodes.INVOKESTATIC);
		if (r == null || r.to.equals(c.name)) {
			if (m.getOpcode() != Opcodes.INVOKESPECIAL || newSuper == null
					|| !m.owner.equals(oldSuper))
				return false;
			m.owner = newSuper;
			return true;
		}
		use(r.to);
		m.desc = r.target(m.desc, m.getOpcode() == Opcodes.INVOKESTATIC);
		m.setOpcode(Opcodes.INVOKESTATIC);
		m.owner = r.to;
		m.name = r.as;
		m.itf = false;
		return true;
	}

	/** super.wait() and the like: no class has another version, so the `call` rules apply. */
	private boolean isFinal(MethodInsnNode superCall) {
		String key = superCall.name + superCall.desc;
		ClassInfo c = hierarchy.resolve(superCall.owner, key);
		return c != null && c.kind == ClassInfo.Kind.FOREIGN
			&& (c.methods.get(key) & (Opcodes.ACC_FINAL | Opcodes.ACC_PRIVATE))
				== Opcodes.ACC_FINAL;
	}

	private Call rule(String owner, String name, String desc, boolean isStatic) {
		List<Call> l = calls.get(name);
		if (l == null || owner.startsWith("["))
			return null;
		for (Call r : l) {
			if (!r.desc.equals("*") && !r.desc.equals(desc))
				continue;
			if (r.only ? !owner.equals(r.owner) : !hierarchy.isSubtype(owner, r.owner))
				continue;
			String key = r.as + r.target(desc, isStatic);
			if (hierarchy.get(r.to) != null && !hierarchy.get(r.to).methods.containsKey(key))
				continue;
			return r;
		}
		return null;
	}

	private Handle handle(String in, Handle h) {
		if (h.getTag() == Opcodes.H_NEWINVOKESPECIAL) {
			String to = classes.get(h.getOwner());
			if (to == null || to.equals(in))
				return h;
			use(to);
			return new Handle(h.getTag(), to, h.getName(), h.getDesc(), false);
		}
		if (h.getTag() < Opcodes.H_INVOKEVIRTUAL || h.getTag() == Opcodes.H_INVOKESPECIAL)
			return h;
		boolean st = h.getTag() == Opcodes.H_INVOKESTATIC;
		Call r = rule(h.getOwner(), h.getName(), h.getDesc(), st);
		if (r == null || r.to.equals(in))
			return h;
		use(r.to);
		String desc = r.target(h.getDesc(), st);
		return new Handle(Opcodes.H_INVOKESTATIC, r.to, r.as, desc, false);
	}
}
