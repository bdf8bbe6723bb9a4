// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse;

import java.util.HashMap;
import java.util.Map;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.analysis.Analyzer;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;
import org.objectweb.asm.tree.analysis.Interpreter;
import org.objectweb.asm.tree.analysis.SimpleVerifier;
import org.ukthreads.pico.translate.read.Hierarchy;

/*
 * The verifier's view of a method: the type of every local and stack slot before every instruction.
 * The rewriter needs two more facts:
 *
 *   - a value that NEW made is `New` until its constructor has run;
 *   - a value that a load or a constant pushed remembers that instruction (`from`), so that the
 *     rewriter can push it again instead of spilling it.
 */
public final class Types extends SimpleVerifier {
	/** An object from NEW (or `this` before super()) that is not yet constructed. */
	public static final class New extends BasicValue {
		public final AbstractInsnNode at;

		New(Type t, AbstractInsnNode at) {
			super(t);
			this.at = at;
		}

		@Override
		public boolean equals(Object o) {
			return o instanceof New && ((New) o).at == at && super.equals(o);
		}

		@Override
		public int hashCode() {
			return super.hashCode();
		}
	}

	/** A value on the stack whose only source is a load or a constant. */
	public static final class Pushed extends BasicValue {
		public final AbstractInsnNode from;

		Pushed(Type t, AbstractInsnNode from) {
			super(t);
			this.from = from;
		}

		@Override
		public boolean equals(Object o) {
			return o instanceof Pushed && ((Pushed) o).from == from && super.equals(o);
		}

		@Override
		public int hashCode() {
			return super.hashCode();
		}
	}

	private final Hierarchy hierarchy;
	private final String owner;
	private final boolean constructor;

	private Types(Hierarchy h, String owner, boolean constructor) {
		super(Opcodes.ASM9, Type.getObjectType(owner), null, null, false);
		hierarchy = h;
		this.owner = owner;
		this.constructor = constructor;
	}

	/** A method that cannot be analysed. Its class is not split. */
	public static final class Unreadable extends RuntimeException {
		public final String owner;

		public Unreadable(String owner, String why, Throwable cause) {
			super(why, cause);
			this.owner = owner;
		}
	}

	/** Limit of values in the frames of a method: more take over 100 MB. */
	private static final long MOST = 25_000_000;

	public static boolean isHuge(MethodNode m) {
		return (long) m.instructions.size() * (m.maxLocals + m.maxStack) > MOST;
	}

	/** The frame before each instruction; null where it is unreachable. */
	public static Frame<BasicValue>[] of(Hierarchy h, String owner, MethodNode m)
			throws AnalyzerException {
		if (isHuge(m))
			throw new Unreadable(owner, m.name + m.desc + " is too large", null);
		Types t = new Types(h, owner, m.name.equals("<init>"));
		Analyzer<BasicValue> a = new Analyzer<>(t) {
			@Override
			protected Frame<BasicValue> newFrame(int locals, int stack) {
				return new Step(locals, stack);
			}

			@Override
			protected Frame<BasicValue> newFrame(Frame<? extends BasicValue> f) {
				return new Step(f);
			}
		};
		try {
			return a.analyzeAndComputeMaxs(owner, m);
		} catch (AnalyzerException | RuntimeException e) {
			throw new Unreadable(owner, m.name + m.desc + ": " + e.getMessage(), e);
		}
	}

	/** A frame that marks every copy of an object as constructed. */
	private static final class Step extends Frame<BasicValue> {
		Step(int locals, int stack) {
			super(locals, stack);
		}

		Step(Frame<? extends BasicValue> f) {
			super(f);
		}

		@Override
		public void execute(AbstractInsnNode i, Interpreter<BasicValue> in)
				throws AnalyzerException {
			BasicValue made = null;
			if (i.getOpcode() == Opcodes.INVOKESPECIAL
					&& ((MethodInsnNode) i).name.equals("<init>")) {
				int n = Type.getArgumentTypes(((MethodInsnNode) i).desc).length;
				made = getStack(getStackSize() - n - 1);
			}
			super.execute(i, in);
			if (made instanceof New) {
				BasicValue v = new BasicValue(made.getType());
				for (int k = 0; k < getLocals(); k++)
					if (made.equals(getLocal(k)))
						setLocal(k, v);
				for (int k = 0; k < getStackSize(); k++)
					if (made.equals(getStack(k)))
						setStack(k, v);
			}
		}
	}

	@Override
	public BasicValue newParameterValue(boolean instance, int local, Type type) {
		if (constructor && local == 0)
			return new New(type, null);
		return super.newParameterValue(instance, local, type);
	}

	@Override
	public BasicValue newOperation(AbstractInsnNode i) throws AnalyzerException {
		BasicValue v = super.newOperation(i);
		if (i.getOpcode() == Opcodes.NEW)
			return new New(v.getType(), i);
		return v == null || v.getType() == null ? v : new Pushed(v.getType(), i);
	}

