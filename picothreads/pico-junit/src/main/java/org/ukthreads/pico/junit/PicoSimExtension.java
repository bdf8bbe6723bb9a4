// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.junit;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.ukthreads.pico.sim.Coverage;
import org.ukthreads.pico.sim.Sim;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.rewrite.SchedulingPoints;

/*
 * Runs the tests that are @PicoSim. JUnit's own instance, which is not translated, is made but
 * never called. The class path is translated once for each set of options.
 */
public final class PicoSimExtension implements InvocationInterceptor {
	private static final String STEPS = "org/ukthreads/simjunit/Steps";
	private static final Map<String, PicoLoader> LOADERS = new HashMap<>();

	private static PicoSim of(ExtensionContext c) {
		Method m = c.getTestMethod().orElse(null);
		return m == null ? null : m.getAnnotation(PicoSim.class);
	}

	@Override
	public void interceptBeforeEachMethod(Invocation<Void> i,
			ReflectiveInvocationContext<Method> in, ExtensionContext c) throws Throwable {
		each(i, c);
	}

	@Override
	public void interceptAfterEachMethod(Invocation<Void> i,
			ReflectiveInvocationContext<Method> in, ExtensionContext c) throws Throwable {
		each(i, c);
	}

	private static void each(Invocation<Void> i, ExtensionContext c) throws Throwable {
		if (of(c) == null)
			i.proceed();
		else
			i.skip();
	}

	@Override
	public void interceptTestMethod(Invocation<Void> i,
			ReflectiveInvocationContext<Method> in, ExtensionContext c) throws Throwable {
		PicoSim how = of(c);
		if (how == null) {
			i.proceed();
			return;
		}
		i.skip();
		Coverage done = simulate(c.getRequiredTestClass(), in.getExecutable(), how);
		c.publishReportEntry("pico.sim", done.toString());
	}

	/** SimFailure: it fails. What was covered. */
	static Coverage simulate(Class<?> test, Method m, PicoSim how) throws Exception {
		PicoLoader loader = loader(how);
		Sim s = new Sim().hurry(how.hurry()).loader(loader::again);
		if (how.pct() == 0)
			s.uniform();
		else if (how.pct() > 0)
			s.pct(how.pct());
		if (how.realWorld())
			s.realWorld();
		Sim.Program p = () -> steps(loader.again(), test, m);
		String token = System.getProperty("pico.sim.replay", how.replay());
		int seeds = Integer.getInteger("pico.sim.seeds", how.seeds());
		Sim.Outcome o = !token.isEmpty() ? s.replay(token, p.fresh())
			: how.bound() >= 0 ? s.explore(how.from(), how.bound(), seeds, p)
			: s.check(how.from(), seeds, p);
		Coverage done = s.coverage();
		if (o == null || o.ok())
			return done;
		String covered = "found in run " + done.runs() + ": " + done;
		throw new SimFailure(token.isEmpty() && how.shrink() > 0
			? s.shrink(o, how.shrink(), p) : o, covered);
	}

	/** An instance of the test of this run's own classes, and what is called on it. */
	private static Runnable steps(ClassLoader l, Class<?> test, Method m) throws Exception {
		Class<?> c = l.loadClass(test.getName());
		Constructor<?> k = c.getDeclaredConstructor();
		k.setAccessible(true);
		List<Method> before = new ArrayList<>();
		List<Method> after = new ArrayList<>();
		for (Class<?> d = c; d != Object.class; d = d.getSuperclass())
			for (Method x : d.getDeclaredMethods()) {
				x.setAccessible(true);
				if (x.isAnnotationPresent(BeforeEach.class))
					before.add(0, x);
				if (x.isAnnotationPresent(AfterEach.class))
					after.add(x);
			}
		Method t = c.getDeclaredMethod(m.getName());
		t.setAccessible(true);
		return (Runnable) l.loadClass(STEPS.replace('/', '.'))
			.getConstructor(Constructor.class, List.class, Method.class, List.class)
			.newInstance(k, before, t, after);
	}

	private static synchronized PicoLoader loader(PicoSim how) throws IOException {
		String key = how.fields() + String.join("|", how.translate());
		PicoLoader l = LOADERS.get(key);
		if (l != null)
			return l;
		List<Path> own = new ArrayList<>();
		List<Path> all = new ArrayList<>();
		for (String s : System.getProperty("java.class.path").split(File.pathSeparator)) {
			Path p = Paths.get(s);
			if (!Files.exists(p))
				continue;
			all.add(p);
			boolean named = Files.isDirectory(p);
			for (String r : how.translate())
				named |= p.getFileName().toString().matches(r);
			if (named)
				own.add(p);
		}
		ClassPath program = new ClassPath(own);
		program.entries().put(STEPS + ".class", steps());
		Translator.Options o = new Translator.Options();
		o.rules.add(Sim.rules());
		o.points = how.fields() ? SchedulingPoints.Level.FIELDS : SchedulingPoints.Level.SYNC;
		l = PicoLoader.translate(program, new ClassPath(all), o,
			PicoSimExtension.class.getClassLoader(), r -> { });
		LOADERS.put(key, l);
		return l;
	}

	private static byte[] steps() throws IOException {
		try (InputStream in = PicoSimExtension.class.getResourceAsStream(
				"/" + STEPS + ".class")) {
			return in.readAllBytes();
		}
	}
}
