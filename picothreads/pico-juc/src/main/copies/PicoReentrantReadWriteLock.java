// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Members;
import org.ukthreads.pico.Room;
import org.ukthreads.pico.Snapshot;

/**
 * ReentrantReadWriteLock, with its downgrading and re-entry. If it is not fair, a writer takes
 * it when it is free (Gate: patient nodes), a reader does not pass waiting threads.
 */
public class PicoReentrantReadWriteLock extends ReentrantReadWriteLock implements Room.Of {
	private static final long serialVersionUID = 1L;
	private transient Held held;
	private transient Read read = new Read(this);
	private transient Write write = new Write(this);

	public PicoReentrantReadWriteLock() {
		this(false);
	}

	public PicoReentrantReadWriteLock(boolean fair) {
		super(fair);
		held = new Held(this, fair);
	}

	@Override
	public ReadLock readLock() {
		return read;
	}

	@Override
	public WriteLock writeLock() {
		return write;
	}

	/** The holders; under the gate's guard. */
	private static final class Held extends Gate
			implements GateCondition.Exclusive, Room.Owned {
		private static final long serialVersionUID = 2L;
		private final boolean fair;
		private Fiber writer;
		private int writes;
		private final Map<Fiber, int[]> readers = new HashMap<>();

		Held(Object of, boolean fair) {
			super(of);
			this.fair = fair;
		}

		@Override
		public boolean free() {
			return writer == null && readers.isEmpty();
		}

		@Override
		public boolean fair() {
			return fair;
		}

		@Override
		public synchronized Fiber owner() {
			return writer;
		}

		boolean take(Fiber f, boolean shared) {
			if (writer != null && writer != f)
				return false;
			if (shared) {
				readers.computeIfAbsent(f, k -> new int[1])[0]++;
				return true;
			}
			if (writer == null && !readers.isEmpty())
				return false;
			writer = f;
			writes++;
			return true;
		}

		void give(Fiber f, boolean shared) {
			int[] n = shared ? readers.get(f) : null;
			if (!shared && --writes == 0)
				writer = null;
			else if (shared && n[0] == 1)
				readers.remove(f);
			else if (shared)
				n[0]--;
		}

		@Override
		public Gate gate() {
			return this;
		}

		@Override
		public void owned() {
			if (writer != Fiber.current())
				throw new IllegalMonitorStateException();
		}

		@Override
		public int holds() {
			return writes;
		}

		@Override
		public void release() {
			writer = null;
			writes = 0;
			if (head != null)
				serve();
		}

		@Override
		public boolean take(Fiber f, int n) {
			if (writer != null || !readers.isEmpty())
				return false;
			writer = f;
			writes = n;
			return true;
		}
	}

	private static final class Acquire extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final Held held;
		private final boolean shared;

		Acquire(Held held, boolean shared) {
			super(0);
			this.held = held;
			this.shared = shared;
		}

		@Override
		boolean attempt() {
			return held.take(fiber, shared);
		}

		@Override
		void undo() {
			held.give(fiber, shared);
		}

		@Override
		boolean patient() {
			return !shared && !held.fair;
		}

