// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.junit;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.opentest4j.TestAbortedException;
import org.ukthreads.pico.sim.Coverage;
import org.ukthreads.pico.sim.Sim;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.rewrite.SchedulingPoints;

/*
 * Runs the tests that have @PicoSim. JUnit's own instance is made but never called, because it
 * is not translated. The class path is translated once for each set of options.
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

	/** Runs the test and returns what was covered. Throws SimFailure if the test fails. */
	static Coverage simulate(Class<?> test, Method m, PicoSim how) throws Exception {
		PicoLoader loader = loader(how);
		Sim s = new Sim().hurry(how.hurry()).patience(how.patience()).loader(loader::again)
			.teller(t -> System.err.println(test.getName() + "." + m.getName() + ": " + t));
		if (how.pct() == 0)
			s.uniform();
		else if (how.pct() > 0)
			s.pct(how.pct());
		if (how.realWorld())
			s.realWorld();
		Sim.Program p = () -> steps(loader.again(), test, m);
		String token = System.getProperty("pico.sim.replay", how.replay());
		int seeds = Integer.getInteger("pico.sim.seeds", how.seeds());
		Sim.Outcome o = !token.isEmpty() ? replay(s, token, p)
			: how.bound() >= 0 ? s.explore(how.from(), how.bound(), seeds, p)
			: s.check(how.from(), seeds, p);
		Coverage done = s.coverage();
		if (o == null || o.ok())
			return done;
		if (o.failure instanceof TestAbortedException)
			throw (TestAbortedException) o.failure;
		String covered = "found in run " + done.runs() + ": " + done;
		throw new SimFailure(token.isEmpty() && how.shrink() > 0
			? s.shrink(o, how.shrink(), p) : o, covered);
	}

	private static Sim.Outcome replay(Sim s, String token, Sim.Program p) throws Exception {
		try {
			return s.replay(token, p.fresh());
		} catch (IllegalArgumentException e) {
			throw new IllegalArgumentException("replay = \"" + token + "\": neither a seed"
				+ " nor the token of a failure", e);
		}
	}

	/** The steps of one run, on instances of its own classes. */
	private static Runnable steps(ClassLoader l, Class<?> test, Method m) throws Exception {
		Class<?> c = l.loadClass(test.getName());
		List<Method> first = annotated(c, BeforeAll.class);
		List<Method> before = annotated(c, BeforeEach.class);
		List<Method> after = annotated(c, AfterEach.class);
		List<Method> last = annotated(c, AfterAll.class);
		Collections.reverse(after);
		Collections.reverse(last);
		return (Runnable) l.loadClass(STEPS.replace('/', '.'))
			.getConstructor(List.class, List.class, List.class, Method.class, List.class, List.class)
			.newInstance(first, constructors(c), before, method(c, m.getName()), after, last);
	}

	/**
	 * The constructors of the classes of which c is an inner class, outermost first, and then
	 * that of c.
	 */
	private static List<Constructor<?>> constructors(Class<?> c) throws Exception {
		boolean inner = c.isMemberClass() && !Modifier.isStatic(c.getModifiers());
		List<Constructor<?>> all = inner ? constructors(c.getDeclaringClass())
			: new ArrayList<>();
		Constructor<?> k = inner ? c.getDeclaredConstructor(c.getDeclaringClass())
			: c.getDeclaredConstructor();
		k.setAccessible(true);
		all.add(k);
		return all;
	}

	/**
	 * The methods with this annotation. Those of the outer class and of the superclass come
	 * first; overridden ones are left out.
	 */
	private static List<Method> annotated(Class<?> c, Class<? extends Annotation> by) {
		List<Method> all = new ArrayList<>();
		if (c == null || c == Object.class)
			return all;
		if (c.isMemberClass() && !Modifier.isStatic(c.getModifiers()))
			all.addAll(annotated(c.getDeclaringClass(), by));
		all.addAll(annotated(c.getSuperclass(), by));
		for (Method x : c.getDeclaredMethods()) {
			all.removeIf(y -> !Modifier.isPrivate(y.getModifiers())
				&& y.getDeclaringClass().isAssignableFrom(c) && y.getName().equals(x.getName())
				&& y.getParameterCount() == x.getParameterCount());
			x.setAccessible(true);
			if (x.isAnnotationPresent(by))
				all.add(x);
		}
		return all;
	}

	private static Method method(Class<?> c, String name) throws NoSuchMethodException {
		for (Class<?> d = c; d != null; d = d.getSuperclass())
			for (Method x : d.getDeclaredMethods())
				if (x.getName().equals(name) && x.getParameterCount() == 0) {
					x.setAccessible(true);
					return x;
				}
		throw new NoSuchMethodException(c.getName() + "." + name + "(): a test with @PicoSim"
			+ " must have no parameters");
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
