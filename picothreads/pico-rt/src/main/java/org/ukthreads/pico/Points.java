// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * Where a simulated program may lose its turn: a translation with scheduling points calls
 * point() before each act that other threads can see (locks, monitors, volatile fields,
 * atomics...). Whoever simulates watches them and says whether another thread goes on; if not,
 * or where nobody watches, a point costs a read.
 */
@Internal
public final class Points {
	/** What the program is about to do, or has just done. */
	public static final int LOCK = 0, UNLOCK = 1, ATOMIC = 2, VOLATILE = 3, THREAD = 4,
		WAIT = 5, SHARED = 6, FIELD = 7;

	/** Decides at each point; called on the carrier, as the fiber that has reached it. */
	public interface Watcher {
		/**
		 * True: the fiber leaves its carrier here, and is ready again. Where pinned is set it
		 * cannot, because code that is not translated is on its stack: the answer is ignored.
		 */
		boolean leaves(Fiber f, int kind, boolean pinned);
	}

	private static final MethodRef POINT = MethodRef.primitive(Points.class, "point", "(I)V");
	/** Set between runs, read by the carriers that are made after it. */
	private static volatile Watcher watcher;

	private Points() {}

	/** From now on w decides; null: nobody, and nobody leaves. */
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
