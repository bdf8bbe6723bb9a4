package org.ukthreads.pico;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Pins: stretches of code that cannot be captured. The translated program brackets them
 * with enter and exit; a fiber that blocks inside blocks its OS thread, a spare one takes
 * the carrier, and it is counted under the place that pinned.
 */
public final class Pins {
	private static final Map<String, LongAdder> BY_PLACE = new ConcurrentHashMap<>();
	private static final AtomicLong BLOCKED = new AtomicLong();
	private static final AtomicLong LOST = new AtomicLong();

	private Pins() {}

	/** Before a call of untranslated code that may call back. */
	public static void enter() {
		Fiber f = Context.get().fiber;
		if (f != null)
			f.pins++;
	}

	/** After it, however it ended. */
	public static void exit() {
		Fiber f = Context.get().fiber;
		if (f != null)
			f.pins--;
	}

	static void count(Fiber f) {
		BLOCKED.incrementAndGet();
		BY_PLACE.computeIfAbsent(place(), k -> new LongAdder()).increment();
	}

	static void lost() {
		LOST.incrementAndGet();
	}

	/** The innermost frame that is not the runtime's: what waits. */
	private static String place() {
		StackTraceElement[] st = new Throwable().getStackTrace();
		for (StackTraceElement e : st)
			if (!e.getClassName().startsWith("org.ukthreads.pico."))
				return e.getClassName() + '.' + e.getMethodName();
		return "the runtime";
	}

	/** How often a pinned fiber blocked its OS thread. */
	public static long blocked() {
		return BLOCKED.get();
	}

	/** How many suspensions ended in PinnedException. */
	public static long lostFrames() {
		return LOST.get();
	}

	/** Place to count. */
	public static Map<String, Long> report() {
		Map<String, Long> m = new TreeMap<>();
		BY_PLACE.forEach((k, v) -> m.put(k, v.sum()));
		return m;
	}
}
