// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/*
 * Finds a program's main method as the launcher of this Java version does.
 *
 *   before 25   public static void main(String[])
 *   from 25 on  main(String[]), else main(): declared or inherited, void and not private. If
 *               it is not static, it is called on an object that the constructor without
 *               arguments makes
 */
@Internal
public final class Entry {
	private static final boolean LATER =
		!System.getProperty("java.specification.version").matches("1\\..*|9|1.|2[0-4]");
	private static final String CLASSIC = " has no public static void main(String[])";

	private Entry() {}

	/**
	 * Returns a task for a thread, which calls c's main. If there is none, the message of the
	 * exception says what is missing.
	 */
	public static Runnable task(Class<?> c, String... args) throws NoSuchMethodException {
		return task(LATER, c, args);
	}

	static Runnable task(boolean later, Class<?> c, String... args)
			throws NoSuchMethodException {
		Method m = later ? later(c) : classic(c);
		m.setAccessible(true);
		Object[] with = m.getParameterCount() == 0 ? new Object[0] : new Object[] {args};
		return Modifier.isStatic(m.getModifiers()) ? Reflect.task(m, with)
			: Reflect.task(m, with, constructor(c));
	}

	private static Method classic(Class<?> c) throws NoSuchMethodException {
		Method m = find(c, String[].class);
		if (!isMain(m) || !Modifier.isPublic(m.getModifiers())
				|| !Modifier.isStatic(m.getModifiers()))
			throw new NoSuchMethodException(c.getName() + CLASSIC);
		return m;
	}

	private static Method later(Class<?> c) throws NoSuchMethodException {
		Method m = find(c, String[].class);
		if (!isMain(m))
			m = find(c);
		if (!isMain(m))
			throw new NoSuchMethodException(c.getName() + CLASSIC
				+ ", and no void main() that is not private");
		return m;
	}

	private static boolean isMain(Method m) {
		return m != null && m.getReturnType() == void.class
			&& !Modifier.isPrivate(m.getModifiers());
	}

	/** The method main with these parameters; null: there is none. */
	private static Method find(Class<?> c, Class<?>... args) {
		try {
			return c.getMethod("main", args);
		} catch (NoSuchMethodException e) {
			for (Class<?> k = c; k != null; k = k.getSuperclass())
				for (Method m : k.getDeclaredMethods())
					if (m.getName().equals("main")
							&& java.util.Arrays.equals(m.getParameterTypes(), args))
						return m;
			return null;
		}
	}

	private static Constructor<?> constructor(Class<?> c) throws NoSuchMethodException {
		if (Modifier.isAbstract(c.getModifiers()))
			throw new NoSuchMethodException(c.getName() + " is abstract, but main is not static");
		for (Constructor<?> k : c.getDeclaredConstructors())
			if (k.getParameterCount() == 0 && !Modifier.isPrivate(k.getModifiers())) {
				k.setAccessible(true);
				return k;
			}
		throw new NoSuchMethodException(c.getName() + " has no constructor without arguments"
			+ " that is not private, but main is not static");
	}
}
