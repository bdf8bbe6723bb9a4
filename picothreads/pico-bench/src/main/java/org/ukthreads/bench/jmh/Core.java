// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.jmh;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.ukthreads.bench.flow.Flow;
import org.ukthreads.bench.flow.FlowLoader;
import org.ukthreads.bench.flow.Strand;
import org.ukthreads.bench.work.Coroutines;
import org.ukthreads.bench.work.Threads;
import org.ukthreads.pico.Continuation;

/**
 * Measures one suspension and resumption: at the leaf of a stack that stays (repeat), or with
 * the way down the stack and back up (down). Compares raw continuations (pico, loom, javaflow),
 * a fiber that its caller runs (quasar), and whole threads that yield, scheduler included
 * (pico-thread, virtual, platform, kotlin).
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Core {
	private static final int N = 10_000;

	@Param({"1", "10", "50"})
	public int depth;
	@Param({"repeat", "down"})
	public String pattern;
	@Param({"pico"})
	public String system;

	private interface Machine {
		int run() throws Throwable;
	}

	private Machine machine;

	@Setup
	public void make() throws Throwable {
		boolean repeat = pattern.equals("repeat");
		switch (system) {
		case "pico":
			Continuation k = (Continuation) new Translated().method("Raw", "make", int.class,
				boolean.class).invoke(null, depth, repeat);
			machine = () -> {
				for (int i = 0; i < N; i++)
					if (k.run())
						throw new IllegalStateException("ended");
				return N;
			};
			break;
		case "loom":
			machine = loom(repeat);
			break;
		case "javaflow":
			org.apache.commons.javaflow.api.Continuation[] f = {
				(org.apache.commons.javaflow.api.Continuation) new FlowLoader()
					.loadClass(Flow.class.getName()).getMethod("make", int.class,
					boolean.class).invoke(null, depth, repeat)};
			machine = () -> {
				for (int i = 0; i < N; i++) {
					f[0] = f[0].resume();
					if (f[0] == null)
						throw new IllegalStateException("ended");
				}
				return N;
			};
			break;
		case "quasar":
			Runnable q = (Runnable) new FlowLoader().loadClass(Strand.class.getName())
				.getMethod("make", int.class, boolean.class).invoke(null, depth, repeat);
			machine = () -> {
				for (int i = 0; i < N; i++)
					q.run();
				return N;
			};
			break;
		case "pico-thread":
			MethodHandle h = MethodHandles.lookup().unreflect(new Translated().method(
				"Threads", "run", ThreadFactory.class, int.class, int.class, boolean.class));
			machine = () -> (int) h.invokeExact((ThreadFactory) null, depth, N, repeat);
			break;
		case "platform":
			machine = () -> Threads.run(null, depth, N, repeat);
			break;
		case "virtual":
			ThreadFactory v = Translated.virtual();
			machine = () -> Threads.run(v, depth, N, repeat);
			break;
		case "kotlin":
			machine = () -> Coroutines.run(depth, N, repeat);
			break;
		default:
			throw new IllegalArgumentException(system);
		}
	}

	private MethodHandle yield;
	private Object scope;
	private int sum;

	/** jdk.internal.vm.Continuation (--add-exports java.base/jdk.internal.vm=ALL-UNNAMED). */
	private Machine loom(boolean repeat) throws Throwable {
		Class<?> s = Class.forName("jdk.internal.vm.ContinuationScope");
		Class<?> c = Class.forName("jdk.internal.vm.Continuation");
		scope = s.getConstructor(String.class).newInstance("bench");
		MethodHandles.Lookup l = MethodHandles.lookup();
		yield = l.findStatic(c, "yield", MethodType.methodType(boolean.class, s))
			.asType(MethodType.methodType(boolean.class, Object.class));
		Object k = c.getConstructor(s, Runnable.class).newInstance(scope, (Runnable) () -> {
			for (;;)
				sum += rec(depth, 1, null, repeat);
		});
		MethodHandle run = l.findVirtual(c, "run", MethodType.methodType(void.class)).bindTo(k);
		return () -> {
			for (int i = 0; i < N; i++)
				run.invokeExact();
			return N;
		};
	}

	private int rec(int d, long a, Object o, boolean repeat) {
		if (d == 0) {
			try {
				do {
					boolean b = (boolean) yield.invokeExact(scope);
				} while (repeat);
			} catch (Throwable e) {
				throw new IllegalStateException(e);
			}
			return 1;
		}
		long x = a * 31 + d;
		int r = rec(d - 1, x, o, repeat);
		return r + (int) x + (o == null ? d : 1);
	}

	@Benchmark
	@OperationsPerInvocation(N)
	public int suspend() throws Throwable {
		return machine.run();
	}
}
