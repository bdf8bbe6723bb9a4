// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/*
 * A Method.invoke that can suspend. After the target returns, the JDK's own frames between the
 * caller and the target only box its value and wrap what it throws. So when a Capture comes out
 * of them, one frame of ours, which does the same, takes their place.
 *
 * The JDK checks access for its caller, which is this class. If that fails, Java's rules are
 * applied to the caller on the stack. If it may call the method, the method is opened.
 *
 * A method that a rule replaces at its calls is replaced here, too: see Instead.
 */
@Internal
public final class Reflect {
	private static final String INVOKE =
		"(Ljava/lang/reflect/Method;Ljava/lang/Object;[Ljava/lang/Object;)"
		+ "Ljava/lang/Object;";
	private static final Code CODE = new Code(Reflect.class,
		"invoke\n" + INVOKE + "\njava/lang/reflect/Method\nmethod\n"
		+ "Ljava/lang/reflect/Method;\n\nM\t0\t1\t0\nS\t0\ts\t2\t0\t1\ta0\t3\t4") {
		@Override
		protected boolean resume(Continuation t, int at, Frame f) {
			Object v = null;
			try {
				v = boxed(((Method) f.getA(0)).getReturnType(), t);
			} catch (Throwable e) {
				Continuation.<RuntimeException>sneak(new InvocationTargetException(e));
			}
			return t.ret(v);
		}
	};
	private static final Site SITE = CODE.sites()[0];

	private Reflect() {}

	/** The invoke() of this class. */
	private static Method self;

	/** Replaces m.invoke(on, args). */
	@Pico
	public static Object invoke(Method m, Object on, Object[] args)
			throws IllegalAccessException, InvocationTargetException {
		/* Method.invoke, called by reflection, becomes this method, called by reflection. */
		if (m.getDeclaringClass() == Method.class && m.getName().equals("invoke")
				&& on instanceof Method && args != null && args.length == 2) {
			args = new Object[] {on, args[0], args[1]};
			on = null;
			m = self();
		}
		if (on != null && args != null && m.getName().startsWith("define"))
			args = defined(definer(on, args), args);
		Method to = Instead.of(m);
		if (to != null && isRight(m, on, args) && !Instead.isJvms(to, on)) {
			if (!Modifier.isStatic(m.getModifiers()))
				args = with(on, args);
			m = to;
			on = null;
		} else if (Instead.isShown(m.getName()) && isRight(m, on, args)) {
			Instead.show(m, on, args);
		}
		try {
			try {
				return m.invoke(on, args);
			} catch (IllegalAccessException e) {
				if (!mayCall(m) || !opens(m))
					throw e;
				return m.invoke(on, args);
			}
		} catch (InvocationTargetException e) {
			if (!(e.getCause() instanceof Capture))
				throw e;
			Capture c = (Capture) e.getCause();
			target(m).check(c, c.pusher.callee, Modifier.isStatic(m.getModifiers()) ? null : on);
			Frames.F0_0_1 f = new Frames.F0_0_1();
			f.a0 = m;
			c.pusher.add(f, SITE);
			Continuation.<RuntimeException>sneak(c);
			throw e;
		}
	}

	/** Opens m; false: its package is closed to us. */
	private static boolean opens(Method m) {
		try {
			m.setAccessible(true);
			return true;
		} catch (RuntimeException e) {
			return false;
		}
	}

	/** True: the call gets as far as the method. If not, the JDK says why. */
	private static boolean isRight(Method m, Object on, Object[] args) {
		return (args == null ? 0 : args.length) == m.getParameterCount()
			&& (Modifier.isStatic(m.getModifiers()) || m.getDeclaringClass().isInstance(on));
	}

	/**
	 * What defines the class: `on`, but for Unsafe (of jdk.internal.misc, which the program has
	 * opened) the loader among its arguments.
	 */
	private static Object definer(Object on, Object[] args) {
		return on.getClass().getName().endsWith(".misc.Unsafe") && args.length > 4 ? args[4] : on;
	}

	/**
	 * Replaces the class file in the arguments if l is a loader (whose method the program has
	 * opened) or a Lookup: see Loaders.
	 */
	private static Object[] defined(Object l, Object[] args) {
		if (l instanceof MethodHandles.Lookup && args.length > 0 && args[0] instanceof byte[]) {
			Object[] now = args.clone();
			now[0] = Loaders.define(l, (byte[]) args[0]);
			return now;
		}
		if (!(l instanceof ClassLoader))
			return args;
		for (int k = 0; k < args.length; k++)
			if (args[k] instanceof byte[] && k + 2 < args.length
					&& args[k + 1] instanceof Integer && args[k + 2] instanceof Integer) {
				Object[] now = args.clone();
				byte[] b = Loaders.define(l, (byte[]) args[k], (Integer) args[k + 1],
					(Integer) args[k + 2]);
				if (b == args[k])
					return args;
				now[k] = b;
				now[k + 1] = 0;
				now[k + 2] = b.length;
				return now;
			}
		return args;
	}

