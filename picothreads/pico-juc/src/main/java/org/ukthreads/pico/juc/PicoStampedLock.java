package org.ukthreads.pico.juc;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/*
 * StampedLock: not re-entrant, first come, first served. Stamps are made as there, so that
 * its static tests (isWriteLockStamp...) tell them apart:
 *
 *   version  63 .. 8 | 7: written to | 6 .. 0: of a read stamp, how many readers (1..126)
 *
 * Releasing the write lock adds bit 7 once more, which makes the next version.
 */
public class PicoStampedLock extends StampedLock {
	private static final long serialVersionUID = 1L;
	private static final long WRITE = 128;
	private static final long READS = 127;
	private static final long FIRST = 256;

	private final transient Gate gate = new Gate();
	/* Under the gate's guard. */
	private transient long version = FIRST;
	private transient int readers;

	private static final class Acquire extends Gate.Node {
		private final PicoStampedLock l;
		private final boolean shared;
		long stamp;

		Acquire(PicoStampedLock l, boolean shared) {
			super(0);
			this.l = l;
			this.shared = shared;
		}

		@Override
		boolean attempt() {
			if ((l.version & WRITE) != 0 || !shared && l.readers > 0)
				return false;
			stamp = shared ? l.read() : l.write();
			return true;
		}
	}

	private long read() {
		return version | Math.min(++readers, READS - 1);
	}

	private long write() {
		return version |= WRITE;
	}

	private void written() {
		version += WRITE;
		if (version == 0)
			version = FIRST;
	}

	private long lock(boolean shared) {
		Acquire a = new Acquire(this, shared);
		gate.pass(a);
		return a.stamp;
	}

	private long lockInterruptibly(boolean shared) throws InterruptedException {
		Acquire a = new Acquire(this, shared);
		gate.passInterruptibly(a);
		return a.stamp;
	}

	private long tryLock(boolean shared) {
		Acquire a = new Acquire(this, shared);
		return gate.once(a, true) ? a.stamp : 0;
	}

	private long tryLock(boolean shared, long time, TimeUnit unit)
			throws InterruptedException {
		Acquire a = new Acquire(this, shared);
		return gate.passIn(a, unit.toNanos(time)) ? a.stamp : 0;
	}

	@Override
	public long writeLock() {
		return lock(false);
	}

	@Override
	public long tryWriteLock() {
		return tryLock(false);
	}

	@Override
	public long tryWriteLock(long time, TimeUnit unit) throws InterruptedException {
		return tryLock(false, time, unit);
	}

	@Override
	public long writeLockInterruptibly() throws InterruptedException {
		return lockInterruptibly(false);
	}

	@Override
	public long readLock() {
		return lock(true);
	}

	@Override
	public long tryReadLock() {
		return tryLock(true);
	}

	@Override
	public long tryReadLock(long time, TimeUnit unit) throws InterruptedException {
		return tryLock(true, time, unit);
	}

	@Override
	public long readLockInterruptibly() throws InterruptedException {
		return lockInterruptibly(true);
	}

	@Override
	public long tryOptimisticRead() {
		synchronized (gate) {
			return (version & WRITE) != 0 ? 0 : version;
		}
	}

	@Override
	public boolean validate(long stamp) {
		/* The guard also keeps the reads before it before it. */
		synchronized (gate) {
			return (stamp & ~READS) == version;
		}
	}

	private boolean isWrite(long stamp) {
		return stamp == version && (stamp & WRITE) != 0;
	}

	private boolean isRead(long stamp) {
		return (stamp & ~READS) == version && (stamp & READS) != 0 && (stamp & WRITE) == 0
			&& readers > 0;
	}

	/** Under the guard: gives back what the stamp holds; false: nothing. */
	private boolean release(long stamp, boolean write, boolean read) {
		if (write && isWrite(stamp))
			written();
		else if (read && isRead(stamp))
			readers--;
		else
			return false;
		gate.serve();
		return true;
	}

