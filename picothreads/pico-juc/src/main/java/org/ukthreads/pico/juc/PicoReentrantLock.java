// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Members;
import org.ukthreads.pico.Room;
import org.ukthreads.pico.Snapshot;

/** ReentrantLock. The first comer gets one that is not fair (Gate: patient nodes). */
public class PicoReentrantLock extends ReentrantLock implements Room.Of {
	private static final long serialVersionUID = 1L;
	private transient Held gate;

	public PicoReentrantLock() {
		this(false);
	}

	public PicoReentrantLock(boolean fair) {
		super(fair);
		gate = new Held(this, fair);
	}

	/** The owner and its holds; under the guard. */
	private static final class Held extends Gate
			implements GateCondition.Exclusive, Room.Owned {
		private static final long serialVersionUID = 2L;
		private final boolean fair;
		private Fiber owner;
		private int holds;

		Held(PicoReentrantLock of, boolean fair) {
			super(of);
			this.fair = fair;
		}

		@Override
		public boolean free() {
			return owner == null;
		}

		@Override
		public boolean fair() {
			return fair;
		}

		@Override
		public synchronized Fiber owner() {
			return owner;
		}

		@Override
		public Gate gate() {
			return this;
		}

		@Override
		public void owned() {
			if (owner != Fiber.current())
				throw new IllegalMonitorStateException();
		}

		@Override
		public int holds() {
			return holds;
		}

		@Override
		public void release() {
			owner = null;
			holds = 0;
			if (head != null)
				serve();
		}

		@Override
		public boolean take(Fiber f, int n) {
			if (owner != null)
				return false;
			owner = f;
			holds = n;
			return true;
		}
	}

	private static final class Acquire extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final Held lock;

		Acquire(Held lock) {
			super(0);
			this.lock = lock;
		}

		@Override
		boolean attempt() {
			return lock.take(fiber, 1);
		}

		@Override
		void undo() {
			lock.release();
		}

		@Override
		boolean patient() {
			return !lock.fair;
		}

		@Override
		boolean open() {
			return lock.owner == null;
		}
	}

	@Override
	public Room room() {
		return gate;
	}

	/** The JDK's own, for Written: no rule applies inside this class. */
	static ReentrantLock jdks(boolean fair) {
		return new ReentrantLock(fair);
	}

	private void writeObject(ObjectOutputStream s) throws IOException {
		s.defaultWriteObject();
		s.writeObject(s instanceof Snapshot ? gate : null);
	}

	private void readObject(ObjectInputStream s) throws IOException, ClassNotFoundException {
		s.defaultReadObject();
		Held h = (Held) s.readObject();
		gate = h != null ? h : new Held(this, isFair());
	}

	/** For a subclass that was serialised under the JDK's names, without our data. */
	private void readObjectNoData() {
		gate = new Held(this, isFair());
	}

	private boolean again() {
		synchronized (gate) {
			if (gate.owner != Fiber.current())
				return false;
			if (++gate.holds < 0)
				throw new Error("Maximum lock count exceeded");
			return true;
		}
	}

	@Override
	public void lock() {
		if (!again())
			gate.pass(new Acquire(gate));
	}

	@Override
	public void lockInterruptibly() throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		if (!again())
			gate.passInterruptibly(new Acquire(gate));
	}

	@Override
	public boolean tryLock() {
		return again() || gate.once(new Acquire(gate), true);
	}

	@Override
	public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		return again() || gate.passIn(new Acquire(gate), unit.toNanos(time));
	}

	@Override
	public void unlock() {
		synchronized (gate) {
			gate.owned();
			gate.ready();
			if (gate.holds == 1)
				gate.release();
			else
				gate.holds--;
		}
	}

	@Override
	public Condition newCondition() {
		return new GateCondition(gate);
	}

	@Override
	public int getHoldCount() {
		synchronized (gate) {
			return gate.owner == Fiber.current() ? gate.holds : 0;
		}
	}

	@Override
	public boolean isHeldByCurrentThread() {
		return getHoldCount() > 0;
	}

	@Override
	public boolean isLocked() {
		synchronized (gate) {
			return gate.owner != null;
		}
	}

	@Override
	public String toString() {
		Thread o = getOwner();
		return Members.name(this) + '@' + Integer.toHexString(hashCode())
			+ (o == null ? "[Unlocked]" : "[Locked by thread " + o.getName() + "]");
	}

	/* --- waiters --- */

	@Override
	protected Thread getOwner() {
		synchronized (gate) {
			return gate.owner == null ? null : gate.owner.asThread();
		}
	}

	@Override
	protected Collection<Thread> getQueuedThreads() {
		return gate.threads(0);
	}

	@Override
	public boolean hasWaiters(Condition c) {
		return getWaitQueueLength(c) > 0;
	}

	@Override
	public int getWaitQueueLength(Condition c) {
		return getWaitingThreads(c).size();
	}

	@Override
	protected Collection<Thread> getWaitingThreads(Condition c) {
		return GateCondition.waiters(gate, c);
	}
}
