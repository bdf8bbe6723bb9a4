// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.lang.reflect.Modifier;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** A public type is for programs or is marked as internal. */
final class PublicTypesTest {
	@Test
	void the_types_for_programs_are_these() throws Exception {
		File classes = new File(Fiber.class.getProtectionDomain().getCodeSource().getLocation()
			.toURI());
		Set<String> open = new TreeSet<>();
		for (String f : new File(classes, "org/ukthreads/pico").list()) {
			if (!f.endsWith(".class") || f.contains("$"))
				continue;
			String name = f.substring(0, f.length() - ".class".length());
			Class<?> k = Class.forName("org.ukthreads.pico." + name, false,
				Fiber.class.getClassLoader());
			if (Modifier.isPublic(k.getModifiers()) && !k.isAnnotationPresent(Internal.class))
				open.add(name);
		}
		assertEquals(new TreeSet<>(Set.of("Blocking", "Carrier", "Clock", "Continuation", "Dump",
			"Fiber", "Internal", "NeverBlocks", "Pico", "PicoRuntime", "PicoThread",
			"PinnedException", "Pins", "Reactor", "Scheduler")), open);
	}
}
