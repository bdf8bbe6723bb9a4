// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;

/*
 * synchronized, wait and notify for translated code: re-entrant, keyed by identity.
 *
 * A Monitor exists only while a fiber holds it or waits in it. The identity hash selects a
 * slot, which is
 *
 *   null  --enter: CAS-->  its Monitor  --exit: CAS-->  null        alone in it, uncontended
 *     |                         |
 *     +---- anything else ------+-->  its Stripe  -- the last one leaves -->  null
 *
 * Anything else (a second object or fiber, wait, notify, a query) happens under the stripe's
 * own (JVM) lock. It is held for a few instructions and never across a suspension. The first
 * such act makes the stripe the slot's value and takes in the Monitor that was there; the
 * Monitor's owner notices when its CAS fails. A monitor's `count` is written only by its owner
 * or, under the stripe, by the thread that hands the monitor over.
 *
 *   free --enter--> held by f, count n --exit, n == 0--> free           (entry dropped)
 *                        |    ^   ^
 *          contended     |    |   +-- handed to the head of `entry` on exit
 *          enter: queue  v    |
 *                     [entry queue] <-- notify, timeout, interrupt -- [wait set]
 *
 * Ownership is handed over and not raced for: the thread that wakes a waiter has already made
 * the waiter the owner. So a waiter has nothing to do after it wakes, and enter and wait can be
 * leaf primitives without a frame. An OS thread that blocks to enter (the fiber is pinned, or
 * foreign) is different: it takes long to wake, and all others that come meanwhile would wait.
 * It finds the monitor free, or tries again as the first in the queue. While a monitor is free
 * and its queue is not empty, such a thread is on its way. Model: tests/model/monitor.pml.
 *
 * Stack overflow: a thread ensures that there is enough stack before it takes the stripe, and
 * fails before it has changed anything. But exit() must not fail, because compiled code for
 * `synchronized` calls it again, for ever. So an exit without stack is owed (Context.owed);
 * enter() has ensured that exit() gets as far as that. It is made at the fiber's next
 * suspension or end, or by its next call here that has more stack. Until then there is one hold
 * too many.
 *
 * Rejected: a field in every class (JDK objects have none), barging of fibers (needs a retry
 * loop, that is, a frame), a weak map (an idle object must cost nothing).
 */
@Internal
public final class Monitors {
	private static final int STRIPES = 512;
	private static final Stripe[] TABLE = new Stripe[STRIPES];
	/** Null, a Monitor, or the stripe of that index in TABLE. */
	private static final AtomicReferenceArray<Object> SLOTS =
		new AtomicReferenceArray<>(STRIPES);

	private static final MethodRef ENTER =
		MethodRef.primitive(Monitors.class, "enter", "(Ljava/lang/Object;)V");
	static final MethodRef ENTER_BOTH =
		MethodRef.primitive(Monitors.class, "enterBoth", "(Ljava/lang/Object;)V");
	private static final MethodRef AWAIT =
		MethodRef.primitive(Monitors.class, "await", "(Ljava/lang/Object;)V");
	private static final MethodRef AWAIT_MILLIS =
		MethodRef.primitive(Monitors.class, "await", "(Ljava/lang/Object;J)V");
	private static final MethodRef AWAIT_NANOS =
		MethodRef.primitive(Monitors.class, "await", "(Ljava/lang/Object;JI)V");

	private static final MethodRef TIMED_WAIT = MethodRef.primitive(Monitors.class,
		"timedWait", "(Ljava/util/concurrent/TimeUnit;Ljava/lang/Object;J)V");

	static {
		for (int k = 0; k < STRIPES; k++)
			TABLE[k] = new Stripe(k);
	}

	private Monitors() {}

	/** The monitors of one part of the hash space. Its own lock guards all its fields. */
	private static final class Stripe {
		final int slot;
		Monitor[] buckets = new Monitor[4];
		int size;
		/** A free monitor, kept so that an uncontended enter and exit allocate nothing. */
		private Monitor spare;

		Stripe(int slot) {
			this.slot = slot;
		}

