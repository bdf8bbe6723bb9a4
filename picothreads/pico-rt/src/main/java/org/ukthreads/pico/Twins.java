// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Support for twins (see Capture). A twin is called as the method is, by the receiver's class.
 * But an untranslated class may override the method and has no twin. Then the twin of the
 * overridden method is called; it finds that out here and calls the method instead.
 */
@Internal
public final class Twins {
	private Twins() {}

	/* Not methods of Capture, because C2 does not inline methods of a Throwable's class. */

	/** The Capture of the calling OS thread, with which a twin is called. */
	public static Capture mine() {
		return Context.get().capture;
	}

	/** Called after the call of a twin. True: the twin has suspended. */
	public static boolean returned(Capture c) {
		return c.returned;
	}

	/** Clears the mark, which the caller has seen. */
	public static Capture seen(Capture c) {
		c.returned = false;
		return c;
	}

	/** The last act of a twin that suspends: sets the mark. */
	public static void leave(Capture c) {
		c.returned = true;
	}

	/**
	 * True: `on`, an object of a subclass, has its method `key` (name and descriptor) from
	 * `holder`.
	 */
	public static boolean inherits(Object on, String key, Class<?> holder) {
		Class<?> k = on.getClass();
		Map<String, Class<?>> m = NEAREST.get(k);
		Class<?> c = m.get(key);
		if (c == null) {
			c = nearest(k, key, holder);
			m.put(key, c);
		}
		return c == holder;
	}

	private static final ClassValue<Map<String, Class<?>>> NEAREST =
			new ClassValue<Map<String, Class<?>>>() {
		@Override
		protected Map<String, Class<?>> computeValue(Class<?> k) {
			return new ConcurrentHashMap<>();
		}
	};

	private static Class<?> nearest(Class<?> k, String key, Class<?> holder) {
		try {
			for (; k != holder; k = k.getSuperclass())
				for (Method m : k.getDeclaredMethods())
					if (!Modifier.isStatic(m.getModifiers()) && key.equals(m.getName()
							+ Site.descriptor(m)))
						return k;
			return holder;
		} catch (NoClassDefFoundError e) {
			/* A signature names a class that does not exist: it may be the method's. */
			return k;
		}
	}
}
