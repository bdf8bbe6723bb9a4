// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.AbstractQueuedLongSynchronizer;
import org.ukthreads.pico.Fiber;

/**
 * What a program's AbstractQueuedLongSynchronizer extends. The JDK's methods that block are
 * final: their calls become the static ones here; the state is the JDK's. What can be
 * shared is in Line: the JDK has this class twice, for int and for long.
 */
public abstract class PicoAbstractQueuedLongSynchronizer extends AbstractQueuedLongSynchronizer {
	private static final long serialVersionUID = 1L;
	private transient Line line = new Line();

	protected PicoAbstractQueuedLongSynchronizer() {}

	private void readObject(java.io.ObjectInputStream s)
			throws java.io.IOException, ClassNotFoundException {
		s.defaultReadObject();
		line = new Line();
	}

	private Line.Try alone(long n) {
		return () -> tryAcquire(n) ? 0 : -1;
	}

	private Line.Try shared(long n) {
		return () -> tryAcquireShared(n);
	}

	private static PicoAbstractQueuedLongSynchronizer ours(AbstractQueuedLongSynchronizer s) {
		if (s instanceof PicoAbstractQueuedLongSynchronizer)
			return (PicoAbstractQueuedLongSynchronizer) s;
		throw new IllegalStateException("not translated: " + s.getClass().getName());
	}

	public static void acquire(AbstractQueuedLongSynchronizer s, long n) {
		PicoAbstractQueuedLongSynchronizer q = ours(s);
		q.line.acquire(q.alone(n), false);
	}

	public static void acquireInterruptibly(AbstractQueuedLongSynchronizer s, long n)
			throws InterruptedException {
		PicoAbstractQueuedLongSynchronizer q = ours(s);
		q.line.acquire(q.alone(n), false, Long.MAX_VALUE);
	}

	public static boolean tryAcquireNanos(AbstractQueuedLongSynchronizer s, long n, long nanos)
			throws InterruptedException {
		PicoAbstractQueuedLongSynchronizer q = ours(s);
		return q.line.acquire(q.alone(n), false, nanos);
	}

	public static boolean release(AbstractQueuedLongSynchronizer s, long n) {
		PicoAbstractQueuedLongSynchronizer q = ours(s);
		Fiber.room();
		if (!q.tryRelease(n))
			return false;
		q.line.wakeFirst();
		return true;
	}

	public static void acquireShared(AbstractQueuedLongSynchronizer s, long n) {
		PicoAbstractQueuedLongSynchronizer q = ours(s);
		q.line.acquire(q.shared(n), true);
	}

	public static void acquireSharedInterruptibly(AbstractQueuedLongSynchronizer s, long n)
			throws InterruptedException {
		PicoAbstractQueuedLongSynchronizer q = ours(s);
		q.line.acquire(q.shared(n), true, Long.MAX_VALUE);
	}

	public static boolean tryAcquireSharedNanos(AbstractQueuedLongSynchronizer s, long n,
			long nanos) throws InterruptedException {
		PicoAbstractQueuedLongSynchronizer q = ours(s);
		return q.line.acquire(q.shared(n), true, nanos);
	}

	public static boolean releaseShared(AbstractQueuedLongSynchronizer s, long n) {
		PicoAbstractQueuedLongSynchronizer q = ours(s);
		Fiber.room();
		if (!q.tryReleaseShared(n))
			return false;
		q.line.wakeFirst();
		return true;
	}

	public static boolean hasQueuedThreads(AbstractQueuedLongSynchronizer s) {
		return !ours(s).line.threads(0).isEmpty();
	}

	public static boolean hasContended(AbstractQueuedLongSynchronizer s) {
		return ours(s).line.contended();
	}

	public static Thread getFirstQueuedThread(AbstractQueuedLongSynchronizer s) {
		List<Thread> l = ours(s).line.threads(0);
		return l.isEmpty() ? null : l.get(0);
	}

	public static boolean isQueued(AbstractQueuedLongSynchronizer s, Thread t) {
		return ours(s).line.threads(0).contains(Objects.requireNonNull(t));
	}

	public static boolean hasQueuedPredecessors(AbstractQueuedLongSynchronizer s) {
		return ours(s).line.others();
	}

	public static int getQueueLength(AbstractQueuedLongSynchronizer s) {
		return ours(s).line.threads(0).size();
	}

	public static Collection<Thread> getQueuedThreads(AbstractQueuedLongSynchronizer s) {
		return ours(s).line.threads(0);
	}

	public static Collection<Thread> getExclusiveQueuedThreads(AbstractQueuedLongSynchronizer s) {
		return ours(s).line.threads(1);
	}

	public static Collection<Thread> getSharedQueuedThreads(AbstractQueuedLongSynchronizer s) {
		return ours(s).line.threads(2);
	}

	public static boolean owns(AbstractQueuedLongSynchronizer s, ConditionObject c) {
		return Objects.requireNonNull(c) instanceof On && ((On) c).of == s;
	}

	private static On own(AbstractQueuedLongSynchronizer s, ConditionObject c) {
		if (!owns(s, c))
			throw new IllegalArgumentException("Not owner");
		if (!ours(s).isHeldExclusively())
			throw new IllegalMonitorStateException();
		return (On) c;
	}

	public static boolean hasWaiters(AbstractQueuedLongSynchronizer s, ConditionObject c) {
		return getWaitQueueLength(s, c) > 0;
	}

	public static int getWaitQueueLength(AbstractQueuedLongSynchronizer s, ConditionObject c) {
		return own(s, c).waiters.threads().size();
	}

	public static Collection<Thread> getWaitingThreads(AbstractQueuedLongSynchronizer s,
			ConditionObject c) {
		return own(s, c).waiters.threads();
	}

	@Override
	public String toString() {
		String q = line.threads(0).isEmpty() ? "" : "non";
		return super.toString().replaceFirst("(non)?empty queue", q + "empty queue");
	}

	/** What `new ConditionObject()` makes: its methods are final, see Conditions. */
	public static final class On extends AbstractQueuedLongSynchronizer.ConditionObject
			implements Line.Sync {
		private static final long serialVersionUID = 1L;
		private final PicoAbstractQueuedLongSynchronizer of;
		private final transient Line.Waiters waiters = new Line.Waiters();

		public On(AbstractQueuedLongSynchronizer of) {
			of.super();
			this.of = ours(of);
		}

		@Override
		public long state() {
			return of.getState();
		}

		@Override
		public boolean release(long n) {
			return PicoAbstractQueuedLongSynchronizer.release(of, n);
		}

		@Override
		public Line.Try acquire(long n) {
			return of.alone(n);
		}

		@Override
		public boolean held() {
			return of.isHeldExclusively();
		}

		@Override
		public Line line() {
			return of.line;
		}

		@Override
		public Line.Waiters waiters() {
			return waiters;
		}
	}
}
