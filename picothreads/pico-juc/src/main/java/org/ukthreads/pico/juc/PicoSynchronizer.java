package org.ukthreads.pico.juc;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import org.ukthreads.pico.Fiber;

/*
 * AbstractQueuedSynchronizer for the synchronizers that programs write (Scala's Await is
 * one). The state stays the JDK's; the methods that wait are final there, so calls of them
 * become the static ones here. Who waits is in a queue and tries for itself, in its own
 * thread, when it is the first; a release wakes the first.
 *
 * Conditions are the JDK's, and block the OS thread.
 */
public abstract class PicoSynchronizer extends AbstractQueuedSynchronizer {
	private static final long serialVersionUID = 1L;
	/** Guarded by itself, which nobody holds across a suspension. */
	private final transient Waiters waiters = new Waiters();

	private static final class Waiters {
		private final ArrayDeque<Node> queue = new ArrayDeque<>();
		private boolean contended;

		synchronized void add(Node n) {
			queue.add(n);
			contended = true;
		}

		synchronized boolean isFirst(Node n) {
			return queue.peek() == n;
		}

		/** Wakes who is first afterwards. */
		synchronized void remove(Node n, boolean wake) {
			queue.remove(n);
			if (wake)
				wake();
		}

		synchronized void wake() {
			Node n = queue.peek();
			if (n != null)
				n.fiber.unpark();
		}

		synchronized Node[] all() {
			return queue.toArray(new Node[0]);
		}
	}

	private static final class Node {
		final Fiber fiber = Fiber.current();
		final Thread thread = Thread.currentThread();
		final boolean shared;

		Node(boolean shared) {
			this.shared = shared;
		}
	}

	protected PicoSynchronizer() {}

	/* Ours to call, the program's to write. */

	@Override
	protected boolean tryAcquire(int arg) {
		return super.tryAcquire(arg);
	}

	@Override
	protected boolean tryRelease(int arg) {
		return super.tryRelease(arg);
	}

	@Override
	protected int tryAcquireShared(int arg) {
		return super.tryAcquireShared(arg);
	}

	@Override
	protected boolean tryReleaseShared(int arg) {
		return super.tryReleaseShared(arg);
	}

	private boolean attempt(boolean shared, int arg) {
		return shared ? tryAcquireShared(arg) >= 0 : tryAcquire(arg);
	}

	/** nanos below 0: no limit. False: the time is over. */
	private boolean pass(boolean shared, int arg, boolean interruptibly, long nanos)
			throws InterruptedException {
		if (interruptibly && Thread.interrupted())
			throw new InterruptedException();
		if (attempt(shared, arg))
			return true;
		if (nanos == 0)
			return false;
		long end = nanos < 0 ? 0 : System.nanoTime() + nanos;
		Node n = new Node(shared);
		boolean through = false;
		boolean interrupted = false;
		waiters.add(n);
		try {
			for (;;) {
				if (waiters.isFirst(n) && attempt(shared, arg)) {
					through = true;
					return true;
				}
				long left = nanos < 0 ? 0 : end - System.nanoTime();
				if (nanos > 0 && left <= 0)
					return false;
				if (nanos < 0)
					Fiber.park();
				else
					Fiber.parkNanos(left);
				if (Thread.interrupted()) {
					if (interruptibly)
						throw new InterruptedException();
					interrupted = true;
				}
			}
		} finally {
			/* Shared: there may be some for the next. Given up: who is next may be first. */
			waiters.remove(n, shared || !through);
			if (interrupted)
				Thread.currentThread().interrupt();
		}
	}

