// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import sun.misc.Unsafe;

/*
 * References between objects as the JVM sees them: every field, including static ones, without
 * running or initialising anything. The worker's JVM exports jdk.internal.misc for this, because
 * sun.misc.Unsafe gives no offsets in records and hidden classes. sun.misc.Unsafe does the reads:
 * a direct call of it is one instruction, which a call through a method handle is not in C1.
 */
final class Heap {
	private static final Unsafe READ;
	private static final MethodHandle OFFSET;
	private static final MethodHandle STATIC_BASE;
	private static final MethodHandle STATIC_OFFSET;

	static {
		try {
			Class<?> u = Class.forName("jdk.internal.misc.Unsafe");
			MethodHandles.Lookup l = MethodHandles.lookup();
			Object the = u.getMethod("getUnsafe").invoke(null);
			Field f = Unsafe.class.getDeclaredField("theUnsafe");
			f.setAccessible(true);
			READ = (Unsafe) f.get(null);
			MethodType of = MethodType.methodType(long.class, Field.class);
			OFFSET = l.findVirtual(u, "objectFieldOffset", of).bindTo(the);
			STATIC_OFFSET = l.findVirtual(u, "staticFieldOffset", of).bindTo(the);
			STATIC_BASE = l.findVirtual(u, "staticFieldBase",
				MethodType.methodType(Object.class, Field.class)).bindTo(the);
		} catch (ReflectiveOperationException e) {
			throw new ExceptionInInitializerError(e);
		}
	}

	private Heap() {}

	/** Where the references of a class's objects are. */
	private static final class Layout {
		final long[] refs;

		Layout(Class<?> c) {
			List<Long> l = new ArrayList<>();
			for (Class<?> k = c; k != null; k = k.getSuperclass())
				for (Field f : k.getDeclaredFields()) {
					if (Modifier.isStatic(f.getModifiers()))
						continue;
					if (!f.getType().isPrimitive())
						l.add(offset(OFFSET, f));
				}
			refs = l.stream().mapToLong(Long::longValue).toArray();
		}
	}

	private static final ClassValue<Layout> LAYOUTS = new ClassValue<>() {
		@Override
		protected Layout computeValue(Class<?> c) {
			return new Layout(c);
		}
	};

	private static long offset(MethodHandle h, Field f) {
		try {
			return (long) h.invokeExact(f);
		} catch (Throwable e) {
			throw new IllegalStateException(f.toString(), e);
		}
	}

	/** What o refers to. */
	static void refs(Object o, Consumer<Object> to) {
		Class<?> c = o.getClass();
		if (c.isArray()) {
			if (!c.getComponentType().isPrimitive())
				for (Object x : (Object[]) o)
					if (x != null)
						to.accept(x);
			return;
		}
		for (long at : LAYOUTS.get(c).refs) {
			Object x = READ.getObject(o, at);
			if (x != null)
				to.accept(x);
		}
	}

	/** Where the static references of a class are. */
	private static final class Statics {
		final Object[] bases;
		final long[] offsets;

		Statics(Class<?> c) {
			List<Object> b = new ArrayList<>();
			List<Long> o = new ArrayList<>();
			Field[] fs;
			try {
				fs = c.getDeclaredFields();
			} catch (LinkageError e) {
				fs = new Field[0];
			}
			for (Field f : fs) {
				if (!Modifier.isStatic(f.getModifiers()) || f.getType().isPrimitive())
					continue;
				try {
					b.add((Object) STATIC_BASE.invokeExact(f));
				} catch (Throwable e) {
					throw new IllegalStateException(f.toString(), e);
				}
				o.add(offset(STATIC_OFFSET, f));
			}
			bases = b.toArray();
			offsets = o.stream().mapToLong(Long::longValue).toArray();
		}
	}

	private static final ClassValue<Statics> STATICS = new ClassValue<>() {
		@Override
		protected Statics computeValue(Class<?> c) {
			return new Statics(c);
		}
	};

	static boolean hasStatics(Class<?> c) {
		return STATICS.get(c).bases.length > 0;
	}

	/** What the static fields of c refer to; nothing if c is not initialised. */
	static void statics(Class<?> c, Consumer<Object> to) {
		Statics s = STATICS.get(c);
		for (int k = 0; k < s.bases.length; k++) {
			Object x = READ.getObject(s.bases[k], s.offsets[k]);
			if (x != null)
				to.accept(x);
		}
	}

	/** A set of objects by identity: open addressing. */
	static final class Marks {
		private Object[] table = new Object[1 << 12];
		private int size;

		boolean add(Object o) {
			if (2 * size >= table.length)
				grow();
			int k = slot(table, o);
			if (table[k] == o)
				return false;
			table[k] = o;
			size++;
			return true;
		}

		boolean has(Object o) {
			return table[slot(table, o)] == o;
		}

		int size() {
			return size;
		}

		private static int slot(Object[] t, Object o) {
			int h = System.identityHashCode(o) * 0x9E3779B9;
			int k = (h ^ h >>> 15) & t.length - 1;
			while (t[k] != null && t[k] != o)
				k = k + 1 & t.length - 1;
			return k;
		}

		private void grow() {
			Object[] t = new Object[table.length * 4];
			for (Object o : table)
				if (o != null)
					t[slot(t, o)] = o;
			table = t;
		}
	}
}
