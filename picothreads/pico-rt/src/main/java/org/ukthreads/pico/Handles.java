// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.invoke.CallSite;
import java.lang.invoke.ConstantCallSite;
import java.lang.invoke.LambdaMetafactory;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleInfo;
import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/**
 * Makes method handles lead to replacements. A program that looks up a method which a rule
 * replaces gets a handle of the replacement, with the type that it asked for, after the JDK has
 * checked its access. Calls of handles are bracketed (`pin` rules). Where the JDK calls a
 * handle, no rule applies and the frames are hidden from a look at the stack; such a handle is
 * wrapped in one that pins.
 */
@Internal
public final class Handles {
	private static final MethodHandle CALL;

	static {
		try {
			CALL = MethodHandles.lookup().findStatic(Handles.class, "call", MethodType
				.methodType(Object.class, MethodHandle.class, Object[].class));
		} catch (ReflectiveOperationException e) {
			throw new ExceptionInInitializerError(e);
		}
	}

	private Handles() {}

	/** Replaces MethodHandleProxies.asInterfaceInstance. */
	public static <T> T asInterfaceInstance(Class<T> type, MethodHandle target) {
		return MethodHandleProxies.asInterfaceInstance(type, pinned(target));
	}

	private static MethodHandle pinned(MethodHandle h) {
		MethodType t = h.type();
		MethodHandle p = CALL.bindTo(h.asFixedArity())
			.asCollector(Object[].class, t.parameterCount()).asType(t);
		return h.isVarargsCollector()
			? p.asVarargsCollector(t.parameterType(t.parameterCount() - 1)) : p;
	}

	private static Object call(MethodHandle h, Object[] args) throws Throwable {
		Pins.enter();
		try {
			return h.invokeWithArguments(args);
		} finally {
			Pins.exit();
		}
	}

	/* --- what MethodHandles.Lookup finds --- */

	public static MethodHandle findVirtual(Lookup l, Class<?> in, String name, MethodType t)
			throws NoSuchMethodException, IllegalAccessException {
		return instead(l, l.findVirtual(in, name, t), name);
	}

	public static MethodHandle findStatic(Lookup l, Class<?> in, String name, MethodType t)
			throws NoSuchMethodException, IllegalAccessException {
		return instead(l, l.findStatic(in, name, t), name);
	}

	public static MethodHandle bind(Lookup l, Object on, String name, MethodType t)
			throws NoSuchMethodException, IllegalAccessException {
		MethodHandle h = l.bind(on, name, t);
		if (!Instead.isNamed(name))
			return h;
		MethodHandle v = l.findVirtual(on.getClass(), name, t);
		MethodHandle to = instead(l, v, name);
		return to == v ? h : to.bindTo(on).asType(h.type());
	}

	public static MethodHandle findConstructor(Lookup l, Class<?> of, MethodType t)
			throws NoSuchMethodException, IllegalAccessException {
		MethodHandle h = l.findConstructor(of, t);
		Class<?> to = Instead.of(of);
		return to == null ? h : constructor(h, to);
	}

	public static MethodHandle unreflect(Lookup l, Method m) throws IllegalAccessException {
		MethodHandle h = l.unreflect(m);
		Method to = Instead.of(m);
		return to == null ? h : instead(h, to);
	}

	public static MethodHandle unreflectConstructor(Lookup l, Constructor<?> c)
			throws IllegalAccessException {
		MethodHandle h = l.unreflectConstructor(c);
		Class<?> to = Instead.of(c.getDeclaringClass());
		return to == null ? h : constructor(h, to);
	}

	private static MethodHandle instead(Lookup l, MethodHandle h, String name) {
		if (!Instead.isNamed(name))
			return h;
		Method m;
		try {
			m = l.revealDirect(h).reflectAs(Method.class, l);
		} catch (IllegalArgumentException | ClassCastException e) {
			return h;
		}
		Method to = Instead.of(m);
		/* A replacement that looks up the method which it replaces gets that method. */
		return to == null || to.getDeclaringClass() == l.lookupClass() ? h : instead(h, to);
	}

