package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.ukthreads.pico.Fiber;

/** ReentrantLock; always fair in effect: a lock is handed to the first that waits. */
public class PicoReentrantLock extends ReentrantLock {
	private static final long serialVersionUID = 1L;
	private final transient Gate gate = new Gate();
	private final boolean fair;
	/* Under the gate's guard. */
	transient Fiber owner;
	transient int holds;

	public PicoReentrantLock() {
		this(false);
	}

	public PicoReentrantLock(boolean fair) {
		this.fair = fair;
	}

	private static final class Acquire extends Gate.Node {
		private final PicoReentrantLock lock;
		private final int count;

		Acquire(PicoReentrantLock lock, int count) {
			super(0);
			this.lock = lock;
			this.count = count;
		}

		@Override
		boolean attempt() {
			if (lock.owner != null)
				return false;
			lock.owner = fiber;
			lock.holds = count;
			return true;
		}
	}

	private boolean again() {
		synchronized (gate) {
			if (owner != Fiber.current())
				return false;
			if (++holds < 0)
				throw new Error("Maximum lock count exceeded");
			return true;
		}
	}

	@Override
	public void lock() {
		if (!again())
			gate.pass(new Acquire(this, 1));
	}

	@Override
	public void lockInterruptibly() throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		if (!again())
			gate.passInterruptibly(new Acquire(this, 1));
	}

	@Override
	public boolean tryLock() {
		return again() || gate.once(new Acquire(this, 1), true);
	}

	@Override
	public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		return again() || gate.passIn(new Acquire(this, 1), unit.toNanos(time));
	}

	@Override
	public void unlock() {
		synchronized (gate) {
			owned();
			if (--holds == 0)
				release();
		}
	}

	private void owned() {
		if (owner != Fiber.current())
			throw new IllegalMonitorStateException();
	}

	private void release() {
		owner = null;
		holds = 0;
		gate.serve();
	}

	@Override
	public Condition newCondition() {
		return new On(this);
	}

	@Override
	public int getHoldCount() {
		synchronized (gate) {
			return owner == Fiber.current() ? holds : 0;
		}
	}

	@Override
	public boolean isHeldByCurrentThread() {
		return getHoldCount() > 0;
	}

	@Override
	public boolean isLocked() {
		synchronized (gate) {
			return owner != null;
		}
	}

	@Override
	protected Thread getOwner() {
		return null;
	}

	@Override
	protected Collection<Thread> getQueuedThreads() {
		return new java.util.ArrayList<>();
	}

	@Override
	public boolean hasWaiters(Condition c) {
		return getWaitQueueLength(c) > 0;
	}

	@Override
	public int getWaitQueueLength(Condition c) {
		if (!(c instanceof On) || ((On) c).lock != this)
			throw new IllegalArgumentException("not owner");
		return ((On) c).count();
	}

	@Override
	protected Collection<Thread> getWaitingThreads(Condition c) {
		return new java.util.ArrayList<>();
	}

	@Override
	public String toString() {
		return getClass().getName() + '@' + Integer.toHexString(System.identityHashCode(this))
			+ (isLocked() ? "[Locked]" : "[Unlocked]") + (fair ? "[fair]" : "");
	}

	/**
	 * A condition. A waiter is in `list` until it is signalled, times out or is
	 * interrupted, then in the lock's gate like any other that wants the lock.
	 */
	private static final class On implements Condition {
		private final PicoReentrantLock lock;
		/** Under the gate's guard; linked by `after`. */
		private Wait first;

		On(PicoReentrantLock lock) {
			this.lock = lock;
		}

		private static final class Wait extends Gate.Node {
			private final PicoReentrantLock lock;
			private final int holds;
			private boolean signalled;
			private Wait after;

			Wait(PicoReentrantLock lock) {
				super(0);
				this.lock = lock;
				holds = lock.holds;
			}

			@Override
			boolean attempt() {
				if (lock.owner != null)
					return false;
				lock.owner = fiber;
				lock.holds = holds;
				return true;
			}
		}

		private Wait begin() {
			synchronized (lock.gate) {
				lock.owned();
				Wait w = new Wait(lock);
				if (first == null) {
					first = w;
				} else {
					Wait x = first;
					while (x.after != null)
						x = x.after;
					x.after = w;
				}
				lock.release();
				return w;
			}
		}

		int count() {
			synchronized (lock.gate) {
				int n = 0;
				for (Wait w = first; w != null; w = w.after)
					n++;
				return n;
			}
		}

		/** Out of the list and back to the lock, unless a signal did it. */
		private boolean abandon(Wait w) {
			synchronized (lock.gate) {
				if (w.signalled || w.done)
					return false;
				if (first == w) {
					first = w.after;
				} else {
					Wait x = first;
					while (x.after != w)
						x = x.after;
					x.after = w.after;
				}
				lock.gate.add(w);
				lock.gate.serve();
				return true;
			}
		}

		@Override
		public void signal() {
			synchronized (lock.gate) {
				lock.owned();
				next();
			}
		}

		@Override
		public void signalAll() {
			synchronized (lock.gate) {
				lock.owned();
				while (first != null)
					next();
			}
		}

		private void next() {
			Wait w = first;
			if (w == null)
				return;
			first = w.after;
			w.signalled = true;
			lock.gate.add(w);
		}

		@Override
		public void await() throws InterruptedException {
			if (Thread.interrupted())
				throw new InterruptedException();
			Wait w = begin();
			while (!w.done) {
				Fiber.park();
				if (!w.done && Thread.interrupted()) {
					boolean mine = abandon(w);
					Gate.await(w);
					if (mine)
						throw new InterruptedException();
					Thread.currentThread().interrupt();
					return;
				}
			}
		}

		@Override
		public void awaitUninterruptibly() {
			Gate.await(begin());
		}

		@Override
		public long awaitNanos(long nanos) throws InterruptedException {
			long end = System.nanoTime() + Math.max(0, nanos);
			timed(end);
			return end - System.nanoTime();
		}

		/** True: signalled. */
		private boolean timed(long end) throws InterruptedException {
			if (Thread.interrupted())
				throw new InterruptedException();
			Wait w = begin();
			while (!w.done) {
				long left = end - System.nanoTime();
				if (left <= 0) {
					boolean mine = abandon(w);
					Gate.await(w);
					return !mine;
				}
				Fiber.parkNanos(left);
				if (!w.done && Thread.interrupted()) {
					boolean mine = abandon(w);
					Gate.await(w);
					if (mine)
						throw new InterruptedException();
					Thread.currentThread().interrupt();
					return true;
				}
			}
			return true;
		}

		@Override
		public boolean await(long time, TimeUnit unit) throws InterruptedException {
			return timed(System.nanoTime() + Math.max(0, unit.toNanos(time)));
		}

		@Override
		public boolean awaitUntil(Date deadline) throws InterruptedException {
			long ms = deadline.getTime() - System.currentTimeMillis();
			return timed(System.nanoTime() + Math.max(0, ms) * 1_000_000);
		}
	}
}
