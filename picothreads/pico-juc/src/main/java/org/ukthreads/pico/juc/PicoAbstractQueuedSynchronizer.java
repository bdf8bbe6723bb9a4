// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Members;

/**
 * The superclass of a program's AbstractQueuedSynchronizer. The JDK's methods that block are
 * final: their calls become the static ones here; the state is the JDK's. Line has what this
 * class shares with its other version: the JDK has one for int and one for long.
 */
public abstract class PicoAbstractQueuedSynchronizer extends AbstractQueuedSynchronizer {
	private static final long serialVersionUID = 1L;
	private transient Line line = new Line();

	protected PicoAbstractQueuedSynchronizer() {}

	private void readObject(java.io.ObjectInputStream s)
			throws java.io.IOException, ClassNotFoundException {
		s.defaultReadObject();
		line = new Line();
	}

	/** For a subclass that was serialised under the JDK's names, without our data. */
	private void readObjectNoData() {
		line = new Line();
	}

	private Line.Try alone(int n) {
		return () -> tryAcquire(n) ? 0 : -1;
	}

	private Line.Try shared(int n) {
		return () -> tryAcquireShared(n);
	}

	private static PicoAbstractQueuedSynchronizer ours(AbstractQueuedSynchronizer s) {
		if (s instanceof PicoAbstractQueuedSynchronizer)
			return (PicoAbstractQueuedSynchronizer) s;
		throw new IllegalStateException("not translated: " + s.getClass().getName());
	}

	public static void acquire(AbstractQueuedSynchronizer s, int n) {
		PicoAbstractQueuedSynchronizer q = ours(s);
		q.line.acquire(q.alone(n), false);
	}

	public static void acquireInterruptibly(AbstractQueuedSynchronizer s, int n)
			throws InterruptedException {
		PicoAbstractQueuedSynchronizer q = ours(s);
		q.line.acquire(q.alone(n), false, Long.MAX_VALUE);
	}

	public static boolean tryAcquireNanos(AbstractQueuedSynchronizer s, int n, long nanos)
			throws InterruptedException {
		PicoAbstractQueuedSynchronizer q = ours(s);
		return q.line.acquire(q.alone(n), false, nanos);
	}

	public static boolean release(AbstractQueuedSynchronizer s, int n) {
		PicoAbstractQueuedSynchronizer q = ours(s);
		Fiber.room();
		if (!q.tryRelease(n))
			return false;
		q.line.wakeFirst();
		return true;
	}

	public static void acquireShared(AbstractQueuedSynchronizer s, int n) {
		PicoAbstractQueuedSynchronizer q = ours(s);
		q.line.acquire(q.shared(n), true);
	}

	public static void acquireSharedInterruptibly(AbstractQueuedSynchronizer s, int n)
			throws InterruptedException {
		PicoAbstractQueuedSynchronizer q = ours(s);
		q.line.acquire(q.shared(n), true, Long.MAX_VALUE);
	}

	public static boolean tryAcquireSharedNanos(AbstractQueuedSynchronizer s, int n,
			long nanos) throws InterruptedException {
		PicoAbstractQueuedSynchronizer q = ours(s);
		return q.line.acquire(q.shared(n), true, nanos);
	}

	public static boolean releaseShared(AbstractQueuedSynchronizer s, int n) {
		PicoAbstractQueuedSynchronizer q = ours(s);
		Fiber.room();
		if (!q.tryReleaseShared(n))
			return false;
		q.line.wakeFirst();
		return true;
	}

	public static boolean hasQueuedThreads(AbstractQueuedSynchronizer s) {
		return !ours(s).line.threads(0).isEmpty();
	}

	public static boolean hasContended(AbstractQueuedSynchronizer s) {
		return ours(s).line.contended();
	}

	public static Thread getFirstQueuedThread(AbstractQueuedSynchronizer s) {
		List<Thread> l = ours(s).line.threads(0);
		return l.isEmpty() ? null : l.get(0);
	}

	public static boolean isQueued(AbstractQueuedSynchronizer s, Thread t) {
		return ours(s).line.threads(0).contains(Objects.requireNonNull(t));
	}

	public static boolean hasQueuedPredecessors(AbstractQueuedSynchronizer s) {
		return ours(s).line.others();
	}

	public static int getQueueLength(AbstractQueuedSynchronizer s) {
		return ours(s).line.threads(0).size();
	}

	public static Collection<Thread> getQueuedThreads(AbstractQueuedSynchronizer s) {
		return ours(s).line.threads(0);
	}

	public static Collection<Thread> getExclusiveQueuedThreads(AbstractQueuedSynchronizer s) {
		return ours(s).line.threads(1);
	}

	public static Collection<Thread> getSharedQueuedThreads(AbstractQueuedSynchronizer s) {
		return ours(s).line.threads(2);
	}

	public static boolean owns(AbstractQueuedSynchronizer s, ConditionObject c) {
		return Objects.requireNonNull(c) instanceof On && ((On) c).of == s;
	}

	private static On own(AbstractQueuedSynchronizer s, ConditionObject c) {
		if (!owns(s, c))
			throw new IllegalArgumentException("Not owner");
		if (!ours(s).isHeldExclusively())
			throw new IllegalMonitorStateException();
		return (On) c;
	}

	public static boolean hasWaiters(AbstractQueuedSynchronizer s, ConditionObject c) {
		return getWaitQueueLength(s, c) > 0;
	}

	public static int getWaitQueueLength(AbstractQueuedSynchronizer s, ConditionObject c) {
		return own(s, c).waiters.threads().size();
	}

	public static Collection<Thread> getWaitingThreads(AbstractQueuedSynchronizer s,
			ConditionObject c) {
		return own(s, c).waiters.threads();
	}

	@Override
	public String toString() {
		String q = line.threads(0).isEmpty() ? "" : "non";
		return Members.named(this, super.toString())
			.replaceFirst("(non)?empty queue", q + "empty queue");
	}

	/** Made by `new ConditionObject()`. Its methods are final: see Conditions. */
	public static final class On extends AbstractQueuedSynchronizer.ConditionObject
			implements Line.Sync {
		private static final long serialVersionUID = 1L;
		private final PicoAbstractQueuedSynchronizer of;
		private final transient Line.Waiters waiters = new Line.Waiters();

		public On(AbstractQueuedSynchronizer of) {
			of.super();
			this.of = ours(of);
		}

		/** The JDK's own, for Written: no rule applies inside this class. */
		AbstractQueuedSynchronizer.ConditionObject jdks() {
			return of.new ConditionObject();
		}

		@Override
		public long state() {
			return of.getState();
		}

		@Override
		public boolean release(long n) {
			return PicoAbstractQueuedSynchronizer.release(of, (int) n);
		}

		@Override
		public Line.Try acquire(long n) {
			return of.alone((int) n);
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
