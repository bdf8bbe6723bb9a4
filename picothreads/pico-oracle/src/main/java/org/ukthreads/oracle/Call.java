// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.oracle;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.ukthreads.pico.oracle.Calls;

/** One call of a test's method. It is part of the program, so it is translated with it. */
public final class Call implements Runnable {
	private final Method method;
	private final Object on;
	private final Object[] args;
	private final Calls.Result result;

	public Call(Method method, Object on, Object[] args, Calls.Result result) {
		this.method = method;
		this.on = on;
		this.args = args;
		this.result = result;
	}

	@Override
	public void run() {
		Object value = null;
		Throwable thrown = null;
		try {
			value = method.invoke(on, args);
		} catch (InvocationTargetException e) {
			thrown = e.getCause();
		} catch (Throwable e) {
			thrown = e;
		}
		Calls.done(result, value, thrown);
	}
}
