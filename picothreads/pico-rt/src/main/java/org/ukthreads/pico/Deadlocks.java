// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Finds threads that wait for one another in a circle. */
final class Deadlocks {
	/** What counts as waiting: for a monitor; also for a lock; also for a thread's end. */
	static final int MONITORS = 0, LOCKS = 1, ANY = 2;

	private Deadlocks() {}

	/**
	 * The circles that the threads of `from` are in or wait for. A circle is checked a second
	 * time, because it may have dissolved meanwhile.
	 */
	static List<List<Fiber>> among(Collection<Fiber> from, int kind) {
		List<List<Fiber>> found = new ArrayList<>(0);
		Set<Fiber> seen = new HashSet<>();
		for (Fiber f : from) {
			Set<Fiber> met = new HashSet<>();
			List<Fiber> way = new ArrayList<>();
			Fiber x = f;
			while (x != null && !seen.contains(x) && met.add(x)) {
				way.add(x);
				x = waitsFor(x, kind);
			}
			int start = x == null ? -1 : way.indexOf(x);
			seen.addAll(way);
			if (start >= 0 && stands(way.subList(start, way.size()), kind))
				found.add(way.subList(start, way.size()));
		}
		return found;
	}

	private static boolean stands(List<Fiber> circle, int kind) {
		for (int k = 0; k < circle.size(); k++)
			if (waitsFor(circle.get(k), kind) != circle.get((k + 1) % circle.size()))
				return false;
		return true;
	}

	/**
	 * The fiber that must act before f can go on: the owner of what f waits for, or the thread
	 * that f joins. Null: none.
	 */
	private static Fiber waitsFor(Fiber f, int kind) {
		int s = f.state;
		if (s != Fiber.PARKED && s != Fiber.STOPPING)
			return null;
		Waiter w = f.waiter;
		/* A timeout ends the wait. */
		if (w instanceof Timers.Entry && ((Timers.Entry) w).pending())
			return null;
		Object on = Monitors.awaited(w);
		if (on != null)
			/* A fiber in wait() does not wait for the owner before it was notified. */
			return Monitors.isBlocked(f) ? Monitors.owner(on) : null;
		if (f.waitKind == Fiber.W_JOIN && kind == ANY) {
			PicoThread t = PicoThread.joined(w);
			return t != null ? t.fiber : null;
		}
		return f.waitKind == Fiber.W_PARK && kind != MONITORS ? Dump.owner(f.blocker) : null;
	}
}
