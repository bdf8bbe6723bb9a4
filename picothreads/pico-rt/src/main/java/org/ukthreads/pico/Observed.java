// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * What a pico thread does at one moment, under the names that the JVM would show. The thread
 * runs on meanwhile, so its stack may be that of a later moment.
 */
final class Observed {
	private final PicoThread thread;
	Thread.State state;
	/** The object for which it waits; null: none. */
	Object on;
	/** The fiber that holds it; null: none. */
	Fiber owner;
	/** `on` is a blocker of LockSupport, and not an object whose monitor it waits for. */
	boolean parked;
	boolean asleep;
	boolean atDevice;

	/** All fields but the stack are of one wait, which does not change before its ticket. */
	static Observed of(PicoThread t) {
		for (int tries = 0;; tries++) {
			int ticket = t.fiber.wait;
			Observed o = new Observed(t, ticket);
			if (t.fiber.wait == ticket || tries == 100)
				return o;
		}
	}

	private Observed(PicoThread t, int ticket) {
		thread = t;
		state = t.seenState();
		if ((ticket & 1) != 0 && t.fiber.state != Fiber.STOPPING)
			waits(t.fiber);
		else if (state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING)
			/* It was woken, or still unwinds its stack. */
			state = Thread.State.RUNNABLE;
	}

	private void waits(Fiber f) {
		Waiter w = f.waiter;
		on = Monitors.awaited(w);
		if (on != null) {
			owner = Monitors.owner(on);
			return;
		}
		atDevice = f.isAtDevice();
		asleep = f.waitKind == Fiber.W_SLEEP;
		if (f.waitKind == Fiber.W_JOIN)
			on = PicoThread.joined(w);
		if (f.waitKind != Fiber.W_PARK || atDevice)
			return;
		parked = true;
		Object by = f.blocker;
		if (by != null) {
			on = Dump.of(by);
			owner = Dump.owner(by);
		}
	}

	/** Empty if the thread has ended. */
	StackTraceElement[] stack() {
		if (Context.get().fiber != thread.fiber)
			return thread.alive() ? Dump.trace(thread.fiber) : new StackTraceElement[0];
		StackTraceElement[] st = Traces.here();
		int from = 0;
		while (from < st.length && isOurs(st[from].getClassName()))
			from++;
		return Arrays.copyOfRange(st, from, st.length);
	}

	/** True for what lies between ThreadBean and the program's call of it. */
	private static boolean isOurs(String type) {
		return type.startsWith(Instead.PICO) || Walk.isReflection(type)
			|| type.contains("$Proxy") || type.startsWith("javax.management.")
			|| type.startsWith("com.sun.jmx.");
	}

	/** The name of o's class, as the JVM would name what a thread waits for. */
	static String type(Object o) {
		String locks = "java.util.concurrent.locks.";
		if (o instanceof ReentrantLock)
			return locks + "ReentrantLock$" + sync(((ReentrantLock) o).isFair());
		if (o instanceof ReentrantReadWriteLock)
			return locks + "ReentrantReadWriteLock$"
				+ sync(((ReentrantReadWriteLock) o).isFair());
		if (o instanceof Semaphore)
			return "java.util.concurrent.Semaphore$" + sync(((Semaphore) o).isFair());
		if (o instanceof CountDownLatch)
			return "java.util.concurrent.CountDownLatch$Sync";
		if (o instanceof Condition || o instanceof BlockingQueue)
			return locks + "AbstractQueuedSynchronizer$ConditionObject";
		return Instead.seen(o.getClass()).getName();
	}

	private static String sync(boolean fair) {
		return fair ? "FairSync" : "NonfairSync";
	}

	/** The name of on's class; null: it waits for no object. */
	String type() {
		return on == null ? null : parked ? type(on) : Instead.seen(on.getClass()).getName();
	}

	/* --- what threads hold --- */

	/**
	 * The locks of java.util.concurrent that each fiber holds, if others wait for them. The
	 * locks that nobody waits for are not known: a lock knows its owner, but no list of locks
	 * exists.
	 */
	static Map<Fiber, List<Object>> locks(Collection<PicoThread> waiters) {
		Map<Fiber, List<Object>> all = new HashMap<>();
		for (PicoThread t : waiters) {
			Object by = t.fiber.blocker;
			Fiber owner = by == null ? null : Dump.owner(by);
			if (owner == null)
				continue;
			List<Object> l = all.computeIfAbsent(owner, k -> new ArrayList<>(1));
			Object o = Dump.of(by);
			if (l.stream().noneMatch(x -> x == o))
				l.add(o);
		}
		return all;
	}

	/** The monitors in one list of Monitors.held(). */
	static List<Object> monitors(List<Object> held) {
		if (held == null)
			return Collections.emptyList();
		List<Object> l = new ArrayList<>(held.size() / 2);
		for (int k = 0; k < held.size(); k += 2)
			l.add(held.get(k));
		return l;
	}
}