		@Override
		boolean open() {
			return held.free();
		}
	}

	@Override
	public Room room() {
		return held;
	}

	/** The JDK's own, for Written: no rule applies inside this class. */
	static ReentrantReadWriteLock jdks(boolean fair) {
		return new ReentrantReadWriteLock(fair);
	}

	private void writeObject(ObjectOutputStream s) throws IOException {
		s.defaultWriteObject();
		s.writeObject(s instanceof Snapshot ? held : null);
	}

	private void readObject(ObjectInputStream s) throws IOException, ClassNotFoundException {
		s.defaultReadObject();
		Held h = (Held) s.readObject();
		held = h != null ? h : new Held(this, isFair());
		read = new Read(this);
		write = new Write(this);
	}

	/** For a subclass that was serialised under the JDK's names, without our data. */
	private void readObjectNoData() {
		held = new Held(this, isFair());
		read = new Read(this);
		write = new Write(this);
	}

	/** A thread that holds some of it already does not queue behind the waiters. */
	private boolean again(boolean shared) {
		synchronized (held) {
			Fiber me = Fiber.current();
			return (held.writer == me || shared && held.readers.containsKey(me))
				&& held.take(me, shared);
		}
	}

	private void unlock(boolean shared) {
		synchronized (held) {
			Fiber me = Fiber.current();
			if (!shared)
				held.owned();
			else if (!held.readers.containsKey(me))
				throw new IllegalMonitorStateException("not read-locked by this thread");
			held.ready();
			held.give(me, shared);
			if (held.head != null)
				held.serve();
		}
	}

	static final class Read extends ReadLock {
		private static final long serialVersionUID = 1L;
		final transient PicoReentrantReadWriteLock l;

		Read(PicoReentrantReadWriteLock l) {
			super(l);
			this.l = l;
		}

		@Override
		public boolean tryLock() {
			return l.held.once(new Acquire(l.held, true), true);
		}

		@Override
		public String toString() {
			return name(this) + "[Read locks = " + l.getReadLockCount() + "]";
		}

		/* --- locking --- */

		@Override
		public void lock() {
			if (!l.again(true))
				l.held.pass(new Acquire(l.held, true));
		}

		@Override
		public void lockInterruptibly() throws InterruptedException {
			if (Thread.interrupted())
				throw new InterruptedException();
			if (!l.again(true))
				l.held.passInterruptibly(new Acquire(l.held, true));
		}

		@Override
		public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
			if (Thread.interrupted())
				throw new InterruptedException();
			return l.again(true) || l.held.passIn(new Acquire(l.held, true), unit.toNanos(time));
		}

		@Override
		public void unlock() {
			l.unlock(true);
		}
	}

	static final class Write extends WriteLock {
		private static final long serialVersionUID = 1L;
		final transient PicoReentrantReadWriteLock l;

		Write(PicoReentrantReadWriteLock l) {
			super(l);
			this.l = l;
		}

		@Override
		public boolean tryLock() {
			return l.held.once(new Acquire(l.held, false), true);
		}

		// = PicoReentrantReadWriteLock: locking; true > false

		@Override
		public Condition newCondition() {
			return new GateCondition(l.held);
		}

		@Override
		public boolean isHeldByCurrentThread() {
			return l.isWriteLockedByCurrentThread();
		}

		@Override
		public int getHoldCount() {
			return l.getWriteHoldCount();
		}

		@Override
		public String toString() {
			Thread o = l.getOwner();
			return name(this)
				+ (o == null ? "[Unlocked]" : "[Locked by thread " + o.getName() + "]");
		}
	}

	// each: @Override public T m(..) { synchronized (held) { return X; } }
	boolean isWriteLocked() = held.writer != null;
	boolean isWriteLockedByCurrentThread() = held.writer == Fiber.current();
	int getWriteHoldCount() = held.writer == Fiber.current() ? held.writes : 0;

	@Override
	public int getReadHoldCount() {
		synchronized (held) {
			int[] n = held.readers.get(Fiber.current());
			return n == null ? 0 : n[0];
		}
	}

	@Override
	public int getReadLockCount() {
		synchronized (held) {
			int c = 0;
			for (int[] n : held.readers.values())
				c += n[0];
			return c;
		}
	}

	// = PicoReentrantLock: waiters; gate.owner > held.writer; gate > held

	private static String name(Object o) {
		return Members.name(o) + '@' + Integer.toHexString(o.hashCode());
	}

	@Override
	public String toString() {
		return name(this) + "[Write locks = " + writes() + ", Read locks = "
			+ getReadLockCount() + "]";
	}

	private int writes() {
		synchronized (held) {
			return held.writes;
		}
	}
}
