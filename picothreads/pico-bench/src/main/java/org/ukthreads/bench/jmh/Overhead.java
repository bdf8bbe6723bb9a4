// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.jmh;

import java.lang.reflect.Method;
import java.util.concurrent.Callable;
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
import org.ukthreads.bench.work.lib.Work;

/**
 * Measures what the translation costs a library that never blocks, and how much the library
 * grows.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class Overhead {
	private static final int N = 20;

	@Param({"gson", "jackson-write", "jackson-read", "jsoup", "h2", "regex"})
	public String work;
	@Param({"plain", "pico"})
	public String system;

	private Callable<Integer> call;
	private Method run;
	/** The result of one run of the work. */
	private int proof;

	private static String[] jars(String work) {
		switch (work) {
		case "jackson-write": case "jackson-read":
			return new String[] {"jackson-"};
		case "regex":
			return new String[] {"re2j-"};
		default:
			return new String[] {work + "-"};
		}
	}

	@Setup
	@SuppressWarnings("unchecked")
	public void make() throws Exception {
		proof = Work.make(work).call();
		if (system.equals("plain")) {
			call = Work.make(work);
			run = Work.class.getMethod("run", Callable.class, int.class);
			return;
		}
		Translated t = new Translated(jars(work));
		System.out.println("\ngrowth " + work + " " + t.report.sizeBefore() + " "
			+ t.report.sizeAfter());
		call = (Callable<Integer>) t.method("lib.Work", "make", String.class).invoke(null, work);
		run = t.method("lib.Work", "run", Callable.class, int.class);
	}

	@Benchmark
	@OperationsPerInvocation(N)
	public int work() throws Exception {
		return batch(N);
	}

	int batch(int n) throws Exception {
		int got = (int) run.invoke(null, call, n);
		if (got != proof * n)
			throw new IllegalStateException(got + " instead of " + proof * n);
		return got;
	}
}
