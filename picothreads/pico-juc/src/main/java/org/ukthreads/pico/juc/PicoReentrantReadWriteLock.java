package org.ukthreads.pico.juc;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.ukthreads.pico.Fiber;

/** ReentrantReadWriteLock: first come, first served; downgrading and re-entry as there. */
public class PicoReentrantReadWriteLock extends ReentrantReadWriteLock {
	private static final long serialVersionUID = 1L;
	private final transient Gate gate = new Gate();
	/* Under the gate's guard. */
	private transient Fiber writer;
	private transient int writes;
	private final transient Map<Fiber, int[]> readers = new HashMap<>();
	private final transient Read read = new Read(this);
	private final transient Write write = new Write(this);

	public PicoReentrantReadWriteLock() {}

	public PicoReentrantReadWriteLock(boolean fair) {
		super(fair);
	}

	@Override
	public ReadLock readLock() {
		return read;
	}

	@Override
	public WriteLock writeLock() {
		return write;
	}

	private static final class Acquire extends Gate.Node {
		private final PicoReentrantReadWriteLock l;
		private final boolean shared;

		Acquire(PicoReentrantReadWriteLock l, boolean shared) {
			super(0);
			this.l = l;
			this.shared = shared;
		}

		@Override
		boolean attempt() {
			if (l.writer != null && l.writer != fiber)
				return false;
			if (shared) {
				int[] n = l.readers.get(fiber);
				if (n == null) {
					n = new int[1];
					l.readers.put(fiber, n);
				}
				n[0]++;
				return true;
			}
			if (l.writer == null && !l.readers.isEmpty())
				return false;
			l.writer = fiber;
			l.writes++;
			return true;
		}
	}

	/** Who holds some of it already does not queue behind those who wait for it. */
	private boolean again(boolean shared) {
		synchronized (gate) {
			Fiber me = Fiber.current();
			if (writer == me || shared && readers.containsKey(me))
				return new Acquire(this, shared).attempt();
			return false;
		}
	}

	private void unlock(boolean shared) {
		synchronized (gate) {
			Fiber me = Fiber.current();
			if (shared) {
				int[] n = readers.get(me);
				if (n == null)
					throw new IllegalMonitorStateException("not read-locked by this thread");
				if (--n[0] == 0)
					readers.remove(me);
			} else {
				if (writer != me)
					throw new IllegalMonitorStateException();
				if (--writes == 0)
					writer = null;
			}
			gate.serve();
		}
	}

	private static final class Read extends ReadLock {
		private static final long serialVersionUID = 1L;
		private final transient PicoReentrantReadWriteLock l;

		Read(PicoReentrantReadWriteLock l) {
			super(l);
			this.l = l;
		}

		@Override
		public void lock() {
			if (!l.again(true))
				l.gate.pass(new Acquire(l, true));
		}

		@Override
		public void lockInterruptibly() throws InterruptedException {
			if (!l.again(true))
				l.gate.passInterruptibly(new Acquire(l, true));
		}

		@Override
		public boolean tryLock() {
			return l.gate.once(new Acquire(l, true), true);
		}

		@Override
		public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
			return l.again(true) || l.gate.passIn(new Acquire(l, true), unit.toNanos(time));
		}

		@Override
		public void unlock() {
			l.unlock(true);
		}
	}

	private static final class Write extends WriteLock {
		private static final long serialVersionUID = 1L;
		private final transient PicoReentrantReadWriteLock l;

		Write(PicoReentrantReadWriteLock l) {
			super(l);
			this.l = l;
		}

		@Override
		public void lock() {
			if (!l.again(false))
				l.gate.pass(new Acquire(l, false));
		}

		@Override
		public void lockInterruptibly() throws InterruptedException {
			if (!l.again(false))
				l.gate.passInterruptibly(new Acquire(l, false));
		}

		@Override
		public boolean tryLock() {
			return l.gate.once(new Acquire(l, false), true);
		}

		@Override
		public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
			return l.again(false) || l.gate.passIn(new Acquire(l, false), unit.toNanos(time));
		}

		@Override
		public void unlock() {
			l.unlock(false);
		}

		@Override
		public Condition newCondition() {
			throw new UnsupportedOperationException("condition of a write lock");
		}

		@Override
		public boolean isHeldByCurrentThread() {
			return l.isWriteLockedByCurrentThread();
		}

		@Override
		public int getHoldCount() {
			return l.getWriteHoldCount();
		}
	}

	@Override
	public boolean isWriteLocked() {
		synchronized (gate) {
			return writer != null;
		}
	}

	@Override
	public boolean isWriteLockedByCurrentThread() {
		synchronized (gate) {
			return writer == Fiber.current();
		}
	}

	@Override
	public int getWriteHoldCount() {
		synchronized (gate) {
			return writer == Fiber.current() ? writes : 0;
		}
	}

	@Override
	public int getReadHoldCount() {
		synchronized (gate) {
			int[] n = readers.get(Fiber.current());
			return n == null ? 0 : n[0];
		}
	}

	@Override
	public int getReadLockCount() {
		synchronized (gate) {
			int c = 0;
			for (int[] n : readers.values())
				c += n[0];
			return c;
		}
	}
}
