// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.rewrite;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * Lambdas and method references as classes.
 *
 * The class that the JVM spins for a lambda cannot be translated: its frame, between the caller of
 * run() and lambda$0, would be lost. So each lambda gets a class `Foo$$L3` that does what
 * LambdaMetafactory's would do (captured values in fields; the interface's method and its bridges
 * convert and call the target) and takes part in the call graph. The classes of lambdas that never
 * suspend are dropped, and their invokedynamic stays.
 */
public final class Lambdas {
	private static final String LMF = "java/lang/invoke/LambdaMetafactory";

	/** An invokedynamic and the class that would replace it. */
	public static final class Lambda {
		public final ClassNode host;
		public final MethodNode in;
		public final InvokeDynamicInsnNode site;
		public final ClassNode node;
		/** The private method of the host that the class calls directly, or null. */
		private MethodNode open;
		private MethodNode accessor;

		Lambda(ClassNode host, MethodNode in, InvokeDynamicInsnNode site, ClassNode node) {
			this.host = host;
			this.in = in;
			this.site = site;
			this.node = node;
		}

		/** Adds the same invokedynamic in a copy of the method (pico$init). */
		void copied(MethodNode to, AbstractInsnNode copy) {
			copies.add(() -> commit(to, copy));
		}

		private final List<Runnable> copies = new ArrayList<>();

		private void commit(MethodNode to, AbstractInsnNode at) {
			to.instructions.set(at, new MethodInsnNode(Opcodes.INVOKESTATIC, node.name,
				"make", site.desc, false));
		}

		/** Replaces the invokedynamic by the class. */
		public void commit() {
			commit(in, site);
			copies.forEach(Runnable::run);
			boolean itf = (host.access & Opcodes.ACC_INTERFACE) != 0;
			if (open != null) {
				open.access &= ~Opcodes.ACC_PRIVATE;
				if (itf)
					open.access |= Opcodes.ACC_PUBLIC;
				else if ((open.access & Opcodes.ACC_STATIC) == 0)
					open.access |= Opcodes.ACC_FINAL;
			}
		}

		/** The host's method that calls a target which only the host may call, or null. */
		public MethodNode accessor() {
			return accessor;
		}
	}

	private final Hierarchy hierarchy;
	private int count;
	private ClassNode host;

	public Lambdas(Hierarchy h) {
		hierarchy = h;
	}

	/** All lambdas of a class, with their classes; changes nothing yet. */
	public List<Lambda> of(ClassNode c) {
		List<Lambda> l = new ArrayList<>();
		host = c;
		count = 0;
		if ((c.version & 0xffff) < Opcodes.V1_8)
			return l;
		for (MethodNode m : new ArrayList<>(c.methods))
			for (AbstractInsnNode i : m.instructions)
				if (i instanceof InvokeDynamicInsnNode) {
					InvokeDynamicInsnNode d = (InvokeDynamicInsnNode) i;
					if (d.bsm.getOwner().equals(LMF))
						l.add(make(m, d));
				}
		return l;
	}

	private Lambda make(MethodNode in, InvokeDynamicInsnNode d) {
		ClassNode n = new ClassNode(Opcodes.ASM9);
		n.version = host.version;
		n.access = Opcodes.ACC_FINAL | Opcodes.ACC_SUPER | Opcodes.ACC_SYNTHETIC;
		n.name = host.name + "$$L" + count++;
		n.superName = "java/lang/Object";
		n.sourceFile = host.sourceFile;
		Set<String> itfs = new LinkedHashSet<>();
		itfs.add(Type.getReturnType(d.desc).getInternalName());
		Set<String> descs = new LinkedHashSet<>();
		descs.add(((Type) d.bsmArgs[0]).getDescriptor());
		if (d.bsm.getName().equals("altMetafactory"))
			alternatives(d, itfs, descs);
		n.interfaces.addAll(itfs);
		Lambda l = new Lambda(host, in, d, n);
		Type[] captured = Type.getArgumentTypes(d.desc);
		make(n, captured, d.desc);
		Handle impl = (Handle) d.bsmArgs[1];
		for (String desc : descs)
			n.methods.add(method(l, n, d.name, desc, captured, impl, (Type) d.bsmArgs[2]));
		return l;
	}