		/**
		 * Makes the stripe the slot's value: from here to the last drop() no thread takes the
		 * CAS path. (A query alone may leave it open.)
		 */
		void open() {
			for (;;) {
				Object s = SLOTS.get(slot);
				if (s == this)
					return;
				if (SLOTS.compareAndSet(slot, s, this)) {
					if (s != null)
						put((Monitor) s);
					return;
				}
			}
		}

		Monitor find(Object o, int h) {
			open();
			for (Monitor m = buckets[h & buckets.length - 1]; m != null; m = m.next)
				if (m.key == o)
					return m;
			return null;
		}

		Monitor make(Object o, int h) {
			Monitor m = spare;
			if (m != null)
				spare = null;
			else
				m = new Monitor();
			m.key = o;
			m.hash = h;
			put(m);
			return m;
		}

		private void put(Monitor m) {
			if (size > buckets.length)
				grow();
			int b = m.hash & buckets.length - 1;
			m.next = buckets[b];
			buckets[b] = m;
			size++;
		}

		private void grow() {
			Monitor[] old = buckets;
			buckets = new Monitor[old.length * 2];
			for (Monitor m : old)
				while (m != null) {
					Monitor n = m.next;
					int b = m.hash & buckets.length - 1;
					m.next = buckets[b];
					buckets[b] = m;
					m = n;
				}
		}

		void drop(Monitor m) {
			int b = m.hash & buckets.length - 1;
			Monitor p = buckets[b];
			if (p == m) {
				buckets[b] = m.next;
			} else {
				while (p.next != m)
					p = p.next;
				p.next = m.next;
			}
			if (--size == 0)
				SLOTS.set(slot, null);
			m.next = null;
			m.clear();
			spare = m;
		}
	}

	static final class Monitor {
		Object key;
		int hash;
		Monitor next;
		Fiber owner;
		int count;
		Node entryHead;
		Node entryTail;
		Node waitHead;
		Node waitTail;

		void clear() {
			key = null;
			owner = null;
			count = 0;
		}

		void queue(Node n, boolean first) {
			n.next = first ? entryHead : null;
			if (entryTail == null || first)
				entryHead = n;
			else
				entryTail.next = n;
			if (n.next == null)
				entryTail = n;
		}
	}

	/** A fiber in an entry queue or a wait set; also the timer of a timed wait. */
	private static final class Node extends Timers.Entry {
		final Object key;
		/** Number of holds to restore. */
		final int count;
		/**
		 * Its wait() is over, but it does not have the monitor yet. Written under the stripe,
		 * read without.
		 */
		volatile boolean wants;
		/** It was woken to try again, and not given the monitor. Written by the waker. */
		boolean again;
		Node next;

		Node(Fiber f, Object key, int count) {
			super(f.rt.timers, f, f.nextTicket());
			this.key = key;
			this.count = count;
		}

		/* A timeout or (aborted(), claimed already) an interrupt: back to the entry queue. */
		@Override
		void expired() {
			if (fiber.claim(ticket))
				back(this);
		}

		@Override
		void aborted() {
			super.cancel();
			back(this);
		}

		/* A wait() has given up the monitor and does not end without it. */
		@Override
		boolean abandon() {
			super.cancel();
			if (fiber.waitKind == Fiber.W_MONITOR) {
				back(this);
				return true;
			}
			forget(this);
			return false;
		}
	}

	private static int hash(Object o) {
		int h = System.identityHashCode(o);
		return h ^ h >>> 15;
	}

	private static int slot(int h) {
		return h >>> 8 & STRIPES - 1;
	}

	private static Stripe stripe(int h) {
		return TABLE[slot(h)];
	}

	/** Replaces monitorenter. */
	@Leaf
	public static void enter(Object o) {
		enter(o, ENTER);
	}

	/** Replaces monitorenter where the object may lock itself: see JvmLock. */
	@Leaf
	public static void enterBoth(Object o) {
		if (o != null && SelfLocked.is(o)) {
			Context x = Context.get();
			JvmLock.enter(o, x, Fiber.of(x));
		} else {
			enter(o, ENTER_BOTH);
		}
	}

	/** Replaces the monitorexit that belongs to it. */
	@Leaf
	public static void exitBoth(Object o) {
		Context x = Context.get();
		if (x.locks != null)
			JvmLock.exit(o, x, x.fiber);
		exit(o);
	}

