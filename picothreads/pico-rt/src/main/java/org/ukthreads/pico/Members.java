// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * Lists a class's members without those that the translation has added, and says what makes an
 * object when the program asks reflection for one. Thread-safe.
 */
@Internal
public final class Members {
	private Members() {}

	/**
	 * Methods that a subclass of one of ours inherits are shown as those of the JDK's class, and
	 * left out if that has none.
	 */
	public static Method[] getMethods(Class<?> c) {
		List<Method> l = new ArrayList<>();
		for (Method m : shown(c.getMethods())) {
			Method s = seen(m);
			if (s != null)
				l.add(s);
		}
		return l.toArray(new Method[0]);
	}

	/** Replaces Class.getMethod. */
	public static Method getMethod(Class<?> c, String name, Class<?>[] types)
			throws NoSuchMethodException {
		Method m = c.getMethod(name, types);
		Method s = seen(m);
		return s != null ? s : m;
	}

	/** Null: the JDK's class has no such method. */
	private static Method seen(Method m) {
		Class<?> c = m.getDeclaringClass();
		Class<?> s = seen(c);
		if (s == c)
			return m;
		try {
			return s.getMethod(m.getName(), m.getParameterTypes());
		} catch (NoSuchMethodException e) {
			return null;
		}
	}

	public static Method[] getDeclaredMethods(Class<?> c) {
		return shown(c.getDeclaredMethods()).toArray(new Method[0]);
	}

	/** Leaves out a serialVersionUID that the translation has added, which is synthetic. */
	public static Field[] getDeclaredFields(Class<?> c) {
		List<Field> l = new ArrayList<>();
		for (Field f : c.getDeclaredFields())
			if (!f.isSynthetic() || !f.getName().equals("serialVersionUID"))
				l.add(f);
		return l.toArray(new Field[0]);
	}

	public static Constructor<?>[] getDeclaredConstructors(Class<?> c) {
		return shown(c.getDeclaredConstructors()).toArray(new Constructor<?>[0]);
	}

	/**
	 * Replaces Object.getClass. A PicoVector appears as a Vector, because programs compare
	 * classes, look them up in tables, and write their names into files that others read.
	 */
	public static Class<?> getClass(Object o) {
		return seen(o.getClass());
	}

	/** The name of o's class, for the texts of its toString(). */
	public static String name(Object o) {
		return getClass(o).getName();
	}

	/**
	 * Corrects a text that a toString() of the JDK made of o and that begins with the name of
	 * o's class.
	 */
	public static String named(Object o, String text) {
		return name(o) + text.substring(o.getClass().getName().length());
	}

	/** Replaces Class.getSuperclass. */
	public static Class<?> getSuperclass(Class<?> c) {
		Class<?> s = c.getSuperclass();
		return s == null ? null : seen(s);
	}

	/** Replaces Class.getGenericSuperclass. With type arguments, it names ours. */
	public static Type getGenericSuperclass(Class<?> c) {
		Type s = c.getGenericSuperclass();
		return s instanceof Class ? seen((Class<?>) s) : s;
	}

	static Class<?> seen(Class<?> c) {
		return c.getName().startsWith(Instead.PICO) ? Instead.seen(c) : c;
	}

	/** The constructor that makes the object in place of c. */
	public static Constructor<?> made(Constructor<?> c) {
		Constructor<?> to = Instead.of(c);
		return to != null ? to : c;
	}

	/** The class of which newInstance() is to make an object. */
	public static Class<?> made(Class<?> c) {
		Class<?> to = Instead.of(c);
		return to != null ? to : c;
	}

	private static <T extends Executable> List<T> shown(T[] all) {
		List<T> l = new ArrayList<>(all.length);
		for (T t : all)
			if (!t.isSynthetic() || !isAdded(t))
				l.add(t);
		return l;
	}

	private static boolean isAdded(Executable e) {
		if (e.getName().startsWith("pico$"))
			return true;
		for (Class<?> p : e.getParameterTypes())
			if (p == Continuation.class || p == Capture.class || p == Alloc.class)
				return true;
		return false;
	}
}