	private static void alternatives(InvokeDynamicInsnNode d, Set<String> itfs,
			Set<String> descs) {
		int k = 3;
		int flags = (Integer) d.bsmArgs[k++];
		if ((flags & 1) != 0)
			itfs.add("java/io/Serializable");
		if ((flags & 2) != 0)
			for (int n = (Integer) d.bsmArgs[k++]; n > 0; n--)
				itfs.add(((Type) d.bsmArgs[k++]).getInternalName());
		if ((flags & 4) != 0)
			for (int n = (Integer) d.bsmArgs[k++]; n > 0; n--)
				descs.add(((Type) d.bsmArgs[k++]).getDescriptor());
	}

	/**
	 * Makes fields, constructor and the static factory with the invokedynamic's descriptor. A
	 * lambda that captures nothing is one object, as the JVM's.
	 */
	private static void make(ClassNode n, Type[] captured, String desc) {
		String init = Type.getMethodDescriptor(Type.VOID_TYPE, captured);
		MethodNode c = new MethodNode(Opcodes.ASM9, Opcodes.ACC_PRIVATE, "<init>", init, null,
			null);
		c.instructions.add(new VarInsnNode(Opcodes.ALOAD, 0));
		c.instructions.add(new MethodInsnNode(Opcodes.INVOKESPECIAL, "java/lang/Object",
			"<init>", "()V", false));
		MethodNode f = new MethodNode(Opcodes.ASM9, Opcodes.ACC_STATIC, "make", desc, null,
			null);
		f.instructions.add(new TypeInsnNode(Opcodes.NEW, n.name));
		f.instructions.add(new InsnNode(Opcodes.DUP));
		int at = 0;
		for (int k = 0; k < captured.length; k++) {
			Type t = captured[k];
			n.fields.add(new FieldNode(Opcodes.ACC_PRIVATE | Opcodes.ACC_FINAL, "a" + k,
				t.getDescriptor(), null, null));
			c.instructions.add(new VarInsnNode(Opcodes.ALOAD, 0));
			c.instructions.add(new VarInsnNode(t.getOpcode(Opcodes.ILOAD), at + 1));
			c.instructions.add(new FieldInsnNode(Opcodes.PUTFIELD, n.name, "a" + k,
				t.getDescriptor()));
			f.instructions.add(new VarInsnNode(t.getOpcode(Opcodes.ILOAD), at));
			at += t.getSize();
		}
		c.instructions.add(new InsnNode(Opcodes.RETURN));
		c.maxLocals = at + 1;
		f.instructions.add(new MethodInsnNode(Opcodes.INVOKESPECIAL, n.name, "<init>", init,
			false));
		f.instructions.add(new InsnNode(Opcodes.ARETURN));
		f.maxLocals = at;
		n.methods.add(c);
		n.methods.add(f);
		if (captured.length == 0)
			makeOne(n, f);
	}

	/** Moves the code of the factory f into the initialiser of a field, which f then reads. */
	private static void makeOne(ClassNode n, MethodNode f) {
		String type = Type.getObjectType(n.name).getDescriptor();
		n.fields.add(new FieldNode(Opcodes.ACC_PRIVATE | Opcodes.ACC_STATIC
			| Opcodes.ACC_FINAL, "one", type, null, null));
		MethodNode init = new MethodNode(Opcodes.ASM9, Opcodes.ACC_STATIC, "<clinit>", "()V",
			null, null);
		init.instructions = f.instructions;
		init.instructions.set(init.instructions.getLast(), new FieldInsnNode(
			Opcodes.PUTSTATIC, n.name, "one", type));
		init.instructions.add(new InsnNode(Opcodes.RETURN));
		n.methods.add(init);
		f.instructions = new InsnList();
		f.instructions.add(new FieldInsnNode(Opcodes.GETSTATIC, n.name, "one", type));
		f.instructions.add(new InsnNode(Opcodes.ARETURN));
	}

