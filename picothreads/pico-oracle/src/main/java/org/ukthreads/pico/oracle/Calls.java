// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.ukthreads.pico.Chaos;
import org.ukthreads.pico.Dump;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.PicoThread;

/*
 * JUnit's calls of tests: Loader replaces JUnit's calls of Method.invoke by calls of invoke() here.
 *
 *   JUnit (not translated, OS thread) -- invoke --> new thread --> Call.run --> the test
 *                                     <-- waits --
 *
 * The new thread is a pico thread for a translated test and a platform thread for the
 * original, so in both each call has its own thread.
 */
public final class Calls {
	private static final long LIMIT = 600_000_000_000L;
	private static final AtomicLong MADE = new AtomicLong();
	private static volatile ClassLoader tests;
	private static volatile boolean pico;
	private static volatile int every;
	private static volatile long seed;
	private static Constructor<?> call;
	private static volatile Reload reload;
	/** What the running call was given. */
	private static volatile Object[] given;

	private Calls() {}

	/**
	 * Called before the first test. oneIn 0: no chaos; r null: stopped fibers keep their frames.
	 */
	static void prepare(ClassLoader loader, boolean translated, int oneIn, long withSeed,
			Reload r) throws ReflectiveOperationException {
		reload = r;
		call = loader.loadClass("org.ukthreads.oracle.Call").getConstructor(Method.class,
			Object.class, Object[].class, Result.class);
		pico = translated;
		every = oneIn;
		seed = withSeed;
		tests = loader;
	}

	/** What JUnit, which waits, holds of the program. */
	static void outside(Consumer<Object> to) {
		Object[] g = given;
		if (g != null)
			for (Object o : g)
				if (o != null)
					to.accept(o);
	}

	public static long made() {
		return MADE.get();
	}

	/** The result of a call. */
	public static final class Result {
		private final Thread waiter = Thread.currentThread();
		private Object value;
		private Throwable thrown;
		private volatile boolean done;
	}

	public static void done(Result r, Object value, Throwable thrown) {
		r.value = value;
		r.thrown = thrown;
		r.done = true;
		LockSupport.unpark(r.waiter);
	}

	/** Like m.invoke(on, args), but runs a method of the program on its own thread. */
	public static Object invoke(Method m, Object on, Object[] args)
			throws IllegalAccessException, InvocationTargetException {
		String owner = m.getDeclaringClass().getName();
		if (tests == null || m.getDeclaringClass().getClassLoader() != tests
				|| !(owner.startsWith("org.apache.") || owner.startsWith("org.ukthreads."))
				|| pico && Fiber.isFiber())
			return m.invoke(on, args);
		Result r = new Result();
		Runnable task;
		try {
			task = (Runnable) call.newInstance(m, on, args, r);
		} catch (InstantiationException e) {
			throw new IllegalStateException(e);
		}
		MADE.incrementAndGet();
		given = new Object[] {task, on, args, r};
		if (reload != null)
			reload.begin();
		/* The seed depends on the method, not on earlier tests, so each test is reproducible. */
		if (every > 0)
			Chaos.set(every, seed * 31 + m.toGenericString().hashCode() | 1);
		Thread t = pico ? new PicoThread(null, task, "main") : new Thread(null, task, "main");
		t.setDaemon(true);
		t.setContextClassLoader(Thread.currentThread().getContextClassLoader());
		t.start();
		long start = System.nanoTime();
		long end = start + LIMIT;
		boolean dense = every > 0;
		while (!r.done) {
			LockSupport.parkNanos(r, 100_000_000);
			/* Millions of suspensions find no more than the first ones. */
			if (dense && System.nanoTime() - start > 1_000_000_000L) {
				Chaos.set(every * 10_000, seed);
				dense = false;
			}
			if (System.nanoTime() > end) {
				if (pico)
					System.err.println(Dump.all());
				t.interrupt();
				throw new InvocationTargetException(new AssertionError("hangs: " + m));
			}
		}
		/* An OutOfMemoryError would end the JUnit run. */
		if (r.thrown instanceof OutOfMemoryError)
			throw new InvocationTargetException(new AssertionError(r.thrown.toString()));
		if (r.thrown != null)
			throw new InvocationTargetException(r.thrown);
		return r.value;
	}
}
