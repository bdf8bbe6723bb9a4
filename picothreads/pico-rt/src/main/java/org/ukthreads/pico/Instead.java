// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/*
 * Applies the replacement rules at run time: what the program finds by name (reflection, method
 * handles) is what the translator would have put at a call.
 *
 *   Thread.class.getMethod("join")  --invoke-->    Threads.join(Thread)
 *   Socket.class.getConstructor()   --newInstance--> PicoSocket()
 *
 * The member that the program holds stays the JDK's (its name, its class, its annotations);
 * only a call of it leads to our code. So the replacement is looked up at the call, once for
 * each member. Types that lock themselves (`lock` rules) are left out: the translation has
 * already decided whether they occur, by the objects that the program makes directly.
 *
 * Thread-safe. The comment at the top of the translator's Replacements describes the format of
 * the rules.
 */
final class Instead {
	private static final class Call {
		final String owner;
		final String desc;
		final String to;
		final String as;
		final boolean only;
		final boolean first;
		final String asDesc;

		/** w: the words of a rule. */
		Call(String[] w) {
			only = w[0].equals("exact");
			first = w[0].equals("first");
			owner = w[1];
			desc = w[3];
			to = w[4];
			String name = w.length > 5 ? w[5] : w[2];
			int k = name.indexOf('(');
			as = k < 0 ? name : name.substring(0, k);
			asDesc = k < 0 ? null : name.substring(k);
		}

		String target(String desc, boolean isStatic) {
			return asDesc != null ? asDesc : isStatic ? desc
				: "(L" + owner + ";" + desc.substring(1);
		}
	}

	static final String PICO = "org.ukthreads.pico.";
	private static final Map<String, String> CLASSES = new HashMap<>();
	private static final Map<String, List<Call>> CALLS = new HashMap<>();
	private static final Map<String, List<Call>> SHOWN = new HashMap<>();
	private static final Set<String> LOCKS = new HashSet<>();
	private static final Map<String, Set<String>> SELVES = new HashMap<>();

