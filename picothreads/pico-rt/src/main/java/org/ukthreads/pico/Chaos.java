// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Forces suspensions, for tests. A translation with chaos calls point() at the entry of every
 * method, and one call in N suspends the fiber for no reason. This must not change what the
 * program does. On one carrier the same seed selects the same points.
 */
@Internal
public final class Chaos {
	private static final MethodRef POINT = MethodRef.primitive(Chaos.class, "point", "()V");
	/** Suspends at one point in this many; 0: never. */
	private static volatile int every;
	private static long seed = 1;
	private static final AtomicLong SUSPENDED = new AtomicLong();

	static {
		String[] told = System.getProperty("pico.chaos", "0").split(":");
		set(Integer.parseInt(told[0]), told.length > 1 ? Long.parseLong(told[1]) : 1);
	}

	private Chaos() {}

	public static void set(int oneIn, long newSeed) {
		every = oneIn;
		seed = newSeed;
	}

	/** How often point() has suspended. */
	public static long suspensions() {
		return SUSPENDED.get();
	}

	@Leaf
	public static void point() {
		point(null);
	}

	public static void point(Capture c) {
		int n = every;
		if (n == 0)
			return;
		long s = seed;
		s ^= s << 13;
		s ^= s >>> 7;
		s ^= s << 17;
		seed = s;
		if (Long.remainderUnsigned(s, n) != 0)
			return;
		Context x = Context.of(c);
		Fiber f = x.fiber;
		if (f == null || x.current != f || x.pinned())
			return;
		SUSPENDED.incrementAndGet();
		Fiber.yield(x, f, POINT, c);
	}
}