	private void passUninterruptibly(boolean shared, int arg) {
		try {
			pass(shared, arg, false, -1);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	/* In the place of the final methods. */

	private static PicoSynchronizer ours(AbstractQueuedSynchronizer s) {
		return s instanceof PicoSynchronizer ? (PicoSynchronizer) s : null;
	}

	public static void acquire(AbstractQueuedSynchronizer s, int arg) {
		if (ours(s) == null)
			s.acquire(arg);
		else
			ours(s).passUninterruptibly(false, arg);
	}

	public static void acquireInterruptibly(AbstractQueuedSynchronizer s, int arg)
			throws InterruptedException {
		if (ours(s) == null)
			s.acquireInterruptibly(arg);
		else
			ours(s).pass(false, arg, true, -1);
	}

	public static boolean tryAcquireNanos(AbstractQueuedSynchronizer s, int arg, long nanos)
			throws InterruptedException {
		return ours(s) == null ? s.tryAcquireNanos(arg, nanos)
			: ours(s).pass(false, arg, true, Math.max(0, nanos));
	}

	public static boolean release(AbstractQueuedSynchronizer s, int arg) {
		PicoSynchronizer p = ours(s);
		if (p == null)
			return s.release(arg);
		boolean freed = p.tryRelease(arg);
		if (freed)
			p.waiters.wake();
		return freed;
	}

	public static void acquireShared(AbstractQueuedSynchronizer s, int arg) {
		if (ours(s) == null)
			s.acquireShared(arg);
		else
			ours(s).passUninterruptibly(true, arg);
	}

	public static void acquireSharedInterruptibly(AbstractQueuedSynchronizer s, int arg)
			throws InterruptedException {
		if (ours(s) == null)
			s.acquireSharedInterruptibly(arg);
		else
			ours(s).pass(true, arg, true, -1);
	}

	public static boolean tryAcquireSharedNanos(AbstractQueuedSynchronizer s, int arg,
			long nanos) throws InterruptedException {
		return ours(s) == null ? s.tryAcquireSharedNanos(arg, nanos)
			: ours(s).pass(true, arg, true, Math.max(0, nanos));
	}

	public static boolean releaseShared(AbstractQueuedSynchronizer s, int arg) {
		PicoSynchronizer p = ours(s);
		if (p == null)
			return s.releaseShared(arg);
		boolean freed = p.tryReleaseShared(arg);
		if (freed)
			p.waiters.wake();
		return freed;
	}

	public static boolean hasQueuedThreads(AbstractQueuedSynchronizer s) {
		return getQueueLength(s) > 0;
	}

	public static boolean hasContended(AbstractQueuedSynchronizer s) {
		return ours(s) == null ? s.hasContended() : ours(s).waiters.contended;
	}

	public static int getQueueLength(AbstractQueuedSynchronizer s) {
		return ours(s) == null ? s.getQueueLength() : ours(s).waiters.all().length;
	}

	public static Thread getFirstQueuedThread(AbstractQueuedSynchronizer s) {
		if (ours(s) == null)
			return s.getFirstQueuedThread();
		Node[] all = ours(s).waiters.all();
		return all.length == 0 ? null : all[0].thread;
	}

	/** False for who is first, or when nobody waits: for fair synchronizers. */
	public static boolean hasQueuedPredecessors(AbstractQueuedSynchronizer s) {
		if (ours(s) == null)
			return s.hasQueuedPredecessors();
		Node[] all = ours(s).waiters.all();
		return all.length > 0 && all[0].fiber != Fiber.current();
	}

	public static boolean isQueued(AbstractQueuedSynchronizer s, Thread t) {
		return ours(s) == null ? s.isQueued(t) : getQueuedThreads(s).contains(t);
	}

	public static Collection<Thread> getQueuedThreads(AbstractQueuedSynchronizer s) {
		return ours(s) == null ? s.getQueuedThreads() : ours(s).threads(true, true);
	}

	public static Collection<Thread> getExclusiveQueuedThreads(AbstractQueuedSynchronizer s) {
		return ours(s) == null ? s.getExclusiveQueuedThreads() : ours(s).threads(true, false);
	}

	public static Collection<Thread> getSharedQueuedThreads(AbstractQueuedSynchronizer s) {
		return ours(s) == null ? s.getSharedQueuedThreads() : ours(s).threads(false, true);
	}

	private Collection<Thread> threads(boolean exclusive, boolean shared) {
		java.util.ArrayList<Thread> l = new java.util.ArrayList<>();
		for (Node n : waiters.all())
			if (n.shared ? shared : exclusive)
				l.add(n.thread);
		return l;
	}
}