	/** as: the primitive that the program has called. */
	static void enter(Object o, MethodRef as) {
		Fiber.step();
		if (o == null)
			throw new NullPointerException("Cannot enter synchronized block: the object is null");
		if (!SelfLocked.on)
			SelfLocked.look(o);
		Context x = Context.get();
		Fiber f = Fiber.of(x);
		int h = hash(o);
		int k = slot(h);
		Object there = SLOTS.get(k);
		if (there == null) {
			Monitor m = x.monitor;
			if (m == null)
				m = new Monitor();
			else
				x.monitor = null;
			m.key = o;
			m.hash = h;
			m.owner = f;
			m.count = 1;
			if (SLOTS.compareAndSet(k, null, m))
				return;
			m.clear();
			x.monitor = m;
		} else if (isHeld(there, o, f)) {
			((Monitor) there).count++;
			return;
		}
		enter(o, h, x, f, as);
	}

	/**
	 * True: `there` is o's monitor, alone in its slot, and f owns it. No other thread can make
	 * this true.
	 */
	private static boolean isHeld(Object there, Object o, Fiber f) {
		return there instanceof Monitor && ((Monitor) there).owner == f
			&& ((Monitor) there).key == o;
	}

	private static void enter(Object o, int h, Context x, Fiber f, MethodRef as) {
		ready(x, f);
		Stripe s = stripe(h);
		Node n = null;
		do {
			synchronized (s) {
				Monitor m = s.find(o, h);
				if (m == null)
					m = s.make(o, h);
				if (m.owner == null) {
					m.owner = f;
					m.count = 1;
					return;
				}
				if (m.owner == f) {
					m.count++;
					return;
				}
				/* No memory is needed to try again: others may wait for this thread. */
				boolean again = n != null;
				if (again)
					n.ticket = f.nextTicket();
				else
					n = new Node(f, o, 1);
				f.begin(Fiber.W_ENTER, n);
				m.queue(n, again);
			}
			f.stop(as);
			f.takeV();
		} while (n.again);
	}

	/** Replaces monitorexit. */
	public static void exit(Object o) {
		Context x = Context.get();
		Fiber f = Fiber.of(x);
		try {
			int h = hash(o);
			if (!leaveAlone(o, h, x, f)) {
				ready(x, f);
				leave(o, h, f);
			}
		} catch (StackOverflowError e) {
			x.owed = new Object[] {o, x.owed};
		}
	}

	/**
	 * Exits a monitor that is alone in its slot. False: it is not alone, and nothing has
	 * changed.
	 */
	private static boolean leaveAlone(Object o, int h, Context x, Fiber f) {
		int k = slot(h);
		Object there = SLOTS.get(k);
		if (!isHeld(there, o, f))
			return false;
		Monitor m = (Monitor) there;
		if (m.count > 1) {
			m.count--;
			return true;
		}
		if (!SLOTS.compareAndSet(k, m, null))
			return false;
		/* The same as clear(), for whose call there might be no stack. */
		m.key = null;
		m.owner = null;
		m.count = 0;
		x.monitor = m;
		return true;
	}

	private static void leave(Object o, int h, Fiber f) {
		Stripe s = stripe(h);
		Fiber w = null;
		synchronized (s) {
			Monitor m = isForeign(s, o, h, f) ? null : owned(s, o, h, f);
			if (m != null && --m.count == 0)
				w = release(s, m);
		}
		if (w != null)
			w.wake();
	}

	/**
	 * Called before the stripe is taken: ensures enough stack for all that follows, ends a wait
	 * that an error left open, and makes owed exits.
	 */
	private static void ready(Context x, Fiber f) {
		Fiber.room();
		f.settle();
		pay(x, f);
	}

	/** Makes the exits for which f, which runs or ran on this thread, had no stack. */
	static void pay(Context x, Fiber f) {
		if (x.owed == null)
			return;
		Fiber.room();
		while (x.owed != null) {
			Object o = x.owed[0];
			x.owed = (Object[]) x.owed[1];
			leave(o, hash(o), f);
		}
	}