	static {
		try {
			ClassLoader l = Instead.class.getClassLoader();
			for (URL u : Collections.list(l.getResources("META-INF/pico/replace")))
				read(u);
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	private Instead() {}

	private static void read(URL u) throws IOException {
		try (InputStream in = u.openStream(); BufferedReader r = new BufferedReader(
				new InputStreamReader(in, StandardCharsets.UTF_8))) {
			for (String line; (line = r.readLine()) != null;)
				rule(line.trim().split("\\s+"));
		}
	}

	private static void rule(String[] w) {
		switch (w[0]) {
		case "class":
			CLASSES.put(w[1].replace('/', '.'), w[2]);
			break;
		case "lock":
			LOCKS.add(w[1]);
			break;
		case "self":
			SELVES.put(w[1].replace('/', '.'), new HashSet<>(Arrays.asList(w).subList(2, w.length)));
			break;
		case "call":
		case "exact":
			CALLS.computeIfAbsent(w[2], k -> new ArrayList<>()).add(new Call(w));
			break;
		case "first":
		case "last":
			SHOWN.computeIfAbsent(w[2], k -> new ArrayList<>()).add(new Call(w));
			break;
		default:
			break;
		}
	}

	/* --- names --- */

	/** By class or by class.method of ours: the names of what it replaces. */
	private static final Map<String, String[]> MEMBERS = new HashMap<>();

	static {
		CLASSES.forEach((from, to) -> MEMBERS.put(to.replace('/', '.'), new String[] {from}));
		CALLS.forEach((name, rules) -> {
			for (Call r : rules)
				MEMBERS.putIfAbsent(r.to.replace('/', '.') + '.' + r.as,
					new String[] {r.owner.replace('/', '.'), name});
		});
	}

	/** Class and method that this one of ours replaces; null: none. */
	static String[] member(String type, String method) {
		String[] m = MEMBERS.get(type + '.' + method);
		if (m != null)
			return m;
		int k = type.indexOf('$');
		m = MEMBERS.get(k < 0 ? type : type.substring(0, k));
		return m == null ? null
			: new String[] {m[0] + (k < 0 ? "" : type.substring(k)), method};
	}

	/** Names of the methods that lock an object of this class in their bodies. */
	static Set<String> selfLocked(String type) {
		return SELVES.getOrDefault(type, Collections.emptySet());
	}

	private static Class<?> find(String name) {
		try {
			return Class.forName(name.replace('/', '.'), false, Instead.class.getClassLoader());
		} catch (ClassNotFoundException | LinkageError e) {
			return null;
		}
	}

	/* --- methods --- */

	private static final ClassValue<Map<Method, Optional<Method>>> METHODS =
			new ClassValue<Map<Method, Optional<Method>>>() {
		@Override
		protected Map<Method, Optional<Method>> computeValue(Class<?> k) {
			return new ConcurrentHashMap<>();
		}
	};

	/** True: there is a `call` or `exact` rule for some method of this name. Cheap. */
	static boolean isNamed(String name) {
		return CALLS.containsKey(name);
	}

	/**
	 * The static method that replaces m and takes the receiver as its first argument; null: m
	 * is not replaced.
	 */
	static Method of(Method m) {
		if (!isNamed(m.getName()) || !Modifier.isPublic(m.getModifiers()))
			return null;
		Class<?> owner = m.getDeclaringClass();
		if (owner.getName().startsWith(PICO))
			return null;
		Map<Method, Optional<Method>> known = METHODS.get(owner);
		Optional<Method> to = known.get(m);
		if (to == null)
			known.put(m, to = Optional.ofNullable(look(m, owner)));
		return to.orElse(null);
	}

	private static Method look(Method m, Class<?> owner) {
		String desc = Site.descriptor(m);
		for (Call r : CALLS.get(m.getName())) {
			if (!r.desc.equals("*") && !r.desc.equals(desc) || LOCKS.contains(r.to)
					|| r.to.equals("org/ukthreads/pico/Reflect")
					|| r.to.equals("org/ukthreads/pico/Handles"))
				continue;
			Class<?> of = find(r.owner);
			if (of == null || (r.only ? owner != of : !of.isAssignableFrom(owner)))
				continue;
			Class<?> to = find(r.to);
			String want = r.target(desc, Modifier.isStatic(m.getModifiers()));
			if (to != null)
				for (Method t : to.getDeclaredMethods())
					if (t.getName().equals(r.as) && Modifier.isPublic(t.getModifiers())
							&& Site.descriptor(t).equals(want))
						return t;
		}
		return null;
	}

	/**
	 * True: this call of wait or notify by reflection is for the JVM's monitor. Such a call may
	 * reach an object whose lock the translator left with the JVM, because no code waits there
	 * directly.
	 */
	static boolean isJvms(Method to, Object on) {
		return to.getDeclaringClass() == Monitors.class && on != null && !Monitors.holds(on)
			&& Thread.holdsLock(on);
	}

	/** True: there is a `first` or `last` rule for some method of this name. */
	static boolean isShown(String name) {
		return SHOWN.containsKey(name);
	}

	/** Applies those rules to a call of m that is about to be made. */
	static void show(Method m, Object on, Object[] args) {
		for (Call r : SHOWN.get(m.getName())) {
			Class<?> of = find(r.owner);
			if (of == null || !of.isAssignableFrom(m.getDeclaringClass())
					|| !r.desc.equals(Site.descriptor(m)))
				continue;
			Class<?>[] types = m.getParameterTypes();
			try {
				find(r.to).getMethod(r.as, r.first ? of : types[types.length - 1])
					.invoke(null, r.first ? on : args[args.length - 1]);
			} catch (ReflectiveOperationException e) {
				throw new IllegalStateException(r.to + '.' + r.as, e);
			}
			return;
		}
	}

	/* --- constructors --- */

	private static final ClassValue<Optional<Class<?>>> TYPES =
			new ClassValue<Optional<Class<?>>>() {
		@Override
		protected Optional<Class<?>> computeValue(Class<?> k) {
			String to = CLASSES.get(k.getName());
			return k.getClassLoader() == Instead.class.getClassLoader() || to == null
				|| LOCKS.contains(to) ? Optional.empty() : Optional.ofNullable(find(to));
		}
	};

	/** The class that the program sees for c: the JDK's class, if c replaces one. */
	static Class<?> seen(Class<?> c) {
		return SEEN.get(c);
	}

	private static final ClassValue<Class<?>> SEEN = new ClassValue<Class<?>>() {
		@Override
		protected Class<?> computeValue(Class<?> c) {
			Class<?> s = c.getSuperclass();
			if (s == null)
				return c;
			if (c.getName().replace('.', '/').equals(CLASSES.get(s.getName())))
				return s;
			/* A class that no program can name, such as those of a ReentrantReadWriteLock's two
			 * locks. */
			return isHidden(c) && !isHidden(s) && !Modifier.isAbstract(s.getModifiers())
				&& s != Object.class && !Throwable.class.isAssignableFrom(s) ? Members.seen(s) : c;
		}
	};

	private static boolean isHidden(Class<?> c) {
		return c.getName().startsWith(PICO) && !Modifier.isPublic(c.getModifiers());
	}

	/** The class whose objects are made in place of c's; null: c is not replaced. */
	static Class<?> of(Class<?> c) {
		return TYPES.get(c).orElse(null);
	}

	/**
	 * The constructor with the same parameters in the replacing class; null: c is not replaced.
	 */
	static Constructor<?> of(Constructor<?> c) {
		Class<?> to = of(c.getDeclaringClass());
		if (to == null)
			return null;
		try {
			return to.getConstructor(c.getParameterTypes());
		} catch (NoSuchMethodException e) {
			return null;
		}
	}
}
