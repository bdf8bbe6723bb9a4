// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** Walker shows the same frames as SecurityManager. */
final class WalkTest {
	private static final List<String> SEEN = new ArrayList<>();

	/** Compares both, from the innermost frame of this class outwards. */
	public static Object look() {
		List<Class<?>> walked = from(Walker.classes());
		List<Class<?>> context = from(Walk.stack());
		assertEquals(context, walked);
		SEEN.add(context.toString());
		return null;
	}

	private static List<Class<?>> from(Class<?>[] stack) {
		List<Class<?>> l = Arrays.asList(stack);
		return l.subList(l.indexOf(WalkTest.class), l.size());
	}

	@Test
	void calls_of_every_kind() throws Throwable {
		look();
		Runnable lambda = WalkTest::look;
		lambda.run();
		Arrays.asList(1, 2).forEach(x -> look());
		Arrays.asList(1, 2).stream().map(x -> look()).count();
		new TreeSet<Integer>((a, b) -> {
			look();
			return a - b;
		}).add(1);
	}

	@Test
	void reflection_and_method_handles() throws Throwable {
		for (int k = 0; k < 40; k++)
			WalkTest.class.getMethod("look").invoke(null);
		MethodHandle h = MethodHandles.lookup().findStatic(WalkTest.class, "look",
			MethodType.methodType(Object.class));
		Object o = h.invokeExact();
		o = h.invoke();
		h.invokeWithArguments();
		Callable<?> proxy = (Callable<?>) Proxy.newProxyInstance(
			WalkTest.class.getClassLoader(), new Class<?>[] {Callable.class},
			(InvocationHandler) (p, m, a) -> look());
		proxy.call();
		assertTrue(o == null && SEEN.size() > 40);
	}

	@Test
	@SuppressWarnings({"removal", "deprecation"})
	void privileged_code() {
		AccessController.doPrivileged((PrivilegedAction<Object>) WalkTest::look);
	}
}