	/** True: f has the JVM's lock of o and not ours, because untranslated code has entered it. */
	private static boolean isForeign(Stripe s, Object o, int h, Fiber f) {
		Monitor m = s.find(o, h);
		return (m == null || m.owner != f) && o != null && Thread.holdsLock(o);
	}

	private static Monitor owned(Stripe s, Object o, int h, Fiber f) {
		Monitor m = s.find(o, h);
		if (m == null || m.owner != f)
			throw o == null ? new NullPointerException("the object of the monitor is null")
				: new IllegalMonitorStateException("current thread is not owner");
		return m;
	}

	/**
	 * Under the stripe. Frees the monitor or hands it over to the first in the entry queue.
	 * Returns the first, which the caller must wake; null: none.
	 */
	private static Fiber release(Stripe s, Monitor m) {
		Node n = m.entryHead;
		if (n != null) {
			m.entryHead = n.next;
			if (m.entryHead == null)
				m.entryTail = null;
			n.next = null;
			n.fiber.claim(n.ticket);
			n.again = n.fiber.waitKind == Fiber.W_ENTER && n.fiber.blocked != null;
		}
		if (n != null && !n.again) {
			m.owner = n.fiber;
			m.count = n.count;
			return n.fiber;
		}
		m.owner = null;
		m.count = 0;
		if (m.entryHead == null && m.waitHead == null)
			s.drop(m);
		return n == null ? null : n.fiber;
	}

	/** Replaces Object.wait(millis); 0: no timeout. */
	@Leaf
	public static void await(Object o, long millis) throws InterruptedException {
		await(o, millis, AWAIT_MILLIS, null);
	}

	public static void await(Object o, long millis, Capture c) throws InterruptedException {
		await(o, millis, AWAIT_MILLIS, c);
	}

	/** Replaces TimeUnit.timedWait. */
	@Leaf
	public static void timedWait(TimeUnit u, Object o, long time)
			throws InterruptedException {
		if (time > 0)
			await(o, Math.max(1, u.toMillis(time)), TIMED_WAIT, null);
	}

	private static void await(Object o, long millis, MethodRef as, Capture c)
			throws InterruptedException {
		if (millis < 0)
			throw new IllegalArgumentException("timeout value is negative");
		Context x = Context.get();
		Fiber f = Fiber.of(x);
		ready(x, f);
		if (o != null && SelfLocked.is(o) && JvmLock.isForeign(o, f)) {
			o.wait(millis);
			return;
		}
		int h = hash(o);
		Stripe s = stripe(h);
		Fiber w;
		Node n;
		synchronized (s) {
			Monitor m = owned(s, o, h, f);
			f.throwIfInterrupted();
			n = new Node(f, o, m.count);
			int t = f.begin(Fiber.W_MONITOR, n, millis > 0);
			if (m.waitTail == null)
				m.waitHead = n;
			else
				m.waitTail.next = n;
			m.waitTail = n;
			if (f.isInterrupted() && f.claim(t)) {
				/* The interrupt came between the check and begin(): undo the wait. */
				unlink(m, n);
				f.testInterrupted();
				f.waiter = null;
				f.state = Fiber.RUNNING;
				throw new InterruptedException();
			}
			w = release(s, m);
		}
		if (w != null)
			w.wake();
		if (millis > 0)
			f.expireIn(n, millis > Long.MAX_VALUE / 1_000_000 ? Long.MAX_VALUE / 2
				: millis * 1_000_000);
		if (x.locks != null && JvmLock.canLeave(o, x)) {
			f.wants = o;
			x.unwind(f, as, c);
		} else if (!f.stop(as, c)) {
			f.takeV();
		}
	}

	/** Replaces Object.wait(). */
	@Leaf
	public static void await(Object o) throws InterruptedException {
		await(o, 0, AWAIT, null);
	}

	public static void await(Object o, Capture c) throws InterruptedException {
		await(o, 0, AWAIT, c);
	}

	/** Replaces Object.wait(millis, nanos). */
	@Leaf
	public static void await(Object o, long millis, int nanos) throws InterruptedException {
		if (nanos < 0 || nanos > 999_999)
			throw new IllegalArgumentException("nanosecond timeout value out of range");
		await(o, nanos > 0 && millis < Long.MAX_VALUE ? millis + 1 : millis, AWAIT_NANOS,
			null);
	}

