// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.simjunit;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;

/**
 * One run of a test: what is called on a new instance. Translated with the program, which is why
 * it is in no package of the runtime.
 */
public final class Steps implements Runnable {
	private final Constructor<?> make;
	private final List<Method> before;
	private final Method test;
	private final List<Method> after;

	public Steps(Constructor<?> make, List<Method> before, Method test, List<Method> after) {
		this.make = make;
		this.before = before;
		this.test = test;
		this.after = after;
	}

	@Override
	public void run() {
		try {
			Object on = make.newInstance();
			try {
				for (Method m : before)
					m.invoke(on);
				test.invoke(on);
			} finally {
				for (Method m : after)
					m.invoke(on);
			}
		} catch (InvocationTargetException e) {
			Steps.<RuntimeException>sneak(e.getCause());
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	@SuppressWarnings("unchecked")
	private static <E extends Throwable> void sneak(Throwable e) throws E {
		throw (E) e;
	}
}
