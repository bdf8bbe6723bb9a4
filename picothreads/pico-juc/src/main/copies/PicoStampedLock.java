// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.StampedLock;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Members;
import org.ukthreads.pico.Room;
import org.ukthreads.pico.Snapshot;

/*
 * StampedLock: not re-entrant and not fair. A writer takes it when it is free (Gate: patient
 * nodes), a reader does not pass waiting threads. Stamps have the JDK's layout, so that its
 * static tests of stamps work:
 *
 *   version (from bit 8) | 128 written | 1..126 read
 *
 * The version goes up by 256 each time a writer leaves.
 */
public class PicoStampedLock extends StampedLock implements Room.Of {
	private static final long serialVersionUID = 1L;
	private static final long WRITE = 128;
	private static final long READ = 127;

	private transient Gate gate = new Gate(this);
	/* Under the gate's guard. */
	private transient long version = 256;
	private transient boolean written;
	private transient int readers;

	private static final class Acquire extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final PicoStampedLock l;
		private final boolean shared;
		private long stamp;

		Acquire(PicoStampedLock l, boolean shared) {
			super(0);
			this.l = l;
			this.shared = shared;
		}

		@Override
		boolean attempt() {
			stamp = l.take(shared);
			return stamp != 0;
		}

		@Override
		void undo() {
			l.release(shared);
		}

		@Override
		boolean patient() {
			return !shared;
		}

		@Override
		boolean open() {
			return !l.written && l.readers == 0;
		}
	}

	/** Under the guard; 0: it is not free. */
	private long take(boolean shared) {
		if (written || !shared && readers > 0)
			return 0;
		if (shared)
			readers++;
		else
			written = true;
		return state();
	}

	private long state() {
		return version | (written ? WRITE : Math.min(readers, 126));
	}

	@Override
	public Room room() {
		return gate;
	}

	/** The JDK's own, for Written: no rule applies inside this class. */
	static StampedLock jdks() {
		return new StampedLock();
	}

	private void writeObject(ObjectOutputStream s) throws IOException {
		s.defaultWriteObject();
		boolean all = s instanceof Snapshot;
		s.writeObject(all ? gate : null);
		s.writeLong(all ? version : 256);
		s.writeBoolean(all && written);
		s.writeInt(all ? readers : 0);
	}

	private void readObject(ObjectInputStream s) throws IOException, ClassNotFoundException {
		s.defaultReadObject();
		Gate g = (Gate) s.readObject();
		gate = g != null ? g : new Gate(this);
		version = s.readLong();
		written = s.readBoolean();
		readers = s.readInt();
	}

	/** For a subclass that was serialised under the JDK's names, without our data. */
	private void readObjectNoData() {
		gate = new Gate(this);
		version = 256;
	}

	/* --- locking --- */

	private long lock(boolean shared) {
		Acquire a = new Acquire(this, shared);
		gate.pass(a);
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

	private long lockInterruptibly(boolean shared) throws InterruptedException {
		Acquire a = new Acquire(this, shared);
		gate.passInterruptibly(a);
		return a.stamp;
	}

	// = PicoStampedLock: as a writer; Write > Read; write > read; false > true

	@Override
	public long tryOptimisticRead() {
		synchronized (gate) {
			return written ? 0 : version;
		}
	}

	/** super.validate() is called for its fence: earlier reads stay before it. */
	@Override
	public boolean validate(long stamp) {
		super.validate(stamp);
		synchronized (gate) {
			return (stamp & ~READ) == (state() & ~READ);
		}
	}

	/* --- unlocking --- */

	private boolean holds(long stamp, boolean shared) {
		return (stamp & ~READ) == (state() & ~READ) && (shared
			? readers > 0 && (stamp & READ) != 0 : written && (stamp & WRITE) != 0);
	}

	/** Under the guard. */
	private void release(boolean shared) {
		gate.ready();
		if (shared) {
			readers--;
		} else {
			written = false;
			version += 256;
		}
		if (gate.head != null)
			gate.serve();
	}

	private void unlock(long stamp, boolean shared) {
		synchronized (gate) {
			if (!holds(stamp, shared))
				throw new IllegalMonitorStateException();
			release(shared);
		}
	}

	private boolean tryUnlock(boolean shared) {
		synchronized (gate) {
			if (shared ? readers == 0 : !written)
				return false;
			release(shared);
			return true;
		}
	}

	@Override
	public void unlock(long stamp) {
		unlock(stamp, (stamp & WRITE) == 0);
	}

	/* --- converting; 0: not available now, or the stamp is not valid --- */

	@Override
	public long tryConvertToWriteLock(long stamp) {
		synchronized (gate) {
			if ((stamp & ~READ) != (state() & ~READ))
				return 0;
			if ((stamp & WRITE) != 0)
				return stamp;
			int mine = (stamp & READ) != 0 ? 1 : 0;
			if (readers != mine)
				return 0;
			readers = 0;
			return take(false);
		}
	}

	@Override
	public long tryConvertToReadLock(long stamp) {
		synchronized (gate) {
			if ((stamp & ~READ) != (state() & ~READ))
				return 0;
			if ((stamp & WRITE) != 0) {
				Fiber.room();
				written = false;
				version += 256;
				long s = take(true);
				gate.serve();
				return s;
			}
			return (stamp & READ) != 0 ? readers > 0 ? stamp : 0 : take(true);
		}
	}

	@Override
	public long tryConvertToOptimisticRead(long stamp) {
		super.validate(stamp);
		synchronized (gate) {
			if ((stamp & ~READ) != (state() & ~READ))
				return 0;
			if ((stamp & WRITE) != 0)
				release(false);
			else if ((stamp & READ) != 0 && readers == 0)
				return 0;
			else if ((stamp & READ) != 0)
				release(true);
			return version;
		}
	}

	@Override
	public boolean isWriteLocked() {
		synchronized (gate) {
			return written;
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
		int n = getReadLockCount();
		return Members.name(this) + '@' + Integer.toHexString(hashCode())
			+ (isWriteLocked() ? "[Write-locked]" : n > 0 ? "[Read-locks:" + n + "]"
				: "[Unlocked]");
	}

	/* --- as Lock and ReadWriteLock --- */

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
			if (!l.tryUnlock(shared))
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
		return new ReadWriteLock() {
			@Override
			public Lock readLock() {
				return asReadLock();
			}

			@Override
			public Lock writeLock() {
				return asWriteLock();
			}
		};
	}

	/* --- as a writer --- */

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
	public void unlockWrite(long stamp) {
		unlock(stamp, false);
	}

	@Override
	public boolean tryUnlockWrite() {
		return tryUnlock(false);
	}
}
