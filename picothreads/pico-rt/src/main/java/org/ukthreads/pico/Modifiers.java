// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

/**
 * Replaces what reflection says of modifiers: a method whose lock is ours is no longer
 * synchronized in its class file, and a field that a split constructor sets is no longer final.
 * Thread-safe.
 */
@Internal
public final class Modifiers {
	private static final ClassValue<Map<String, Integer>> WAS =
			new ClassValue<Map<String, Integer>>() {
		@Override
		protected Map<String, Integer> computeValue(Class<?> c) {
			Was was;
			try {
				was = c.getDeclaredMethod("pico$$was").getAnnotation(Was.class);
			} catch (NoSuchMethodException | LinkageError e) {
				/* Nothing was changed, or a signature names a class that does not exist. */
				return Collections.emptyMap();
			}
			String[] names = was.members();
			Map<String, Integer> m = new HashMap<>();
			for (int k = 0; k < names.length; k += 2)
				m.put(names[k] + names[k + 1], was.access()[k / 2]);
			return m;
		}
	};

	private Modifiers() {}

	public static int getModifiers(Member m) {
		Class<?> c = m.getDeclaringClass();
		if (c.getClassLoader() == null || !(m instanceof Method || m instanceof Field))
			return m.getModifiers();
		Map<String, Integer> was = WAS.get(c);
		Integer access = was.isEmpty() ? null : was.get(m.getName() + (m instanceof Method
			? Site.descriptor((Method) m) : Site.descriptor(((Field) m).getType())));
		return access == null ? m.getModifiers() : access;
	}

	/* Called in place of methods of Method, Field and Executable. */

	public static int getModifiers(Method m) {
		return getModifiers((Member) m);
	}

	public static int getModifiers(Field f) {
		return getModifiers((Member) f);
	}

	public static int getModifiers(Executable e) {
		return getModifiers((Member) e);
	}

	public static String toString(Method m) {
		return corrected(m, m.toString(), Modifier.methodModifiers());
	}

	public static String toString(Field f) {
		return corrected(f, f.toString(), -1);
	}

	public static String toGenericString(Method m) {
		return corrected(m, m.toGenericString(), Modifier.methodModifiers());
	}

	public static String toGenericString(Field f) {
		return corrected(f, f.toGenericString(), -1);
	}

	public static String toGenericString(Executable e) {
		return e instanceof Method ? toGenericString((Method) e) : e.toGenericString();
	}

	/** text: begins with the modifiers that the class file has. */
	private static String corrected(Member m, String text, int mask) {
		int now = m.getModifiers();
		int was = getModifiers(m);
		return was == now ? text
			: words(was & mask) + text.substring(words(now & mask).length());
	}

	private static String words(int access) {
		return access == 0 ? "" : Modifier.toString(access) + ' ';
	}
}
