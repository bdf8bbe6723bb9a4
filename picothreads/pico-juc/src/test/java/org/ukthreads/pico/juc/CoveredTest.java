// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The lists of methods in src/main/copies are complete on the JDK that runs this: a method that
 * is missing would run under the JDK's lock alone.
 */
final class CoveredTest {
	/** Their defaults call methods of ours. */
	private static final List<String> DEFAULTS = List.of(
		"toArray[interface java.util.function.IntFunction]", "reversed[]");

	private static List<String> methods(Class<?> c) {
		List<String> all = new ArrayList<>();
		for (Method m : c.getDeclaredMethods())
			if ((m.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0
					&& !Modifier.isStatic(m.getModifiers()) && !m.isSynthetic())
				all.add(m.getName() + Arrays.toString(m.getParameterTypes()));
		return all;
	}

	private static void covers(Class<?> ours, String jdks) throws ClassNotFoundException {
		List<String> missing = methods(Class.forName(jdks));
		for (Class<?> c = ours; c.getName().startsWith("org.ukthreads"); c = c.getSuperclass())
			missing.removeAll(methods(c));
		missing.removeAll(DEFAULTS);
		assertEquals(List.of(), missing, ours.getName());
	}

	@Test
	void ours_have_what_the_jdks_classes_have() throws Exception {
		covers(PicoVector.class, "java.util.Vector");
		covers(PicoStack.class, "java.util.Stack");
		covers(PicoHashtable.class, "java.util.Hashtable");
		for (Class<?> c : Synchronized.class.getDeclaredClasses())
			covers(c, "java.util.Collections$Synchronized" + c.getSimpleName().substring(2));
		for (Class<?> c : SynchronizedMaps.class.getDeclaredClasses())
			covers(c, "java.util.Collections$Synchronized" + c.getSimpleName().substring(2));
		covers(Single.class, "java.util.concurrent.Executors$DelegatedExecutorService");
		covers(Single.Scheduled.class,
			"java.util.concurrent.Executors$DelegatedScheduledExecutorService");
	}
}