	private void unlock(long stamp, boolean write, boolean read) {
		synchronized (gate) {
			if (!release(stamp, write, read))
				throw new IllegalMonitorStateException();
		}
	}

	@Override
	public void unlockWrite(long stamp) {
		unlock(stamp, true, false);
	}

	@Override
	public void unlockRead(long stamp) {
		unlock(stamp, false, true);
	}

	@Override
	public void unlock(long stamp) {
		unlock(stamp, true, true);
	}

	@Override
	public long tryConvertToWriteLock(long stamp) {
		synchronized (gate) {
			if (isWrite(stamp))
				return stamp;
			if (isRead(stamp)) {
				if (readers > 1)
					return 0;
				readers = 0;
				return write();
			}
			return stamp == version && stamp != 0 && readers == 0 ? write() : 0;
		}
	}

	@Override
	public long tryConvertToReadLock(long stamp) {
		synchronized (gate) {
			if (isRead(stamp))
				return stamp;
			long s = 0;
			if (isWrite(stamp)) {
				written();
				s = read();
				gate.serve();
			} else if (stamp == version && stamp != 0) {
				s = read();
			}
			return s;
		}
	}

	@Override
	public long tryConvertToOptimisticRead(long stamp) {
		synchronized (gate) {
			if (stamp == version && stamp != 0 && (stamp & WRITE) == 0)
				return stamp;
			return release(stamp, true, true) ? version : 0;
		}
	}

	@Override
	public boolean tryUnlockWrite() {
		synchronized (gate) {
			return release(version, true, false);
		}
	}

	@Override
	public boolean tryUnlockRead() {
		synchronized (gate) {
			return release(version | 1, false, true);
		}
	}

	@Override
	public boolean isWriteLocked() {
		synchronized (gate) {
			return (version & WRITE) != 0;
		}
	}

	@Override
	public boolean isReadLocked() {
		return getReadLockCount() > 0;
	}

	@Override
	public int getReadLockCount() {
		synchronized (gate) {
			return readers;
		}
	}

	@Override
	public String toString() {
		String s = getClass().getName() + '@' + Integer.toHexString(hashCode());
		synchronized (gate) {
			return s + (isWriteLocked() ? "[Write-locked]"
				: readers == 0 ? "[Unlocked]" : "[Read-locks:" + readers + "]");
		}
	}

	/** As the JDK's: it comes back unlocked. */
	private Object readResolve() {
		return new PicoStampedLock();
	}

	private static final class View implements Lock {
		private final PicoStampedLock l;
		private final boolean shared;

		View(PicoStampedLock l, boolean shared) {
			this.l = l;
			this.shared = shared;
		}

		@Override
		public void lock() {
			l.lock(shared);
		}

		@Override
		public void lockInterruptibly() throws InterruptedException {
			l.lockInterruptibly(shared);
		}

		@Override
		public boolean tryLock() {
			return l.tryLock(shared) != 0;
		}

		@Override
		public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
			return l.tryLock(shared, time, unit) != 0;
		}

		@Override
		public void unlock() {
			if (!(shared ? l.tryUnlockRead() : l.tryUnlockWrite()))
				throw new IllegalMonitorStateException();
		}

		@Override
		public Condition newCondition() {
			throw new UnsupportedOperationException();
		}
	}

	@Override
	public Lock asReadLock() {
		return new View(this, true);
	}

	@Override
	public Lock asWriteLock() {
		return new View(this, false);
	}

	@Override
	public ReadWriteLock asReadWriteLock() {
		return new Both(this);
	}

	private static final class Both implements ReadWriteLock {
		private final PicoStampedLock l;

		Both(PicoStampedLock l) {
			this.l = l;
		}

		@Override
		public Lock readLock() {
			return l.asReadLock();
		}

		@Override
		public Lock writeLock() {
			return l.asWriteLock();
		}
	}
}
