// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * Scheduling points: where a simulated program may lose its turn. A translation with scheduling
 * points calls point() before each act that other threads can see (locks, monitors, volatile
 * fields, atomics...). A simulation installs a watcher, which says whether another thread goes
 * on. Without a watcher a point costs one read.
 */
@Internal
public final class Points {
	/** What the program is about to do, or has just done. */
	public static final int LOCK = 0, UNLOCK = 1, ATOMIC = 2, VOLATILE = 3, THREAD = 4,
		WAIT = 5, SHARED = 6, FIELD = 7;

	/** Decides at each point; called on the carrier, as the fiber that has reached it. */
	public interface Watcher {
		/**
		 * Returns true if the fiber is to leave its carrier here; it is ready again at once. If
		 * pinned is set it cannot leave, because untranslated code is on its stack: the result
		 * is ignored.
		 */
		boolean leaves(Fiber f, int kind, boolean pinned);
	}

	private static final MethodRef POINT = MethodRef.primitive(Points.class, "point", "(I)V");
	/** Set between runs, read by the carriers that are made afterwards. */
	private static volatile Watcher watcher;

	private Points() {}

	/** Installs a watcher; null: there is none, and no fiber leaves. */
	public static void watch(Watcher w) {
		watcher = w;
	}

	/** kind: one of the constants above. */
	@Leaf
	public static void point(int kind) {
		point(kind, null);
	}

	public static void point(int kind, Capture c) {
		Watcher w = watcher;
		if (w == null)
			return;
		Context x = Context.of(c);
		Fiber f = x.fiber;
		if (f == null || x.current != f)
			return;
		boolean pinned = x.pinned();
		if (w.leaves(f, kind, pinned) && !pinned)
			Fiber.yield(x, f, POINT, c);
	}
}
