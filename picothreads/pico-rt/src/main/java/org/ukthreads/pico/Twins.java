// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A twin (see Capture) is called as the method is, by the receiver's class; but a class
 * that nobody translated may override the method, and has no twin: then the twin of the
 * method that it overrides is called, which finds out here and calls the method instead.
 */
@Internal
public final class Twins {
	private Twins() {}

	/* Not methods of Capture: C2 does not inline those of a Throwable's class. */

	/** Of the calling OS thread: what a twin is called with. */
	public static Capture mine() {
		return Context.get().capture;
	}

	/** Behind the call of a twin: did it suspend? */
	public static boolean returned(Capture c) {
		return c.returned;
	}

	/** ... it did, and the caller has seen it. */
	public static Capture seen(Capture c) {
		c.returned = false;
		return c;
	}

	/** The last act of a twin that suspends. */
	public static void leave(Capture c) {
		c.returned = true;
	}

	/** Has `on`, a subclass's object, the method `key` (name and descriptor) of `holder`? */
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
			/* A signature names a class that is not there: it may be the method. */
			return k;
		}
	}
}
