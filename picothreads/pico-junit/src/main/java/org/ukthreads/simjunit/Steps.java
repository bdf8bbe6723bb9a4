// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.simjunit;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;

/**
 * One run of a test: the methods to call on a new instance. It is translated with the program,
 * so it is in no package of the runtime.
 */
public final class Steps implements Runnable {
	private final List<Method> first;
	/**
	 * The constructors of the classes around the test's class, outermost first, and then its
	 * own.
	 */
	private final List<Constructor<?>> makes;
	private final List<Method> before;
	private final Method test;
	private final List<Method> after;
	private final List<Method> last;
	/** The instances, innermost first. */
	private final List<Object> made = new ArrayList<>();

	public Steps(List<Method> first, List<Constructor<?>> makes, List<Method> before,
			Method test, List<Method> after, List<Method> last) {
		this.first = first;
		this.makes = makes;
		this.before = before;
		this.test = test;
		this.after = after;
		this.last = last;
	}

	@Override
	public void run() {
		try {
			try {
				call(first, true);
				for (Constructor<?> k : makes)
					made.add(0, made.isEmpty() ? k.newInstance() : k.newInstance(made.get(0)));
				call(first, false);
				once();
			} finally {
				call(last, true);
				call(last, false);
			}
		} catch (InvocationTargetException e) {
			Steps.<RuntimeException>sneak(e.getCause());
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	private void once() throws ReflectiveOperationException {
		try {
			for (Method m : before)
				m.invoke(on(m));
			test.invoke(on(test));
		} finally {
			for (Method m : after)
				m.invoke(on(m));
		}
	}

	private void call(List<Method> l, boolean isStatic) throws ReflectiveOperationException {
		for (Method m : l)
			if (Modifier.isStatic(m.getModifiers()) == isStatic)
				m.invoke(on(m));
	}

	/** The instance of m's class; null: there is none, or none has been made yet. */
	private Object on(Method m) {
		for (Object o : made)
			if (m.getDeclaringClass().isInstance(o))
				return o;
		return null;
	}

	@SuppressWarnings("unchecked")
	private static <E extends Throwable> void sneak(Throwable e) throws E {
		throw (E) e;
	}
}