	@Override
	public BasicValue copyOperation(AbstractInsnNode i, BasicValue v)
			throws AnalyzerException {
		int op = i.getOpcode();
		if (v instanceof New)
			return v;
		if (op >= Opcodes.ILOAD && op <= Opcodes.ALOAD) {
			super.copyOperation(i, plain(v));
			return new Pushed(v.getType(), i);
		}
		if (op >= Opcodes.ISTORE && op <= Opcodes.ASTORE)
			return super.copyOperation(i, plain(v));
		return v;
	}

	private static BasicValue plain(BasicValue v) {
		return v instanceof Pushed || v instanceof Merged ? new BasicValue(v.getType()) : v;
	}

	/**
	 * A value that was Pushed and now has several sources. It needs a class of its own: the
	 * analyzer keeps the old value when new.equals(old), and a BasicValue equals every value of its
	 * type, also a Pushed one.
	 */
	private static final class Merged extends BasicValue {
		Merged(Type t) {
			super(t);
		}

		@Override
		public boolean equals(Object o) {
			return o instanceof Merged && super.equals(o);
		}

		@Override
		public int hashCode() {
			return super.hashCode();
		}
	}

	@Override
	public BasicValue merge(BasicValue a, BasicValue b) {
		if (a == b || a.getClass() == b.getClass() && a.equals(b))
			return a;
		if (a instanceof New || b instanceof New)
			return BasicValue.UNINITIALIZED_VALUE;
		merging = true;
		BasicValue r = super.merge(plain(a), plain(b));
		merging = false;
		if (r.getType() == null)
			return r;
		if (!r.getType().equals(a.getType()) && !r.getType().equals(b.getType()))
			r = nameable(r);
		if (a instanceof Pushed)
			return new Merged(r.getType());
		return r.getType().equals(a.getType()) ? a : r;
	}

	/**
	 * A common superclass that the method does not name. If it is hidden in a package of the JDK or
	 * of a library, resume code cannot cast to it, and the method does not need it: returns one
	 * above it.
	 */
	private BasicValue nameable(BasicValue v) {
		Type t = v.getType();
		Type e = t.getSort() == Type.ARRAY ? t.getElementType() : t;
		if (e.getSort() != Type.OBJECT || !hierarchy.isHidden(e.getInternalName(), owner))
			return v;
		String up = e.getInternalName();
		while (hierarchy.isHidden(up, owner))
			up = hierarchy.superOf(up);
		String dims = "[".repeat(t.getSort() == Type.ARRAY ? t.getDimensions() : 0);
		return new BasicValue(Type.getType(dims + "L" + up + ";"));
	}

	/* Types from class files. */

	private final Map<String, Boolean> assignable = new HashMap<>();
	/**
	 * The verifier accepts any object for an interface. But resume code casts to a merged type, so
	 * it must be right.
	 */
	private boolean merging;

	@Override
	protected boolean isInterface(Type t) {
		return t.getSort() == Type.OBJECT && hierarchy.isInterface(t.getInternalName());
	}

	@Override
	protected Type getSuperClass(Type t) {
		if (t.getSort() == Type.ARRAY)
			return Type.getObjectType("java/lang/Object");
		String s = hierarchy.superOf(t.getInternalName());
		return s == null ? null : Type.getObjectType(s);
	}

	@Override
	protected boolean isAssignableFrom(Type to, Type from) {
		if (to.equals(from))
			return true;
		if (to.getSort() == Type.OBJECT && to.getInternalName().equals("java/lang/Object"))
			return true;
		return assignable.computeIfAbsent(to + (merging ? "+" : " ") + from,
			k -> assign(to, from));
	}

	private boolean assign(Type to, Type from) {
		if (merging)
			return hierarchy.isSubtype(from.getInternalName(), to.getInternalName());
		if (from.getDescriptor().equals("Lnull;"))
			return true;
		if (from.getSort() == Type.ARRAY) {
			if (to.getSort() == Type.OBJECT)
				return hierarchy.isInterface(to.getInternalName());
			Type f = sub(from);
			Type t = sub(to);
			boolean refs = f.getSort() >= Type.ARRAY && t.getSort() >= Type.ARRAY;
			return refs ? isAssignableFrom(t, f) : f.equals(t);
		}
		if (to.getSort() == Type.ARRAY)
			return false;
		/* If the class or one above it is not on the path, trust the compiler. */
		if (!hierarchy.isWhole(from.getInternalName())
				|| hierarchy.get(to.getInternalName()) == null)
			return true;
		return hierarchy.isInterface(to.getInternalName())
			|| hierarchy.isSubtype(from.getInternalName(), to.getInternalName());
	}

	private static Type sub(Type array) {
		return Type.getType(array.getDescriptor().substring(1));
	}

	@Override
	protected boolean isSubTypeOf(BasicValue v, BasicValue expected) {
		if (v instanceof New)
			return true;
		return super.isSubTypeOf(plain(v), plain(expected));
	}
}
