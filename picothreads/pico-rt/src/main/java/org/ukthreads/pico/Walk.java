// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;

/*
 * Looks whether a frame that cannot be captured is between the primitive and the trampoline.
 * The stack, innermost first:
 *
 *   Walk, Context, primitives of this package | translated and ours ... | Continuation.go
 *
 * Foreign is every class without a companion: the JDK's, proxies, classes that were not given
 * to the translator or in which nothing suspends, and classes that an agent has rewritten since,
 * because calls in them may have no handlers. The JDK's frames of a reflective call are
 * passed over if Reflect made the call, because its own frame takes their place.
 *
 * getClassContext has existed since Java 1.0 and is the fastest way to the stack: 0.2 us at
 * depth 3 and 0.4 us at depth 10, against 0.8 and 1.5 us for a StackWalker. Its class,
 * SecurityManager, is deprecated for removal. Where it is gone, a StackWalker (Walker) gives
 * the same frames.
 */
final class Walk {
	@SuppressWarnings({"removal", "deprecation"})
	private static final class Stack extends SecurityManager {
		Class<?>[] classes() {
			return getClassContext();
		}
	}

	/** Null: there is no SecurityManager. */
	private static final Stack STACK = context();

	private static Stack context() {
		try {
			return new Stack();
		} catch (LinkageError | UnsupportedOperationException e) {
			return null;
		}
	}

	private Walk() {}

	/** The classes of the frames, innermost first. */
	static Class<?>[] stack() {
		return STACK != null ? STACK.classes() : Walker.classes();
	}

	static boolean meetsForeign() {
		Class<?>[] st = stack();
		int k = 0;
		while (k < st.length && KIND.get(st[k]) == Kind.RUNTIME)
			k++;
		boolean reflected = false;
		for (; k < st.length && st[k] != Continuation.class; k++) {
			Kind c = KIND.get(st[k]);
			if (c == Kind.REFLECTION)
				reflected = true;
			else if (st[k] == Reflect.class)
				reflected = false;
			else if (c == Kind.FOREIGN || reflected)
				return true;
		}
		return reflected;
	}

	private enum Kind { RUNTIME, TRANSLATED, REFLECTION, FOREIGN }

	private static final ClassValue<Kind> KIND = new ClassValue<Kind>() {
		@Override
		protected Kind computeValue(Class<?> k) {
			String n = k.getName();
			if (k.getClassLoader() == Walk.class.getClassLoader()
					&& n.lastIndexOf('.') == PACKAGE && n.startsWith("org.ukthreads.pico."))
				return Kind.RUNTIME;
			if (isTranslated(k))
				return REWRITTEN.contains(k) ? Kind.FOREIGN : Kind.TRANSLATED;
			return isReflection(n) ? Kind.REFLECTION : Kind.FOREIGN;
		}
	};

	/** Classes whose code was replaced after they were loaded. Filled before the new code runs. */
	private static final Set<Class<?>> REWRITTEN = Collections.newSetFromMap(
		Collections.synchronizedMap(new WeakHashMap<>()));

	static void rewritten(Class<?> k) {
		if (REWRITTEN.add(k))
			KIND.remove(k);
		strangers = true;
	}

	/**
	 * True: there is code that calls methods of the program and that the translator has not seen, so
	 * every suspension looks at the stack. Set before the first class of such code runs, for good.
	 */
	static volatile boolean strangers;

	/** True: a class of this name carries out what reflection is asked for. */
	static boolean isReflection(String n) {
		return n.startsWith("java.lang.reflect.") || n.startsWith("jdk.internal.reflect.")
			|| n.startsWith("sun.reflect.") || n.startsWith("java.lang.invoke.");
	}

	private static final int PACKAGE = "org.ukthreads.pico".length();

	/** True: it has a companion or is one. */
	private static boolean isTranslated(Class<?> k) {
		ClassLoader l = k.getClassLoader();
		if (l == null || l == PLATFORM)
			return false;
		if (Code.class.isAssignableFrom(k))
			return true;
		try {
			Class.forName(k.getName() + "$$Pico", false, l);
			return true;
		} catch (ClassNotFoundException | LinkageError e) {
			return false;
		}
	}

	/** Java 8: the extension loader; later: the platform loader. */
	static final ClassLoader PLATFORM = ClassLoader.getSystemClassLoader().getParent();

	/** True: the run() of this class counts its entry. */
	static boolean counts(Class<?> k) {
		return COUNTS.get(k);
	}

	private static final ClassValue<Boolean> COUNTS = new ClassValue<Boolean>() {
		@Override
		protected Boolean computeValue(Class<?> k) {
			try {
				Class<?> d = k.getMethod("run").getDeclaringClass();
				return isTranslated(d) && Code.find(d, "run", "()V", 0) != null;
			} catch (NoSuchMethodException | ClassNotFoundException | LinkageError e) {
				return false;
			}
		}
	};
}