	private MethodNode method(Lambda l, ClassNode n, String name, String desc,
			Type[] captured, Handle impl, Type instantiated) {
		MethodNode m = new MethodNode(Opcodes.ASM9, Opcodes.ACC_PUBLIC, name, desc, null,
			null);
		InsnList c = m.instructions;
		boolean virtual = impl.getTag() != Opcodes.H_INVOKESTATIC
			&& impl.getTag() != Opcodes.H_NEWINVOKESPECIAL;
		List<Type> want = new ArrayList<>();
		if (virtual)
			want.add(Type.getObjectType(impl.getOwner()));
		want.addAll(List.of(Type.getArgumentTypes(impl.getDesc())));
		if (impl.getTag() == Opcodes.H_NEWINVOKESPECIAL) {
			c.add(new TypeInsnNode(Opcodes.NEW, impl.getOwner()));
			c.add(new InsnNode(Opcodes.DUP));
		}
		int w = 0;
		for (int k = 0; k < captured.length; k++, w++) {
			c.add(new VarInsnNode(Opcodes.ALOAD, 0));
			c.add(new FieldInsnNode(Opcodes.GETFIELD, n.name, "a" + k,
				captured[k].getDescriptor()));
			Convert.convert(c, captured[k], want.get(w));
		}
		Type[] sam = Type.getArgumentTypes(desc);
		Type[] inst = instantiated.getArgumentTypes();
		int at = 1;
		for (int k = 0; k < sam.length; k++, w++) {
			c.add(new VarInsnNode(sam[k].getOpcode(Opcodes.ILOAD), at));
			at += sam[k].getSize();
			Convert.convert(c, sam[k], inst[k]);
			Convert.convert(c, inst[k], want.get(w));
		}
		Type got = call(l, c, impl);
		Type back = Type.getReturnType(desc);
		if (back.getSort() == Type.VOID) {
			if (got.getSort() != Type.VOID)
				c.add(new InsnNode(got.getSize() == 2 ? Opcodes.POP2 : Opcodes.POP));
		} else {
			Type mid = instantiated.getReturnType();
			Convert.convert(c, got, mid);
			Convert.convert(c, mid, back);
		}
		c.add(new InsnNode(back.getOpcode(Opcodes.IRETURN)));
		m.maxLocals = at;
		m.maxStack = 2 * at + 2 * captured.length + 6;
		return m;
	}

	/** Adds the call of the target, through an accessor if only the host may call it. */
	private Type call(Lambda l, InsnList c, Handle h) {
		boolean ctor = h.getTag() == Opcodes.H_NEWINVOKESPECIAL;
		Type back = ctor ? Type.getObjectType(h.getOwner()) : Type.getReturnType(h.getDesc());
		int op;
		switch (h.getTag()) {
		case Opcodes.H_INVOKESTATIC: op = Opcodes.INVOKESTATIC; break;
		case Opcodes.H_INVOKEINTERFACE: op = Opcodes.INVOKEINTERFACE; break;
		case Opcodes.H_INVOKEVIRTUAL: op = Opcodes.INVOKEVIRTUAL; break;
		default: op = Opcodes.INVOKESPECIAL; break;
		}
		MethodNode target = h.getOwner().equals(host.name) ? find(h) : null;
		if (target != null && (target.access & Opcodes.ACC_PRIVATE) != 0 && !ctor
				&& (target.access & Opcodes.ACC_SYNTHETIC) != 0 && !namesake(target)) {
			l.open = target;
			if (op == Opcodes.INVOKESPECIAL)
				op = h.isInterface() ? Opcodes.INVOKEINTERFACE : Opcodes.INVOKEVIRTUAL;
		} else if (needsHost(h, target, op, ctor)) {
			accessor(l, h, op, ctor, back);
			if (ctor) {
				/* NEW and DUP were for a direct call: the accessor has its own. */
				dropNew(c);
			}
			c.add(new MethodInsnNode(Opcodes.INVOKESTATIC, host.name, l.accessor.name,
				l.accessor.desc, (host.access & Opcodes.ACC_INTERFACE) != 0));
			return back;
		}
		c.add(new MethodInsnNode(op, h.getOwner(), h.getName(), h.getDesc(),
			h.isInterface()));
		return back;
	}

