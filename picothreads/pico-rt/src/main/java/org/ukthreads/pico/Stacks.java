// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/*
 * What a program's StackWalker shows: the frames of the OS thread down to the trampoline, and
 * then the callers on the heap, as in Traces. This module is made for Java 8 and uses the
 * StackWalker of Java 9 by reflection. Frames of the runtime are left out. A frame that has
 * another name in the program (an overload's resume code, a constructor that was split) and a
 * frame from the heap are proxies.
 *
 *   Stacks.. | program's frames ... | Continuation.go, CarrierThread    heap: f.next, f.next ...
 *     out           renamed                     out                          proxies
 *
 * Rejected: a stream that is made while it is read. The frames in between would be the JDK's,
 * so code that reads it could not suspend; and reading a stack is slow in any case.
 */
@Internal
public final class Stacks {
	private static final String SELF = Stacks.class.getName();
	private static final String REFLECT = Reflect.class.getName();
	private static final Class<?> FRAME;
	/** StackWalker.walk: (walker, function of a stream) to the function's result. */
	private static final MethodHandle WALK;

	static {
		try {
			FRAME = Class.forName("java.lang.StackWalker$StackFrame");
			WALK = MethodHandles.lookup().findVirtual(
				Class.forName("java.lang.StackWalker"), "walk",
				MethodType.methodType(Object.class, Function.class));
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	private Stacks() {}

	/** Replaces StackWalker.walk. */
	public static Object walk(Object walker, Function<Stream<?>, Object> f) {
		Objects.requireNonNull(f);
		List<Object> l = frames(walker);
		Context x = Context.get();
		/* JDK frames are between walk and the code that it calls, so nothing can suspend there. */
		x.pins++;
		try {
			return f.apply(l.stream());
		} finally {
			x.pins--;
		}
	}

	/** Replaces StackWalker.forEach. */
	public static void forEach(Object walker, Consumer<Object> c) {
		Objects.requireNonNull(c);
		walk(walker, s -> {
			s.forEach(c);
			return null;
		});
	}

	/** Replaces StackWalker.getCallerClass: the class that called the method which asks. */
	public static Class<?> getCallerClass(Object walker) {
		int k = 0;
		for (Object o : frames(walker)) {
			Class<?> c = (Class<?>) get(o, "getDeclaringClass");
			if (!Walk.isReflection(c.getName()) && k++ == 1)
				return c;
		}
		throw Stacks.<RuntimeException>sneak(noCaller());
	}

	private static Throwable noCaller() {
		try {
			return (Throwable) Class.forName("java.lang.IllegalCallerException")
				.getConstructor(String.class).newInstance("no caller frame");
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	private static Object[] all(Object walker) {
		Function<Stream<?>, Object> f = Stream::toArray;
		try {
			return (Object[]) WALK.invoke(walker, f);
		} catch (Throwable e) {
			throw Stacks.<RuntimeException>sneak(e);
		}
	}

	private static List<Object> frames(Object walker) {
		List<Object> l = new ArrayList<>();
		boolean onHeap = false;
		boolean begun = false;
		/* Frames that carry out the method handle may be above ours. */
		boolean asked = false;
		Object last = null;
		for (Object o : all(walker)) {
			String c = (String) get(o, "getClassName");
			String m = (String) get(o, "getMethodName");
			boolean go = Traces.isTrampoline(c, m);
			if (go && !onHeap && !begun)
				heap(last, l);
			onHeap |= go;
			begun = Traces.isBegin(c, m);
			String n = Traces.shown(c, m);
			if (isIn(c, SELF))
				asked = true;
			if (n == null || !asked || isIn(c, SELF) || isIn(c, REFLECT))
				continue;
			last = o;
			l.add(n.equals(m) ? o : proxy(new Known(o, null, n)));
		}
		return l;
	}

	private static boolean isIn(String c, String type) {
		return c.startsWith(type) && (c.length() == type.length()
			|| c.charAt(type.length()) == '$');
	}

	/** Adds the callers of the frame that was resumed; `like` is its frame on the stack. */
	private static void heap(Object like, List<Object> l) {
		Context x = Context.get();
		if (x.current == null || like == null)
			return;
		for (Frame f : Packed.frames(x.callers())) {
			StackTraceElement e = f.site.element();
			String n = Traces.shown(e.getClassName(), e.getMethodName());
			if (n != null)
				l.add(proxy(new Known(like, f.site, n)));
		}
	}

	private static Object proxy(Known k) {
		return Proxy.newProxyInstance(Stacks.class.getClassLoader(), new Class<?>[] {FRAME}, k);
	}

	private static Object get(Object frame, String name) {
		try {
			return invoke(FRAME.getMethod(name), frame);
		} catch (NoSuchMethodException e) {
			throw new IllegalStateException(e);
		}
	}

	private static Object invoke(Method m, Object frame) {
		try {
			return m.invoke(frame);
		} catch (InvocationTargetException e) {
			throw Stacks.<RuntimeException>sneak(e.getCause());
		} catch (IllegalAccessException e) {
			throw new IllegalStateException(e);
		}
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> T sneak(Throwable e) throws T {
		throw (T) e;
	}

	/** A StackFrame: one of the JVM's under another name, or the site of a frame on the heap. */
	private static final class Known implements InvocationHandler {
		/**
		 * The JVM's frame; for the heap any frame of the same walker, which knows whether it
		 * may show classes.
		 */
		private final Object real;
		private final Site site;
		private final StackTraceElement element;

		Known(Object real, Site site, String name) {
			this.real = real;
			this.site = site;
			StackTraceElement e = site != null ? site.element()
				: (StackTraceElement) get(real, "toStackTraceElement");
			element = new StackTraceElement(e.getClassName(), name, e.getFileName(),
				e.getLineNumber());
		}

		@Override
		public Object invoke(Object self, Method m, Object[] args) {
			switch (m.getName()) {
			case "getClassName":
				return element.getClassName();
			case "getMethodName":
				return element.getMethodName();
			case "getFileName":
				return element.getFileName();
			case "getLineNumber":
				return element.getLineNumber();
			case "toStackTraceElement":
				return element;
			case "toString":
				return element.toString();
			case "hashCode":
				return System.identityHashCode(self);
			case "equals":
				return self == args[0];
			default:
				return inCode(m);
			}
		}

		/** Answers what is not in a trace: class, descriptor, place. */
		private Object inCode(Method m) {
			Object o = Stacks.invoke(m, real);
			if (site == null)
				return o;
			switch (m.getName()) {
			case "getDeclaringClass":
				return site.code.owner;
			case "getDescriptor":
				return site.method.desc;
			case "getMethodType":
				return MethodType.fromMethodDescriptorString(site.method.desc,
					site.code.owner.getClassLoader());
			case "getByteCodeIndex":
				return -1;
			default:
				return false;
			}
		}
	}
}
