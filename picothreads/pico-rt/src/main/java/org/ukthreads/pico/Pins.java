// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/*
 * Pins: stretches of the stack that cannot be captured, because a method that is not
 * translated is in the middle: the JDK calling back, a static initialiser, native code.
 * A fiber that blocks above one blocks its OS thread, a spare one takes the carrier, and
 * it is counted under the place that pinned. Two ways to know:
 *
 *   looked for   nothing is done around calls of untranslated code. What it can call is
 *                known: methods that override one of its own. Those that may suspend
 *                count their entry (`entered`), and a suspension after an entry looks at
 *                the stack (Walk), 0.2 to 0.4 us, before it throws.
 *   bracketed    enter and exit, where the stack does not show it: constructors and
 *                static initialisers of translated classes, method handles.
 *
 * A parallel stream pins, too: see away(). What blocks in untranslated code without coming
 * back is nobody's pin: the Watch sees to it.
 *
 * Rejected: a bracket around each call that may call back (what is stored in a HashMap?
 * one equals() that may suspend bracketed every call of java.util: 3 to 140 %).
 */
/** Threads that had to block an OS thread: how often, and where; all methods, from any thread. */
public final class Pins {
	private static final Map<String, LongAdder> BY_PLACE = new ConcurrentHashMap<>();
	private static final AtomicLong BLOCKED = new AtomicLong();
	private static final AtomicLong LOST = new AtomicLong();
	private static final Map<String, LongAdder> TAKEN = new ConcurrentHashMap<>();

	private Pins() {}

	/** Before a call of untranslated code that may call back. */
	public static void enter() {
		Context.get().pins++;
	}

	/** After it, however it ended. */
	public static void exit() {
		Context.get().pins--;
	}

	/**
	 * A stream becomes parallel: its threads are the JVM's, and who asks it for its result
	 * waits for them inside the JDK, where nobody sees it wait. From here to the next
	 * suspension it runs without a carrier: what they wait for may need it.
	 */
	public static void away() {
		Context x = Context.get();
		if (x.fiber == null || x.away)
			return;
		x.away = true;
		count(x.fiber);
		((CarrierThread) Thread.currentThread()).leave();
	}

	/** The calling fiber, if it is away, needs a carrier again. */
	static boolean back() {
		Context x = Context.get();
		if (x.fiber == null)
			return false;
		x.away = false;
		((CarrierThread) Thread.currentThread()).back(x.fiber);
		return true;
	}

	/**
	 * The first act of a method that untranslated code may call (it overrides one of the
	 * JDK's): who stops before the trampoline is back looks at the stack.
	 */
	public static void entered() {
		Thread t = Thread.currentThread();
		if (t instanceof CarrierThread)
			((CarrierThread) t).context.entered++;
		else if (Context.others)
			Context.get().entered++;
	}

	static void count(Fiber f) {
		BLOCKED.incrementAndGet();
		BY_PLACE.computeIfAbsent(place(), k -> new LongAdder()).increment();
	}

	/** The Watch gave its carrier away, for what the stack shows. */
	static void taken(StackTraceElement[] stack) {
		TAKEN.computeIfAbsent(place(stack), k -> new LongAdder()).increment();
	}

	/** The program's innermost method, and what of the JDK it called. */
	private static String place(StackTraceElement[] stack) {
		String called = "";
		for (StackTraceElement e : Traces.running(stack)) {
			String c = e.getClassName();
			String m = c + '.' + e.getMethodName();
			if (!c.startsWith("java.") && !c.startsWith("jdk.") && !c.startsWith("sun.")
					&& !c.startsWith("javax."))
				return called.isEmpty() ? m : called + " in " + m;
			called = m;
		}
		return called.isEmpty() ? "nothing of the program" : called;
	}

	/** How often a carrier was taken from a thread that was stuck (place to count). */
	public static Map<String, Long> taken() {
		return sums(TAKEN);
	}

	static void lost() {
		LOST.incrementAndGet();
	}

	/** The innermost frame that is not the runtime's: what waits; or how the runtime came to. */
	private static String place() {
		StackTraceElement[] st = new Throwable().getStackTrace();
		String outer = "";
		for (StackTraceElement e : st) {
			String c = e.getClassName();
			if (!c.startsWith("org.ukthreads.pico."))
				return c + '.' + e.getMethodName();
			if (!c.endsWith(".CarrierThread") && !c.endsWith(".Continuation"))
				outer = c + '.' + e.getMethodName();
		}
		return "the runtime, in " + outer;
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
		return sums(BY_PLACE);
	}

	private static Map<String, Long> sums(Map<String, LongAdder> by) {
		Map<String, Long> m = new TreeMap<>();
		by.forEach((k, v) -> m.put(k, v.sum()));
		return m;
	}
}
