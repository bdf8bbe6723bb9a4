// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.File;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.rewrite.SchedulingPoints;

/** Fixtures, translated for a simulation. */
final class Programs {
	private Programs() {}

	static PicoLoader load(Class<?> of, SchedulingPoints.Level points, boolean chaos)
			throws Exception {
		return load(of, points, chaos, "fixtures", List.of());
	}

	private static Path from(Class<?> c) throws Exception {
		return Paths.get(c.getProtectionDomain().getCodeSource().getLocation().toURI());
	}

	/** Loads the test classes whose names contain `name`, and the jars of the given classes. */
	static PicoLoader load(Class<?> of, SchedulingPoints.Level points, boolean chaos,
			String name, List<Class<?>> jars) throws Exception {
		Translator.Options o = new Translator.Options();
		o.chaos = chaos;
		o.points = points;
		o.verify = true;
		o.rules.add(Sim.rules());
		List<Path> pico = Arrays.stream(System.getProperty("java.class.path")
			.split(File.pathSeparator)).filter(p -> p.contains("pico-")
				&& !p.contains("test-classes") && !p.contains("pico-translate"))
			.map(Paths::get).collect(Collectors.toList());
		List<Path> paths = new ArrayList<>(List.of(from(of)));
		for (Class<?> c : jars)
			paths.add(from(c));
		ClassPath own = new ClassPath(paths);
		own.entries().keySet().removeIf(n -> n.startsWith("org/ukthreads/") && !n.contains(name));
		return PicoLoader.translate(own, new ClassPath(pico), o,
			Programs.class.getClassLoader(), r -> {});
	}
}