	public static void signal(Object o) {
		signal(o, false);
	}

	public static void signalAll(Object o) {
		signal(o, true);
	}

	private static void signal(Object o, boolean all) {
		Context x = Context.get();
		Fiber f = Fiber.of(x);
		ready(x, f);
		int h = hash(o);
		Stripe s = stripe(h);
		boolean any = false;
		boolean jvms;
		Fiber w = null;
		synchronized (s) {
			jvms = isForeign(s, o, h, f) || x.locks != null && JvmLock.has(o, x);
			Monitor m = jvms ? s.find(o, h) : owned(s, o, h, f);
			while (m != null && m.waitHead != null && (all || !any))
				any |= toEntry(m);
			if (any && m.owner == null)
				w = release(s, m);
		}
		if (w != null)
			w.wake();
		if (jvms && all)
			o.notifyAll();
		else if (jvms && !any)
			o.notify();
	}

	/**
	 * Moves the head of the wait set to the entry queue; false: a timeout or an interrupt has
	 * claimed it.
	 */
	private static boolean toEntry(Monitor m) {
		Node n = m.waitHead;
		m.waitHead = n.next;
		if (m.waitHead == null)
			m.waitTail = null;
		n.next = null;
		if (!n.fiber.claim(n.ticket))
			return false;
		n.cancel();
		n.wants = true;
		m.queue(n, false);
		return true;
	}

	/**
	 * Gives the monitor back to a claimed waiter that was not notified, or queues it for entry.
	 */
	private static void back(Node n) {
		int h = hash(n.key);
		Stripe s = stripe(h);
		Fiber w = null;
		synchronized (s) {
			Monitor m = s.find(n.key, h);
			if (m != null)
				unlink(m, n);
			if (m == null)
				m = s.make(n.key, h);
			if (m.owner == null) {
				m.owner = n.fiber;
				m.count = n.count;
				w = n.fiber;
			} else {
				n.wants = true;
				m.queue(n, false);
			}
		}
		if (w != null)
			w.wake();
	}

	private static void unlink(Monitor m, Node n) {
		Node p = null;
		for (Node x = m.waitHead; x != null; p = x, x = x.next) {
			if (x != n)
				continue;
			if (p == null)
				m.waitHead = n.next;
			else
				p.next = n.next;
			if (m.waitTail == n)
				m.waitTail = p;
			n.next = null;
			return;
		}
	}

	/** Removes n from the entry queue. */
	private static void forget(Node n) {
		int h = hash(n.key);
		Stripe s = stripe(h);
		synchronized (s) {
			Monitor m = s.find(n.key, h);
			if (m == null)
				return;
			Node p = null;
			for (Node x = m.entryHead; x != null; p = x, x = x.next) {
				if (x != n)
					continue;
				if (p == null)
					m.entryHead = n.next;
				else
					p.next = n.next;
				if (m.entryTail == n)
					m.entryTail = p;
				break;
			}
			if (m.owner == null && m.entryHead == null && m.waitHead == null)
				s.drop(m);
		}
	}

	/** True: the caller holds o's monitor, ours or the JVM's. */
	public static boolean holds(Object o) {
		Context x = Context.get();
		Fiber f = Fiber.of(x);
		ready(x, f);
		int h = hash(o);
		Object there = SLOTS.get(slot(h));
		if (isHeld(there, o, f))
			return true;
		if (there != null) {
			Stripe s = stripe(h);
			synchronized (s) {
				Monitor m = s.find(o, h);
				if (m != null && m.owner == f)
					return true;
			}
		}
		return Thread.holdsLock(o);
	}

	/** The object whose monitor a wait is for, or null. */
	static Object awaited(Waiter w) {
		return w instanceof Node ? ((Node) w).key : null;
	}

	/**
	 * True: f waits to get a monitor, for the first time or again after wait(), and not for a
	 * notify.
	 */
	static boolean isBlocked(Fiber f) {
		Waiter w = f.waiter;
		return w instanceof Node && (f.waitKind == Fiber.W_ENTER || ((Node) w).wants);
	}

	static int count(Waiter w) {
		return w instanceof Node ? ((Node) w).count : 0;
	}