	private static MethodHandle instead(MethodHandle h, Method to) {
		MethodHandle n;
		try {
			n = MethodHandles.publicLookup().unreflect(to);
		} catch (IllegalAccessException e) {
			throw new IllegalStateException(to.toString(), e);
		}
		n = like(n, h);
		if (to.getDeclaringClass() != Monitors.class)
			return n;
		MethodType t = MethodType.methodType(boolean.class, h.type().parameterType(0));
		return like(MethodHandles.guardWithTest(IS_JVMS.asType(t), h.asFixedArity(),
			n.asFixedArity()), h);
	}

	/** Returns n with the type of h. It collects variable arguments if h does. */
	private static MethodHandle like(MethodHandle n, MethodHandle h) {
		n = n.asFixedArity().asType(h.type());
		return h.isVarargsCollector() ? n.asVarargsCollector(h.type().parameterType(
			h.type().parameterCount() - 1)) : n;
	}

	private static MethodHandle constructor(MethodHandle h, Class<?> to) {
		try {
			return like(MethodHandles.publicLookup().findConstructor(to,
				h.type().changeReturnType(void.class)), h);
		} catch (NoSuchMethodException | IllegalAccessException e) {
			return h;
		}
	}

	private static final MethodHandle IS_JVMS;

	static {
		try {
			IS_JVMS = MethodHandles.lookup().findStatic(Handles.class, "isJvms",
				MethodType.methodType(boolean.class, Object.class));
		} catch (ReflectiveOperationException e) {
			throw new ExceptionInInitializerError(e);
		}
	}

	private static boolean isJvms(Object o) {
		return o != null && !Monitors.holds(o) && Thread.holdsLock(o);
	}

	/* --- lambdas made by calls of LambdaMetafactory --- */

	/** Replaces LambdaMetafactory.metafactory. */
	public static CallSite metafactory(Lookup l, String name, MethodType made, MethodType sam,
			MethodHandle of, MethodType as) throws Throwable {
		CallSite s = pinned(l, name, made, of, as, 0);
		return s != null ? s : LambdaMetafactory.metafactory(l, name, made, sam, of, as);
	}

	/** Replaces LambdaMetafactory.altMetafactory: (sam, of, as, flags, ...). */
	public static CallSite altMetafactory(Lookup l, String name, MethodType made,
			Object... args) throws Throwable {
		CallSite s = pinned(l, name, made, (MethodHandle) args[1], (MethodType) args[2],
			(Integer) args[3]);
		return s != null ? s : LambdaMetafactory.altMetafactory(l, name, made, args);
	}

	/**
	 * Makes a call site whose lambdas are proxies that pin while they call the handle. The
	 * JVM's lambda classes are not translated, so a suspension below one would lose its frame.
	 * Null: the JVM's lambda is used.
	 */
	private static CallSite pinned(Lookup l, String name, MethodType made, MethodHandle of,
			MethodType as, int flags) throws ReflectiveOperationException {
		Class<?> type = made.returnType();
		if (flags != 0 || !Modifier.isPublic(type.getModifiers()) || !maySuspend(l, of))
			return null;
		int captured = made.parameterCount();
		MethodHandle h = of.asFixedArity().asType(as.insertParameterTypes(0,
			made.parameterList()));
		MethodHandle make = PROXY.bindTo(type).bindTo(h)
			.asCollector(Object[].class, captured).asType(made);
		return new ConstantCallSite(make);
	}

	private static final MethodHandle PROXY;

	static {
		try {
			PROXY = MethodHandles.lookup().findStatic(Handles.class, "proxy",
				MethodType.methodType(Object.class, Class.class, MethodHandle.class,
					Object[].class));
		} catch (ReflectiveOperationException e) {
			throw new ExceptionInInitializerError(e);
		}
	}

	private static Object proxy(Class<?> type, MethodHandle h, Object[] captured) {
		return asInterfaceInstance(type, MethodHandles.insertArguments(h, 0, captured));
	}

	private static boolean maySuspend(Lookup l, MethodHandle of) {
		MethodHandleInfo i;
		try {
			i = l.revealDirect(of);
		} catch (IllegalArgumentException e) {
			return true;
		}
		Class<?> k = i.getDeclaringClass();
		return k.getClassLoader() != null || !Modifier.isFinal(k.getModifiers())
			&& i.getReferenceKind() != MethodHandleInfo.REF_invokeStatic;
	}
}
