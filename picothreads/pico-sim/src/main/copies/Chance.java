// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Replaces the calls that draw random numbers in a simulated program. */
public final class Chance {
	private Chance() {}

	/** Replaces System.exit: ends this run, not the JVM. */
	public static void exit(int code) {
		throw new Sim.ExitException(code);
	}

	public static void exit(Runtime rt, int code) {
		exit(code);
	}

	public static double random() {
		return Sim.random().nextDouble();
	}

	public static UUID randomUUID() {
		Random r = Sim.random();
		return new UUID(r.nextLong() & ~0xf000L | 0x4000L,
			r.nextLong() & Long.MAX_VALUE >>> 1 | Long.MIN_VALUE);
	}

	public static void shuffle(List<?> l) {
		Collections.shuffle(l, Sim.random());
	}

	public static void shuffle(List<?> l, Random r) {
		Collections.shuffle(l, r instanceof ThreadLocalRandom ? Sim.random() : r);
	}

	/* ThreadLocalRandom.current() stays; these replace the calls on its result. */

	private static void check(boolean ok) {
		if (!ok)
			throw new IllegalArgumentException("bound");
	}

	// each: public static T m(ThreadLocalRandom r, ..) { return Sim.random().m(..); }
	int nextInt(); int nextInt(int bound); long nextLong(); double nextDouble();
	float nextFloat(); boolean nextBoolean(); double nextGaussian();
	void nextBytes(byte[] b);

	public static int nextInt(ThreadLocalRandom r, int from, int to) {
		return (int) nextLong(r, from, to);
	}

	public static long nextLong(ThreadLocalRandom r, long bound) {
		return nextLong(r, 0, bound);
	}

	public static long nextLong(ThreadLocalRandom r, long from, long to) {
		check(from < to);
		for (;;) {
			long v = Sim.random().nextLong();
			if (to - from <= 0) {
				if (v >= from && v < to)
					return v;
			} else {
				return from + Long.remainderUnsigned(v, to - from);
			}
		}
	}

	public static double nextDouble(ThreadLocalRandom r, double bound) {
		return nextDouble(r, 0, bound);
	}

	public static double nextDouble(ThreadLocalRandom r, double from, double to) {
		check(from < to);
		return from + Sim.random().nextDouble() * (to - from);
	}

	/* Since Java 17. */

	public static float nextFloat(ThreadLocalRandom r, float bound) {
		return nextFloat(r, 0, bound);
	}

	public static float nextFloat(ThreadLocalRandom r, float from, float to) {
		check(from < to);
		float v = from + Sim.random().nextFloat() * (to - from);
		return v < to ? v : Math.nextDown(to);
	}

	public static double nextGaussian(ThreadLocalRandom r, double mean, double deviation) {
		check(deviation >= 0);
		return mean + Sim.random().nextGaussian() * deviation;
	}

	public static double nextExponential(ThreadLocalRandom r) {
		return -Math.log(1 - Sim.random().nextDouble());
	}

	/* Streams draw when they are consumed, as in the JDK. */

	// each: public static T m(ThreadLocalRandom r, ..) { return Sim.random().m(..); }
	IntStream ints(); IntStream ints(long n); IntStream ints(int from, int to);
	IntStream ints(long n, int from, int to);
	LongStream longs(); LongStream longs(long n); LongStream longs(long from, long to);
	LongStream longs(long n, long from, long to);
	DoubleStream doubles(); DoubleStream doubles(long n);
	DoubleStream doubles(double from, double to);
	DoubleStream doubles(long n, double from, double to);
}
