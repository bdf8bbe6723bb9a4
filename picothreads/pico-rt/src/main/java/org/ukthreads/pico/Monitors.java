// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;

/*
 * synchronized, wait and notify for translated code: re-entrant, keyed by identity.
 *
 * A Monitor exists only while somebody holds it or waits in it. Where it is found follows
 * from the identity hash: a slot, which is
 *
 *   null  --enter: CAS-->  its Monitor  --exit: CAS-->  null        alone in it, uncontended
 *     |                         |
 *     +---- anything else ------+-->  its Stripe  -- the last one leaves -->  null
 *
 * Anything else (a second object or fiber, wait, notify, a question) happens under the
 * stripe's own (JVM) lock, held for a few instructions, never across a suspension; it makes
 * the slot the stripe's first, and takes in the Monitor that was there. Its owner finds out
 * when its CAS fails. `count` of a monitor is written by its owner alone, or by who hands it
 * on, under the stripe.
 *
 *   free --enter--> held by f, count n --exit, n == 0--> free           (entry dropped)
 *                        |    ^   ^
 *          contended     |    |   +-- handed to the head of `entry` on exit
 *          enter: queue  v    |
 *                     [entry queue] <-- notify, time-out, interrupt -- [wait set]
 *
 * Ownership is handed over, not raced for: what wakes a waiter has already made it the
 * owner, so a waiter has nothing to do after it wakes, which is what lets enter and wait
 * be leaf primitives without a frame. Model: tests/model/monitor.pml.
 *
 * At the end of the stack: who takes the stripe has asked for room first, and fails before it has
 * changed anything. But exit() may not fail: a compiler's code for `synchronized` calls it again,
 * there, for ever. So it is owed (Context.owed; enter() has seen to it that exit() comes so far),
 * and paid with the fiber's next suspension or end, or by the next of its calls that comes here
 * with more stack; until then it is one hold too many.
 * Rejected: a field in every class (JDK objects have none), barging (needs a retry loop,
 * that is, a frame), a weak map (an idle object must cost nothing).
 */
@Internal
public final class Monitors {
	private static final int STRIPES = 512;
	private static final Stripe[] TABLE = new Stripe[STRIPES];
	/** Null, a Monitor, or TABLE's stripe of that index. */
	private static final AtomicReferenceArray<Object> SLOTS =
		new AtomicReferenceArray<>(STRIPES);

	private static final MethodRef ENTER =
		MethodRef.primitive(Monitors.class, "enter", "(Ljava/lang/Object;)V");
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

	/** The monitors of one slice of the hash space; all its fields under itself. */
	private static final class Stripe {
		final int slot;
		Monitor[] buckets = new Monitor[4];
		int size;
		/** One free monitor kept, so that an uncontended pair allocates nothing. */
		private Monitor spare;

		Stripe(int slot) {
			this.slot = slot;
		}

		/** From here to the last drop() nobody passes by (a mere question may leave it open). */
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

		void queue(Node n) {
			n.next = null;
			if (entryTail == null)
				entryHead = n;
			else
				entryTail.next = n;
			entryTail = n;
		}
	}

	/** A fiber in an entry queue or a wait set; the timer of a timed wait as well. */
	private static final class Node extends Timers.Entry {
		final Object key;
		/** Holds to restore. */
		final int count;
		/** In wait() no more, but without the monitor; under the stripe, read without. */
		volatile boolean wants;
		Node next;

		Node(Fiber f, Object key, int count) {
			super(f.rt.timers, f, f.nextTicket());
			this.key = key;
			this.count = count;
		}

		/* Time-out, or interrupt (claimed already): back to the entry queue. */
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

		/* A wait has given the monitor up, and does not end without it. */
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

	/** monitorenter. */
	@Leaf
	public static void enter(Object o) {
		Fiber.step();
		if (o == null)
			throw new NullPointerException("Cannot enter synchronized block: it is on null");
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
		enter(o, h, x, f);
	}

	/** Is that o's monitor, alone in its slot, and f's? Nobody else makes it so. */
	private static boolean isHeld(Object there, Object o, Fiber f) {
		return there instanceof Monitor && ((Monitor) there).owner == f
			&& ((Monitor) there).key == o;
	}

	private static void enter(Object o, int h, Context x, Fiber f) {
		ready(x, f);
		Stripe s = stripe(h);
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
			Node n = new Node(f, o, 1);
			f.begin(Fiber.W_ENTER, n);
			m.queue(n);
		}
		f.stop(ENTER);
		f.takeV();
	}

	/** monitorexit. */
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