	/**
	 * Puts f, which was loaded, into wait() on o again, or lets it enter. The caller then calls
	 * unwound().
	 */
	static void adoptWait(Fiber f, int kind, Object o, int count, long nanos) {
		int h = hash(o);
		Stripe s = stripe(h);
		Node n = new Node(f, o, count);
		boolean mine = false;
		synchronized (s) {
			Monitor m = s.find(o, h);
			if (m == null)
				m = s.make(o, h);
			int t = f.begin(kind, n, nanos != Long.MAX_VALUE);
			if (SelfLocked.is(o))
				f.wants = o;
			if (kind == Fiber.W_MONITOR) {
				if (m.waitTail == null)
					m.waitHead = n;
				else
					m.waitTail.next = n;
				m.waitTail = n;
			} else if (m.owner != null) {
				m.queue(n, false);
			} else {
				m.owner = f;
				m.count = count;
				mine = f.claim(t);
			}
		}
		if (mine)
			f.wake();
		else if (nanos != Long.MAX_VALUE)
			f.rt.timers.add(n, Math.max(1, nanos));
	}

	/** True: f holds o's monitor, and its next exit frees it. */
	static boolean isLast(Object o, Fiber f) {
		int h = hash(o);
		Object there = SLOTS.get(slot(h));
		if (isHeld(there, o, f))
			return ((Monitor) there).count == 1;
		Stripe s = stripe(h);
		synchronized (s) {
			Monitor m = s.find(o, h);
			return m != null && m.owner == f && m.count == 1;
		}
	}

	/** The fiber that holds o's monitor, or null. */
	static Fiber owner(Object o) {
		int h = hash(o);
		if (SLOTS.get(slot(h)) == null)
			return null;
		Stripe s = stripe(h);
		synchronized (s) {
			Monitor m = s.find(o, h);
			return m == null ? null : m.owner;
		}
	}

	/**
	 * Called when a thread has ended: notifies the waiters on the Thread object, as the JVM
	 * does.
	 */
	static void ended(Object thread) {
		int h = hash(thread);
		if (SLOTS.get(slot(h)) == null)
			return;
		Stripe s = stripe(h);
		synchronized (s) {
			if (s.find(thread, h) == null)
				return;
		}
		enter(thread);
		try {
			signalAll(thread);
		} finally {
			exit(thread);
		}
	}

	/** The monitors that f holds: object and count in turn. */
	static List<Object> heldBy(Fiber f) {
		return held(f).getOrDefault(f, new ArrayList<>(0));
	}

	/** The monitors that each fiber holds, as heldBy() returns them. by: only its; null: all. */
	static Map<Fiber, List<Object>> held(Fiber by) {
		Map<Fiber, List<Object>> all = new HashMap<>();
		for (Stripe s : TABLE)
			if (SLOTS.get(s.slot) != null)
				synchronized (s) {
					s.open();
					for (Monitor b : s.buckets)
						for (Monitor m = b; m != null; m = m.next)
							if (m.owner != null && (by == null || m.owner == by)) {
								List<Object> l = all.computeIfAbsent(m.owner,
									k -> new ArrayList<>(2));
								l.add(m.key);
								l.add(m.count);
							}
				}
		return all;
	}

	/** Makes f, which does not run yet, the owner of o's monitor, which must be free. */
	static void adopt(Fiber f, Object o, int count) {
		int h = hash(o);
		Stripe s = stripe(h);
		synchronized (s) {
			if (s.find(o, h) != null)
				throw new IllegalStateException("the monitor is held: " + o.getClass().getName());
			Monitor m = s.make(o, h);
			m.owner = f;
			m.count = count;
		}
	}

	/** Frees all monitors of f, which was to run and never will. */
	static void disown(Fiber f) {
		List<Fiber> next = new ArrayList<>(0);
		List<Object> held = heldBy(f);
		for (int i = 0; i < held.size(); i += 2) {
			Object o = held.get(i);
			int h = hash(o);
			Stripe s = stripe(h);
			synchronized (s) {
				Fiber w = release(s, owned(s, o, h, f));
				if (w != null)
					next.add(w);
			}
		}
		next.forEach(Fiber::wake);
	}
}
