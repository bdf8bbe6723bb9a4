// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/*
 * Lists the classes on the stack with java.lang.StackWalker (Java 9), which this module, made
 * for Java 8, cannot name. The frames are those of SecurityManager.getClassContext: with the
 * hidden ones of lambdas, without native methods, and without those that carry out a reflective
 * call or a method handle's.
 */
final class Walker implements Function<Stream<?>, Class<?>[]> {
	private static final Walker IT = new Walker();

	private final MethodHandle walk;
	private final MethodHandle type;
	private final MethodHandle isNative;

	@SuppressWarnings({"unchecked", "rawtypes"})
	private Walker() {
		try {
			MethodHandles.Lookup l = MethodHandles.lookup();
			Class<?> walker = Class.forName("java.lang.StackWalker");
			Class<?> frame = Class.forName("java.lang.StackWalker$StackFrame");
			Class<Enum> option = (Class<Enum>) Class.forName("java.lang.StackWalker$Option");
			Set<Object> all = new HashSet<>();
			all.add(Enum.valueOf(option, "RETAIN_CLASS_REFERENCE"));
			all.add(Enum.valueOf(option, "SHOW_HIDDEN_FRAMES"));
			Object w = walker.getMethod("getInstance", Set.class).invoke(null, all);
			walk = l.findVirtual(walker, "walk",
				MethodType.methodType(Object.class, Function.class)).bindTo(w);
			type = l.findVirtual(frame, "getDeclaringClass",
				MethodType.methodType(Class.class)).asType(
				MethodType.methodType(Class.class, Object.class));
			isNative = l.findVirtual(frame, "isNativeMethod",
				MethodType.methodType(boolean.class)).asType(
				MethodType.methodType(boolean.class, Object.class));
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException("no SecurityManager and no StackWalker", e);
		}
	}

	/** Innermost first. */
	static Class<?>[] classes() {
		try {
			return (Class<?>[]) (Object) IT.walk.invoke(IT);
		} catch (RuntimeException | Error e) {
			throw e;
		} catch (Throwable e) {
			throw new AssertionError(e);
		}
	}

	@Override
	public Class<?>[] apply(Stream<?> frames) {
		return frames.filter(this::shows).map(this::type).toArray(Class<?>[]::new);
	}

	private Class<?> type(Object frame) {
		try {
			return (Class<?>) type.invokeExact(frame);
		} catch (Throwable e) {
			throw new AssertionError(e);
		}
	}

	private boolean shows(Object frame) {
		try {
			if ((boolean) isNative.invokeExact(frame))
				return false;
		} catch (Throwable e) {
			throw new AssertionError(e);
		}
		return !CARRIES_OUT.get(type(frame));
	}

	private static final ClassValue<Boolean> CARRIES_OUT = new ClassValue<Boolean>() {
		@Override
		protected Boolean computeValue(Class<?> c) {
			String n = c.getName();
			if (n.equals("java.lang.reflect.Method"))
				return true;
			if (n.startsWith("java.lang.invoke."))
				return n.startsWith("java.lang.invoke.LambdaForm$")
					|| n.endsWith("$Holder");
			for (Class<?> k = c; k != null; k = k.getSuperclass())
				if (k.getName().equals("jdk.internal.reflect.MethodAccessorImpl"))
					return true;
			return false;
		}
	};
}
