package org.ukthreads.pico;

import java.lang.reflect.Proxy;
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

	/** Before a virtual call that may suspend: pins when the receiver's class is not ours. */
	public static boolean enterFor(Object on) {
		if (on == null || !FOREIGN.get(on.getClass()))
			return false;
		enter();
		return true;
	}

	public static void exitIf(boolean entered) {
		if (entered)
			exit();
	}

	/**
	 * Classes whose methods are frames that cannot be captured: the JDK's, proxies, and
	 * those without a companion in themselves or above (not translated, or nothing in
	 * them suspends, and then a suspension from below would be lost in them).
	 */
	private static final ClassValue<Boolean> FOREIGN = new ClassValue<Boolean>() {
		@Override
		protected Boolean computeValue(Class<?> k) {
			if (Proxy.isProxyClass(k))
				return true;
			for (; k != null && !jdk(k); k = k.getSuperclass())
				if (Code.class.isAssignableFrom(k) || hasCompanion(k))
					return false;
			return true;
		}
	};

	private static boolean jdk(Class<?> k) {
		ClassLoader l = k.getClassLoader();
		return l == null || l == PLATFORM;
	}

	private static boolean hasCompanion(Class<?> k) {
		if (k.getName().startsWith("org.ukthreads.pico."))
			return true;
		try {
			Class.forName(k.getName() + "$$Pico", false, k.getClassLoader());
			return true;
		} catch (ClassNotFoundException | LinkageError e) {
			return false;
		}
	}

	/** Java 8: the extension loader; later: the platform loader. */
	private static final ClassLoader PLATFORM = ClassLoader.getSystemClassLoader().getParent();

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