	private static void dropNew(InsnList c) {
		for (AbstractInsnNode i : c)
			if (i.getOpcode() == Opcodes.NEW) {
				c.remove(i.getNext());
				c.remove(i);
				return;
			}
	}

	/**
	 * True if a class above or below has a method of this name, so that one would override the
	 * other. A default method may meet another interface's in an unknown class.
	 */
	private boolean namesake(MethodNode target) {
		if ((target.access & Opcodes.ACC_STATIC) != 0)
			return false;
		if ((host.access & Opcodes.ACC_INTERFACE) != 0)
			return true;
		String key = target.name + target.desc;
		for (Set<String> some : List.of(hierarchy.below(host.name), hierarchy.supers(host.name)))
			for (String k : some)
				if (!k.equals(host.name) && hierarchy.get(k) != null
						&& hierarchy.get(k).methods.containsKey(key))
					return true;
		return false;
	}

	private boolean needsHost(Handle h, MethodNode target, int op, boolean ctor) {
		if (target != null)
			return (target.access & Opcodes.ACC_PRIVATE) != 0
				|| op == Opcodes.INVOKESPECIAL && !ctor;
		if (op == Opcodes.INVOKESPECIAL && !ctor)
			return true;
		var c = hierarchy.resolve(h.getOwner(), h.getName() + h.getDesc());
		if (c == null)
			return false;
		int access = c.methods.getOrDefault(h.getName() + h.getDesc(), Opcodes.ACC_PUBLIC);
		return (access & (Opcodes.ACC_PROTECTED | Opcodes.ACC_PRIVATE)) != 0;
	}

	private MethodNode find(Handle h) {
		for (MethodNode m : host.methods)
			if (m.name.equals(h.getName()) && m.desc.equals(h.getDesc()))
				return m;
		return null;
	}

	private void accessor(Lambda l, Handle h, int op, boolean ctor, Type back) {
		if (l.accessor != null)
			return;
		List<Type> args = new ArrayList<>();
		if (op != Opcodes.INVOKESTATIC && !ctor)
			args.add(Type.getObjectType(op == Opcodes.INVOKESPECIAL ? host.name
				: h.getOwner()));
		args.addAll(List.of(Type.getArgumentTypes(h.getDesc())));
		boolean itf = (host.access & Opcodes.ACC_INTERFACE) != 0;
		MethodNode a = new MethodNode(Opcodes.ASM9, Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC
			| (itf ? Opcodes.ACC_PUBLIC : 0), "pico$$access$" + count,
			Type.getMethodDescriptor(back, args.toArray(new Type[0])), null, null);
		if (ctor) {
			a.instructions.add(new TypeInsnNode(Opcodes.NEW, h.getOwner()));
			a.instructions.add(new InsnNode(Opcodes.DUP));
		}
		int at = 0;
		for (Type t : args) {
			a.instructions.add(new VarInsnNode(t.getOpcode(Opcodes.ILOAD), at));
			at += t.getSize();
		}
		a.instructions.add(new MethodInsnNode(op, h.getOwner(), h.getName(), h.getDesc(),
			h.isInterface()));
		a.instructions.add(new InsnNode(back.getOpcode(Opcodes.IRETURN)));
		a.maxLocals = at;
		a.maxStack = at + 3;
		l.accessor = a;
	}
}