	private static Object[] with(Object on, Object[] args) {
		int n = args == null ? 0 : args.length;
		Object[] all = new Object[n + 1];
		all[0] = on;
		if (n > 0)
			System.arraycopy(args, 0, all, 1, n);
		return all;
	}

	private static Method self() {
		if (self == null)
			try {
				self = Reflect.class.getMethod("invoke", Method.class, Object.class,
					Object[].class);
			} catch (NoSuchMethodException e) {
				throw new AssertionError(e);
			}
		return self;
	}

	/**
	 * Applies Java's access rules to the first class on the stack that is neither this one nor
	 * reflection.
	 */
	private static boolean mayCall(Method m) {
		String caller = null;
		for (StackTraceElement e : new Throwable().getStackTrace())
			if (!e.getClassName().equals(Reflect.class.getName())
					&& !Walk.isReflection(e.getClassName())) {
				caller = e.getClassName();
				break;
			}
		if (caller == null)
			return true;
		Class<?> owner = m.getDeclaringClass();
		boolean near = packageOf(caller).equals(packageOf(owner.getName()));
		int access = m.getModifiers();
		if (Modifier.isPrivate(access))
			return near && outermost(caller).equals(outermost(owner.getName()));
		if (near)
			return true;
		return Modifier.isPublic(owner.getModifiers()) && (Modifier.isPublic(access)
			|| Modifier.isProtected(access) && isBelow(caller, owner));
	}

	private static boolean isBelow(String caller, Class<?> owner) {
		ClassLoader[] loaders = {owner.getClassLoader(),
			Threads.currentThread().getContextClassLoader()};
		for (ClassLoader l : loaders)
			try {
				return owner.isAssignableFrom(Class.forName(caller, false, l));
			} catch (ClassNotFoundException e) {
				continue;
			}
		return false;
	}

	private static String packageOf(String name) {
		return name.substring(0, name.lastIndexOf('.') + 1);
	}

	private static String outermost(String name) {
		int d = name.indexOf('$', packageOf(name).length() + 1);
		return d < 0 ? name : name.substring(0, d);
	}

	/** The invocation's call as a site, for the lost-frame check. */
	private static Site target(Method m) {
		boolean st = Modifier.isStatic(m.getModifiers());
		return new Site(new Code(m.getDeclaringClass()) {
			@Override
			protected boolean resume(Continuation t, int at, Frame f) {
				throw new AssertionError();
			}
		}, null, 0, 0, 0, st ? 's' : 'v', m.getDeclaringClass().getName().replace('.', '/'),
			m.getName(), Site.descriptor(m), new String[0], new String[0]);
	}

	static Object boxed(Class<?> r, Continuation t) {
		if (!r.isPrimitive())
			return t.takeA();
		if (r == void.class) {
			t.takeV();
			return null;
		}
		if (r == long.class)
			return t.takeJ();
		if (r == float.class)
			return t.takeF();
		if (r == double.class)
			return t.takeD();
		int v = t.takeI();
		if (r == boolean.class)
			return v != 0;
		if (r == char.class)
			return (char) v;
		if (r == byte.class)
			return (byte) v;
		if (r == short.class)
			return (short) v;
		return v;
	}

	/** Returns a task for a thread, which calls a static method, such as main. */
	public static Runnable task(Method m, Object[] args) {
		return new Task(m, args, null);
	}

	/** Returns a task that makes an object and calls its method. */
	static Runnable task(Method m, Object[] args, Constructor<?> maker) {
		return new Task(m, args, maker);
	}

	private static final class Task implements Runnable {
		private static final Code RUN = new Code(Task.class,
			"run\n()V\norg/ukthreads/pico/Reflect\ninvoke\n" + INVOKE
			+ "\n\nM\t0\t1\t0\nS\t0\ts\t2\t3\t4") {
			@Override
			protected boolean resume(Continuation t, int at, Frame f) {
				try {
					t.takeA();
				} catch (Throwable e) {
					rethrow(e);
				}
				return true;
			}
		};
		private static final Site SITE = RUN.sites()[0];
		private final Method method;
		private final Object[] args;
		/** Null: the method is static. */
		private final Constructor<?> maker;

		Task(Method method, Object[] args, Constructor<?> maker) {
			this.method = method;
			this.args = args;
			this.maker = maker;
		}

		@Override
		public void run() {
			try {
				invoke(method, maker == null ? null : made(), args);
			} catch (Throwable e) {
				if (e instanceof Capture)
					((Capture) e).pusher.add(new Frames.F0_0_0(), SITE);
				rethrow(e);
			}
		}

		/** Pins where the constructor waits, like any reflection. */
		private Object made() throws ReflectiveOperationException {
			Pins.enter();
			try {
				return maker.newInstance();
			} finally {
				Pins.exit();
			}
		}

		private static void rethrow(Throwable e) {
			Continuation.<RuntimeException>sneak(e instanceof InvocationTargetException
				? e.getCause() : e);
		}
	}
}
