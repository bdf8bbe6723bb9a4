// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.Externalizable;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import org.ukthreads.pico.NeverBlocks;

/*
 * How the objects of a class are written.
 *
 *   FIELDS  by all fields: a class of the program without a serial form of its own
 *   RECORD  by the components; the canonical constructor makes it
 *   ENUM    by the name of the constant
 *   STREAM  by Java's streams: it has its own serial form (writeObject...), or is of the JDK
 *   REFUSED not Serializable
 */
@NeverBlocks
final class Shape {
	enum How { FIELDS, RECORD, ENUM, STREAM, REFUSED }

	final Class<?> type;
	final How how;
	/** Those of the superclass first; no static ones, and transient ones only in ofWhole(). */
	final Field[] fields;
	/** The letters of descriptors: Z B C S I J F D, and L for all references. */
	final char[] kinds;
	private final Constructor<?> blank;
	private final Constructor<?> canonical;

	private static final ClassValue<Shape> OF = new ClassValue<Shape>() {
		@Override
		protected Shape computeValue(Class<?> c) {
			try {
				return new Shape(c);
			} catch (ReflectiveOperationException e) {
				throw new IllegalStateException(c.getName(), e);
			}
		}
	};

	static Shape of(Class<?> c) {
		return OF.get(c);
	}

	/** All fields, whatever serial form the class has. */
	private static final ClassValue<Shape> WHOLE = new ClassValue<Shape>() {
		@Override
		protected Shape computeValue(Class<?> c) {
			try {
				return new Shape(c, How.FIELDS, Modifier.STATIC);
			} catch (ReflectiveOperationException e) {
				throw new IllegalStateException(c.getName(), e);
			}
		}
	};

	static Shape ofWhole(Class<?> c) {
		Shape s = of(c);
		return s.how != How.ENUM && s.how != How.RECORD && isOfProgram(c) ? WHOLE.get(c) : s;
	}

	/**
	 * Returns true if the JDK and the JVM make no part of an object of this class, except what
	 * collections inherit.
	 */
	private static boolean isOfProgram(Class<?> c) {
		if (isJdk(c) || c.getName().indexOf('/') >= 0
				|| java.lang.reflect.Proxy.isProxyClass(c) || isLambda(c) || c.isArray() || c.isInterface())
			return false;
		for (Class<?> k = c; k != Object.class && k != null; k = k.getSuperclass())
			if (isJdk(k) && !isSkeleton(k))
				return false;
		return true;
	}

	/**
	 * Returns true for a JDK class without fields, or with those of an AbstractList or the like if
	 * this code may access them.
	 */
	private static boolean isSkeleton(Class<?> c) {
		for (Field f : c.getDeclaredFields())
			if (!Modifier.isStatic(f.getModifiers())) {
				if (!c.getName().startsWith("java.util.Abstract"))
					return false;
				try {
					f.setAccessible(true);
				} catch (RuntimeException e) {
					return false;
				}
			}
		return true;
	}

	private Shape(Class<?> c) throws ReflectiveOperationException {
		this(c, how(c), Modifier.STATIC | Modifier.TRANSIENT);
	}

	/** @param without modifiers of fields that are left out */
	private Shape(Class<?> c, How how, int without) throws ReflectiveOperationException {
		type = c;
		this.how = how;
		List<Field> fs = new ArrayList<>();
		if (how == How.FIELDS)
			collect(c, fs, without);
		else if (how == How.RECORD)
			for (Field f : c.getDeclaredFields())
				if (!Modifier.isStatic(f.getModifiers()))
					fs.add(f);
		fields = fs.toArray(new Field[0]);
		kinds = new char[fields.length];
		Class<?>[] types = new Class<?>[fields.length];
		for (int k = 0; k < kinds.length; k++) {
			fields[k].setAccessible(true);
			types[k] = fields[k].getType();
			kinds[k] = kind(types[k]);
		}
		blank = how == How.FIELDS ? blank(c) : null;
		canonical = how == How.RECORD ? c.getDeclaredConstructor(types) : null;
		if (canonical != null)
			canonical.setAccessible(true);
	}

	private static How how(Class<?> c) {
		if (Enum.class.isAssignableFrom(c))
			return How.ENUM;
		boolean serial = Serializable.class.isAssignableFrom(c);
		boolean lambda = isLambda(c);
		if (!serial && !lambda)
			return How.REFUSED;
		Class<?> s = c.getSuperclass();
		if (s != null && s.getName().equals("java.lang.Record"))
			return How.RECORD;
		if (Externalizable.class.isAssignableFrom(c) || c.isSynthetic() && !lambda)
			return How.STREAM;
		for (Class<?> k = c; k != Object.class && k != null; k = k.getSuperclass())
			if (isJdk(k) || hasForm(k))
				return How.STREAM;
		return How.FIELDS;
	}

	/** Returns true for the translator's class of a lambda that may suspend. */
	static boolean isLambda(Class<?> c) {
		return c.isSynthetic() && c.getName().matches(".*\\$\\$L[0-9]+");
	}

	static boolean isJdk(Class<?> c) {
		ClassLoader l = c.getClassLoader();
		return l == null || c.getName().startsWith("java.") || c.getName().startsWith("jdk.");
	}

	private static boolean hasForm(Class<?> c) {
		return has(c, "writeObject", ObjectOutputStream.class)
			|| has(c, "readObject", ObjectInputStream.class)
			|| has(c, "writeReplace") || has(c, "readResolve");
	}

	private static boolean has(Class<?> c, String name, Class<?>... types) {
		try {
			c.getDeclaredMethod(name, types);
			return true;
		} catch (NoSuchMethodException e) {
			return false;
		}
	}

	private static void collect(Class<?> c, List<Field> to, int without) {
		if (c == Object.class)
			return;
		collect(c.getSuperclass(), to, without);
		Field[] fs = c.getDeclaredFields();
		java.util.Arrays.sort(fs, java.util.Comparator.comparing(Field::getName));
		for (Field f : fs)
			if ((f.getModifiers() & without) == 0)
				to.add(f);
	}

	static char kind(Class<?> t) {
		if (!t.isPrimitive())
			return 'L';
		return java.lang.reflect.Array.newInstance(t, 0).getClass().getName().charAt(1);
	}

	/**
	 * Returns what makes objects without running a constructor of the program, as Java's streams
	 * do.
	 */
	private static Constructor<?> blank(Class<?> c) throws ReflectiveOperationException {
		Class<?> k = Class.forName("sun.reflect.ReflectionFactory");
		Object factory = k.getMethod("getReflectionFactory").invoke(null);
		return (Constructor<?>) k.getMethod("newConstructorForSerialization", Class.class,
			Constructor.class).invoke(factory, c, Object.class.getDeclaredConstructor());
	}

	Object blank() throws ReflectiveOperationException {
		return blank.newInstance();
	}

	Object record(Object[] values) throws ReflectiveOperationException {
		return canonical.newInstance(values);
	}
}