	/** False: nothing has changed, for it is not alone in its slot. */
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
		/* As clear(), which might find no stack. */
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
			Monitor m = owned(s, o, h, f);
			if (--m.count == 0)
				w = release(s, m);
		}
		if (w != null)
			w.wake();
	}

	/** Before the stripe is taken: there is stack for all that follows, and nothing is open. */
	private static void ready(Context x, Fiber f) {
		Fiber.room();
		f.settle();
		pay(x, f);
	}

	/** The exits for which f, which ran or runs there, had no stack. */
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

	private static Monitor owned(Stripe s, Object o, int h, Fiber f) {
		Monitor m = s.find(o, h);
		if (m == null || m.owner != f)
			throw o == null ? new NullPointerException("the monitor of null")
				: new IllegalMonitorStateException("current thread is not owner");
		return m;
	}

	/** Under the stripe. Hands the monitor on; who got it must be woken. */
	private static Fiber release(Stripe s, Monitor m) {
		Node n = m.entryHead;
		if (n != null) {
			m.entryHead = n.next;
			if (m.entryHead == null)
				m.entryTail = null;
			n.next = null;
			m.owner = n.fiber;
			m.count = n.count;
			n.fiber.claim(n.ticket);
			return n.fiber;
		}
		m.owner = null;
		m.count = 0;
		if (m.waitHead == null)
			s.drop(m);
		return null;
	}

	/** Object.wait(millis); 0: for ever. */
	@Leaf
	public static void await(Object o, long millis) throws InterruptedException {
		await(o, millis, AWAIT_MILLIS, null);
	}

	public static void await(Object o, long millis, Capture c) throws InterruptedException {
		await(o, millis, AWAIT_MILLIS, c);
	}

	/** TimeUnit.timedWait. */
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
				/* Between the test and begin(): leave by the same way as later ones. */
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
		if (!f.stop(as, c))
			f.takeV();
	}

	/** Object.wait(). */
	@Leaf
	public static void await(Object o) throws InterruptedException {
		await(o, 0, AWAIT, null);
	}

	public static void await(Object o, Capture c) throws InterruptedException {
		await(o, 0, AWAIT, c);
	}

	/** Object.wait(millis, nanos). */
	@Leaf
	public static void await(Object o, long millis, int nanos) throws InterruptedException {
		if (nanos < 0 || nanos > 999_999)
			throw new IllegalArgumentException("nanosecond timeout value out of range");
		await(o, nanos > 0 && millis < Long.MAX_VALUE ? millis + 1 : millis, AWAIT_NANOS,
			null);
	}

	public static void signal(Object o) {
		Context x = Context.get();
		Fiber f = Fiber.of(x);
		ready(x, f);
		int h = hash(o);
		Stripe s = stripe(h);
		synchronized (s) {
			Monitor m = owned(s, o, h, f);
			while (m.waitHead != null)
				if (toEntry(m))
					return;
		}
	}

	public static void signalAll(Object o) {
		Context x = Context.get();
		Fiber f = Fiber.of(x);
		ready(x, f);
		int h = hash(o);
		Stripe s = stripe(h);
		synchronized (s) {
			Monitor m = owned(s, o, h, f);
			while (m.waitHead != null)
				toEntry(m);
		}
	}

	/** Wait set's head to the entry queue; false: a time-out or an interrupt has it. */
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
		m.queue(n);
		return true;
	}

	/** A claimed waiter that was not notified wants its monitor back. */
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
				m.queue(n);
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

	/** Out of the entry queue. */
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

	/** Thread.holdsLock: either kind of lock. */
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

	/** Does f wait to have a monitor, for the first time or again? Then not for a notify. */
	static boolean isBlocked(Fiber f) {
		Waiter w = f.waiter;
		return w instanceof Node && (f.waitKind == Fiber.W_ENTER || ((Node) w).wants);
	}

	static int count(Waiter w) {
		return w instanceof Node ? ((Node) w).count : 0;
	}

	/** f, loaded, is again in wait() for o, or wants to enter; then unwound(). */
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
			if (kind == Fiber.W_MONITOR) {
				if (m.waitTail == null)
					m.waitHead = n;
				else
					m.waitTail.next = n;
				m.waitTail = n;
			} else if (m.owner != null) {
				m.queue(n);
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

	/** Who holds it, or null. */
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

	/** A thread has ended: whoever waits on the Thread object, as the JVM does it. */
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

	/** Object and count, in turn, of what f holds. */
	static java.util.List<Object> heldBy(Fiber f) {
		java.util.List<Object> l = new java.util.ArrayList<>(0);
		for (Stripe s : TABLE)
			if (SLOTS.get(s.slot) != null)
				synchronized (s) {
					s.open();
					for (Monitor b : s.buckets)
						for (Monitor m = b; m != null; m = m.next)
							if (m.owner == f) {
								l.add(m.key);
								l.add(m.count);
							}
				}
		return l;
	}

	/** f, which does not run yet, holds o: free until now. */
	static void adopt(Fiber f, Object o, int count) {
		int h = hash(o);
		Stripe s = stripe(h);
		synchronized (s) {
			if (s.find(o, h) != null)
				throw new IllegalStateException("held: " + o.getClass().getName());
			Monitor m = s.make(o, h);
			m.owner = f;
			m.count = count;
		}
	}

	/** f, which was to run and never will, holds nothing. */
	static void disown(Fiber f) {
		java.util.List<Fiber> next = new java.util.ArrayList<>(0);
		java.util.List<Object> held = heldBy(f);
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
