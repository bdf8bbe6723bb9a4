// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.Thread.UncaughtExceptionHandler;
import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinPool.ForkJoinWorkerThreadFactory;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/*
 * The workers of fork-join pools are threads of the JVM. The JDK's default factory gives them
 * the JVM's system class loader, which does not know a program that was translated in memory,
 * and the group of the thread that makes them, which is a carrier's. So this factory takes its
 * place: in `new ForkJoinPool(...)`, where a program calls the default factory, and, by a system
 * property that the JDK reads, in the common pool. A subclass of ForkJoinPool that names no
 * factory has the JDK's.
 */
/** The factory of the workers of fork-join pools. */
@Internal
public final class ForkJoins implements ForkJoinWorkerThreadFactory {
	private static final String PROPERTY = "java.util.concurrent.ForkJoinPool.common.threadFactory";

	/** For the JDK, which makes the common pool's factory. */
	public ForkJoins() {}

	/** Makes this the common pool's factory, unless the user has named one. */
	public static void install() {
		if (System.getProperty(PROPERTY) == null)
			System.setProperty(PROPERTY, ForkJoins.class.getName());
	}

	private static final class Worker extends ForkJoinWorkerThread {
		Worker(ForkJoinPool p) {
			super(p);
			setContextClassLoader(ClassLoader.getSystemClassLoader());
		}

		/** Decided when it is asked: `pico sim` loads the program anew for each run. */
		@Override
		public ClassLoader getContextClassLoader() {
			ClassLoader l = super.getContextClassLoader();
			return l == ClassLoader.getSystemClassLoader() ? Loaders.getSystemClassLoader() : l;
		}
	}

	@Override
	public ForkJoinWorkerThread newThread(ForkJoinPool p) {
		ThreadGroup here = Thread.currentThread().getThreadGroup();
		try {
			return Threads.getThreadGroup(Threads.currentThread()) == here ? new Worker(p)
				: (ForkJoinWorkerThread) Builders.asCaller(() -> new Worker(p));
		} catch (SecurityException e) {
			/* A security manager may refuse a class that has a getContextClassLoader. */
			return ForkJoinPool.defaultForkJoinWorkerThreadFactory.newThread(p);
		}
	}

	/** The factory to call in place of f. */
	public static ForkJoinWorkerThreadFactory factory(ForkJoinWorkerThreadFactory f) {
		return f == ForkJoinPool.defaultForkJoinWorkerThreadFactory ? new ForkJoins() : f;
	}

	/** Replaces ForkJoinPool.getFactory: programs compare its result with the default factory. */
	public static ForkJoinWorkerThreadFactory getFactory(ForkJoinPool p) {
		ForkJoinWorkerThreadFactory f = p.getFactory();
		return f instanceof ForkJoins ? ForkJoinPool.defaultForkJoinWorkerThreadFactory : f;
	}

	/* Replaces new ForkJoinPool(...). */

	public static ForkJoinPool make() {
		return make(Runtime.getRuntime().availableProcessors());
	}

	public static ForkJoinPool make(int parallelism) {
		return new ForkJoinPool(parallelism, new ForkJoins(), null, false);
	}

	public static ForkJoinPool make(int parallelism, ForkJoinWorkerThreadFactory f,
			UncaughtExceptionHandler h, boolean async) {
		return new ForkJoinPool(parallelism, factory(f), h, async);
	}

	/** A constructor of Java 9. */
	public static ForkJoinPool make(int parallelism, ForkJoinWorkerThreadFactory f,
			UncaughtExceptionHandler h, boolean async, int core, int most, int least,
			Predicate<? super ForkJoinPool> saturate, long keepAlive, TimeUnit unit) {
		try {
			return ForkJoinPool.class.getConstructor(int.class,
				ForkJoinWorkerThreadFactory.class, UncaughtExceptionHandler.class,
				boolean.class, int.class, int.class, int.class, Predicate.class,
				long.class, TimeUnit.class).newInstance(parallelism, factory(f), h, async,
				core, most, least, saturate, keepAlive, unit);
		} catch (InvocationTargetException e) {
			Continuation.<RuntimeException>sneak(e.getCause());
			return null;
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}
}
