// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/*
 * Pins: parts of the stack that cannot be captured, because an untranslated method is in the
 * middle (the JDK calling back, a static initialiser, native code). A fiber that blocks above
 * one blocks its OS thread, a spare one takes the carrier, and the block is counted under its
 * place. There are two ways to find a pin:
 *
 *   looked for   calls of untranslated code have no bracket. The methods that it can call are
 *                known: those that override one of its own. If such a method may suspend, it
 *                counts its entry (`entered`), and a suspension after an entry looks at the
 *                stack (Walk), 0.2 to 0.4 us, before it throws.
 *   bracketed    enter and exit, where the stack does not show a pin: constructors and
 *                static initialisers of translated classes, method handles.
 *
 * A parallel stream pins, too: see away(). A call that blocks in untranslated code is not a
 * pin: the Watch takes its carrier.
 *
 * Rejected: a bracket around each call that may call back. It is unknown what a HashMap
 * contains, so one equals() that may suspend bracketed every call of java.util: 3 to 140 %.
 */
/** Counts how often, and where, threads had to block an OS thread. Thread-safe. */
public final class Pins {
	private static final Map<String, LongAdder> BY_PLACE = new ConcurrentHashMap<>();
	private static final AtomicLong BLOCKED = new AtomicLong();
	private static final AtomicLong LOST = new AtomicLong();
	private static final Map<String, LongAdder> TAKEN = new ConcurrentHashMap<>();

	private Pins() {}

	/** Opens a bracket, before a call of untranslated code that may call back. */
	public static void enter() {
		Context.get().pins++;
	}

	/** Closes the bracket, however the call ended. */
	public static void exit() {
		Context.get().pins--;
	}

	/**
	 * Called when a stream becomes parallel. Its threads are the JVM's, and a fiber that asks
	 * for its result waits for them inside the JDK, unknown to the runtime. What these threads
	 * wait for may need the carrier, so from here to its next suspension the fiber runs without
	 * one.
	 */
	public static void away() {
		Context x = Context.get();
		if (x.fiber == null || x.away)
			return;
		x.away = true;
		count(x.fiber);
		((CarrierThread) Thread.currentThread()).leave();
	}

	/**
	 * Gets a carrier again for the calling fiber, which is away. False: the caller is no fiber.
	 */
	static boolean back() {
		Context x = Context.get();
		if (x.fiber == null)
			return false;
		x.away = false;
		((CarrierThread) Thread.currentThread()).back(x.fiber);
		return true;
	}

	/**
	 * The first act of a method that untranslated code may call (it overrides a JDK method). A
	 * primitive that stops before the trampoline is reached again looks at the stack.
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

	/** Counts a carrier that the Watch has taken, under the place that the stack shows, or null. */
	static void taken(StackTraceElement[] stack) {
		String place = stack == null ? "one of many that compute" : place(stack);
		TAKEN.computeIfAbsent(place, k -> new LongAdder()).increment();
	}

	/** The program's innermost method, and the JDK method that it called. */
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
		return called.isEmpty() ? "no method of the program" : called;
	}

	/** Returns how often a carrier was taken from a stuck thread, by place. */
	public static Map<String, Long> taken() {
		return sums(TAKEN);
	}

	static void lost() {
		LOST.incrementAndGet();
	}

	/**
	 * The innermost method that is not the runtime's; if there is none, the runtime's outermost
	 * one.
	 */
	static String place() {
		StackTraceElement[] st = new Throwable().getStackTrace();
		String outer = "";
		for (StackTraceElement e : st) {
			String c = e.getClassName();
			if (!c.startsWith("org.ukthreads.pico."))
				return c + '.' + e.getMethodName();
			if (!c.endsWith(".CarrierThread") && !c.endsWith(".Continuation")
					&& !c.endsWith(".JvmLock"))
				outer = c + '.' + e.getMethodName();
		}
		return "the runtime, in " + outer;
	}

	/** Returns how often a pinned fiber blocked its OS thread. */
	public static long blocked() {
		return BLOCKED.get();
	}

	/** Returns how many suspensions ended in a PinnedException. */
	public static long lostFrames() {
		return LOST.get();
	}

	/** Returns how often a pinned fiber blocked its OS thread, by place. */
	public static Map<String, Long> report() {
		return sums(BY_PLACE);
	}

	private static Map<String, Long> sums(Map<String, LongAdder> by) {
		Map<String, Long> m = new TreeMap<>();
		by.forEach((k, v) -> m.put(k, v.sum()));
		return m;
	}
}
