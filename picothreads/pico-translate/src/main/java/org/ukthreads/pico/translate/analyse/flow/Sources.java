// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.analyse.flow;

import java.util.Arrays;
import java.util.List;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.analysis.Analyzer;
import org.objectweb.asm.tree.analysis.Frame;
import org.objectweb.asm.tree.analysis.Interpreter;
import org.objectweb.asm.tree.analysis.Value;

/**
 * Where the values of a method's locals and stack come from: variables of the Solver. A value of no
 * interest (a number, a string, null) has no source.
 */
final class Sources extends Interpreter<Sources.V> {
	/** A value: its sources, sorted. */
	static final class V implements Value {
		final int size;
		final int[] from;

		V(int size, int... from) {
			this.size = size;
			this.from = from;
		}

		@Override
		public int getSize() {
			return size;
		}

		@Override
		public boolean equals(Object o) {
			return o instanceof V && ((V) o).size == size && Arrays.equals(((V) o).from, from);
		}

		@Override
		public int hashCode() {
			return 31 * size + Arrays.hashCode(from);
		}
	}

	/** Says which variable a value is; below 0 if none. */
	interface Maker {
		int make(AbstractInsnNode i);

		int parameter(int local);

		int caught(TryCatchBlockNode b);

		/** A new variable for many sources. */
		int join();

		void joins(int from, int to);
	}

	private static final V ONE = new V(1);
	private static final V TWO = new V(2);
	/** If a value has more sources, they become one variable. */
	private static final int MANY = 24;
	private final Maker maker;

	Sources(Maker maker) {
		super(Opcodes.ASM9);
		this.maker = maker;
	}

	private static V none(int size) {
		return size == 2 ? TWO : ONE;
	}

	private static V of(int v) {
		return v < 0 ? ONE : new V(1, v);
	}

	private V made(AbstractInsnNode i, Type t) {
		if (t.getSort() == Type.VOID)
			return null;
		return t.getSort() < Type.ARRAY ? none(t.getSize()) : of(maker.make(i));
	}

	@Override
	public V newValue(Type t) {
		return t == Type.VOID_TYPE ? null : none(t == null ? 1 : t.getSize());
	}

	@Override
	public V newParameterValue(boolean instance, int local, Type t) {
		return t.getSort() < Type.ARRAY ? none(t.getSize()) : of(maker.parameter(local));
	}

	@Override
	public V newExceptionValue(TryCatchBlockNode b, Frame<V> f, Type t) {
		return of(maker.caught(b));
	}

	@Override
	public V newOperation(AbstractInsnNode i) {
		switch (i.getOpcode()) {
		case Opcodes.LCONST_0: case Opcodes.LCONST_1: case Opcodes.DCONST_0:
		case Opcodes.DCONST_1:
			return TWO;
		case Opcodes.LDC: {
			Object c = ((LdcInsnNode) i).cst;
			return none(c instanceof Long || c instanceof Double ? 2 : 1);
		}
		case Opcodes.GETSTATIC:
			return made(i, Type.getType(((FieldInsnNode) i).desc));
		case Opcodes.NEW:
			return of(maker.make(i));
		default:
			return ONE;
		}
	}

	@Override
	public V copyOperation(AbstractInsnNode i, V v) {
		return v;
	}

	@Override
	public V unaryOperation(AbstractInsnNode i, V v) {
		switch (i.getOpcode()) {
		case Opcodes.GETFIELD:
			return made(i, Type.getType(((FieldInsnNode) i).desc));
		case Opcodes.CHECKCAST: case Opcodes.ANEWARRAY:
			return of(maker.make(i));
		case Opcodes.LNEG: case Opcodes.DNEG: case Opcodes.I2L: case Opcodes.I2D:
		case Opcodes.L2D: case Opcodes.F2L: case Opcodes.F2D: case Opcodes.D2L:
			return TWO;
		default:
			return ONE;
		}
	}

	@Override
	public V binaryOperation(AbstractInsnNode i, V a, V b) {
		switch (i.getOpcode()) {
		case Opcodes.AALOAD:
			return of(maker.make(i));
		case Opcodes.LALOAD: case Opcodes.DALOAD: case Opcodes.LADD: case Opcodes.LSUB:
		case Opcodes.LMUL: case Opcodes.LDIV: case Opcodes.LREM: case Opcodes.LSHL:
		case Opcodes.LSHR: case Opcodes.LUSHR: case Opcodes.LAND: case Opcodes.LOR:
		case Opcodes.LXOR: case Opcodes.DADD: case Opcodes.DSUB: case Opcodes.DMUL:
		case Opcodes.DDIV: case Opcodes.DREM:
			return TWO;
		default:
			return ONE;
		}
	}

	@Override
	public V ternaryOperation(AbstractInsnNode i, V a, V b, V c) {
		return null;
	}

	@Override
	public V naryOperation(AbstractInsnNode i, List<? extends V> vs) {
		if (i instanceof MethodInsnNode)
			return made(i, Type.getReturnType(((MethodInsnNode) i).desc));
		if (i instanceof InvokeDynamicInsnNode)
			return made(i, Type.getReturnType(((InvokeDynamicInsnNode) i).desc));
		return of(maker.make(i));
	}

	@Override
	public void returnOperation(AbstractInsnNode i, V v, V expected) {}

	/** The variable for values with more than MANY sources; below 0: none yet. */
	private int join = -1;

	@Override
	public V merge(V a, V b) {
		if (b.from.length == 0 || a.equals(b))
			return a;
		int[] m = union(a.from, b.from);
		if (m.length == a.from.length)
			return a;
		if (m.length <= MANY && !isJoined(a) && !isJoined(b))
			return new V(1, m);
		if (join < 0)
			join = maker.join();
		for (int v : m)
			maker.joins(v, join);
		return isJoined(a) ? a : new V(1, join);
	}

	private boolean isJoined(V v) {
		return join >= 0 && v.from.length == 1 && v.from[0] == join;
	}

	private static int[] union(int[] a, int[] b) {
		int[] m = new int[a.length + b.length];
		int n = 0;
		int j = 0;
		int k = 0;
		while (j < a.length || k < b.length) {
			int x = j < a.length ? a[j] : Integer.MAX_VALUE;
			int y = k < b.length ? b[k] : Integer.MAX_VALUE;
			m[n++] = Math.min(x, y);
			j += x <= y ? 1 : 0;
			k += y <= x ? 1 : 0;
		}
		return Arrays.copyOf(m, n);
	}

	static Analyzer<V> analyzer(Maker m) {
		return new Analyzer<>(new Sources(m));
	}
}
