// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.io.FilterInputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;

/*
 * Objects that lock themselves in untranslated code: a StringBuffer, System.out, Properties.
 * They use the JVM's monitor, which does not exclude a holder of ours. So a fiber that enters
 * ours gets the JVM's, too, if it can (JvmLock). And a call of such code from translated code
 * holds our monitor for as long as it lasts (the translator's SelfLocks), so that it waits where
 * the runtime knows about it. The order is always ours, then the JVM's.
 *
 * Nearly no program waits in a block that locks such an object. Until our monitor of one is
 * entered for the first time, a call only reads `on`:
 *
 *   off  --the first enter() of such an object: on, then GRACE, then the JVM's lock once-->  on
 *
 * By then a thread that read "off" has ended its call or has the JVM's lock of the object. Not
 * covered if the holder has our monitor alone: a thread that had no CPU for all of GRACE between
 * that read and the call, or that is in a call of another such object for longer. This can
 * happen once in the life of a JVM.
 *
 * Rejected: our monitor at every such call (a StringBuffer's append 40 > 100 ns).
 */
@Internal
public final class SelfLocked {
	private static final long GRACE = 10;
	static volatile boolean on;

	private SelfLocked() {}

	/**
	 * Called before a call of o's method (its name and parameters). True: our monitor was
	 * entered.
	 */
	public static boolean enter(Object o, String method) {
		if (!on || o == null || !METHODS.get(o.getClass()).contains(method))
			return false;
		Pins.enter();
		try {
			Monitors.enter(o);
		} finally {
			Pins.exit();
		}
		return true;
	}

	/** Called after it. held: what enter() returned. */
	public static void exit(Object o, boolean held) {
		if (held)
			Monitors.exit(o);
	}

	private static Class<?> last = Object.class;

	/** True: untranslated methods of o's class lock it. */
	static boolean is(Object o) {
		Class<?> c = o.getClass();
		if (c == last)
			return false;
		boolean is = !METHODS.get(c).isEmpty();
		if (!is)
			last = c;
		return is;
	}

	private static final ClassValue<AtomicBoolean> TOLD = new ClassValue<AtomicBoolean>() {
		@Override
		protected AtomicBoolean computeValue(Class<?> c) {
			return new AtomicBoolean();
		}
	};

	/**
	 * Called before the program locks o where it gets our monitor only. Exceptions are locked in
	 * their constructors (fillInStackTrace), which is no reason to worry.
	 */
	static void alone(Object o) {
		if (!(o instanceof Throwable) && !TOLD.get(o.getClass()).getAndSet(true))
			System.err.println("pico: " + Pins.place() + " locks a " + o.getClass().getName()
				+ " below code that is not translated; the JDK's methods do not wait for it");
	}

	/** Called before our monitor of o is entered, while `on` is not set. */
	static void look(Object o) {
		if (is(o))
			begin(o);
	}

	private static void begin(Object o) {
		boolean interrupted = Thread.interrupted();
		synchronized (SelfLocked.class) {
			on = true;
			try {
				Thread.sleep(GRACE);
			} catch (InterruptedException e) {
				interrupted = true;
			}
		}
		synchronized (o) {
			/* Now every thread that called a method of o without our monitor has left it. */
		}
		if (interrupted)
			Thread.currentThread().interrupt();
	}

	/** Names and parameters of those methods of a class that lock the object itself. */
	private static final ClassValue<Set<String>> METHODS = new ClassValue<Set<String>>() {
		@Override
		protected Set<String> computeValue(Class<?> c) {
			Class<?> outside = c;
			while (outside != null && !isPlatforms(outside))
				outside = outside.getSuperclass();
			if (c.isArray() || outside == null || Thread.class.isAssignableFrom(c)
					|| of(outside).isEmpty())
				return Collections.emptySet();
			return of(c);
		}
	};

	private static boolean isPlatforms(Class<?> k) {
		ClassLoader l = k.getClassLoader();
		return l == null || l == Walk.PLATFORM;
	}

	/**
	 * Java 19 to 23: a PrintStream itself (not a subclass) has a lock that is not its monitor.
	 */
	private static final boolean OTHER_LOCK =
		System.getProperty("java.specification.version").matches("19|2[0-3]");

	private static Set<String> of(Class<?> c) {
		Map<String, Boolean> found = new HashMap<>();
		/* A named method of a superclass locks, too, because it calls one that does. */
		Set<String> named = new HashSet<>();
		for (Class<?> k = c; k != null && k != Object.class; k = k.getSuperclass()) {
			if (k != PrintStream.class || c != k || !OTHER_LOCK)
				named.addAll(Instead.selfLocked(k.getName()));
			look(k, named, found);
		}
		Set<String> s = new HashSet<>();
		found.forEach((key, locks) -> {
			if (locks)
				s.add(key);
		});
		return s;
	}

	/** Adds the methods of class k that no class below it overrides. */
	private static void look(Class<?> k, Set<String> named, Map<String, Boolean> found) {
		/* Their mark() and reset() change nothing of their own. Programs extend these classes. */
		if (k == InputStream.class || k == FilterInputStream.class)
			return;
		Map<String, Boolean> here = new HashMap<>();
		for (Method m : k.getDeclaredMethods()) {
			if (Modifier.isStatic(m.getModifiers()) || Modifier.isPrivate(m.getModifiers()))
				continue;
			String d = Site.descriptor(m);
			here.merge(m.getName() + d.substring(0, d.indexOf(')') + 1),
				Modifier.isSynchronized(m.getModifiers()) || named.contains(m.getName()),
				Boolean::logicalOr);
		}
		here.forEach(found::putIfAbsent);
	}
}
