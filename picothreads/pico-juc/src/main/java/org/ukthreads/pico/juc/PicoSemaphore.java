// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Collection;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.ukthreads.pico.Members;
import org.ukthreads.pico.Room;
import org.ukthreads.pico.Snapshot;

/** Semaphore. The first comer gets the permits of one that is not fair (Gate). */
public class PicoSemaphore extends Semaphore implements Room.Of {
	private static final long serialVersionUID = 1L;
	private transient Gate gate = new Gate(this);
	private int permits;

	public PicoSemaphore(int permits) {
		this(permits, false);
	}

	public PicoSemaphore(int permits, boolean fair) {
		super(permits, fair);
		this.permits = permits;
	}

	@Override
	public Room room() {
		return gate;
	}

	/** The JDK's own, for Written: no rule applies inside this class. */
	Semaphore jdks() {
		return new Semaphore(availablePermits(), isFair());
	}

	private void writeObject(ObjectOutputStream s) throws IOException {
		s.defaultWriteObject();
		s.writeObject(s instanceof Snapshot ? gate : null);
	}

	private void readObject(ObjectInputStream s) throws IOException, ClassNotFoundException {
		s.defaultReadObject();
		Gate g = (Gate) s.readObject();
		gate = g != null ? g : new Gate(this);
	}

	/** For a subclass that was serialised under the JDK's names, without our data. */
	private void readObjectNoData() {
		gate = new Gate(this);
		permits = super.availablePermits();
	}

	private static final class Take extends Gate.Node {
		private final PicoSemaphore of;
		private final int n;

		Take(PicoSemaphore of, int n) {
			super(0);
			this.of = of;
			this.n = n;
		}

		@Override
		boolean attempt() {
			if (of.permits < n)
				return false;
			of.permits -= n;
			return true;
		}

		@Override
		void undo() {
			of.permits += n;
		}

		@Override
		boolean patient() {
			return !of.isFair();
		}

		@Override
		boolean open() {
			return of.permits >= n;
		}
	}

	private Take take(int n) {
		if (n < 0)
			throw new IllegalArgumentException();
		return new Take(this, n);
	}

	@Override
	public void acquire() throws InterruptedException {
		acquire(1);
	}

	@Override
	public void acquire(int n) throws InterruptedException {
		Take t = take(n);
		if (Thread.interrupted())
			throw new InterruptedException();
		gate.passInterruptibly(t);
	}

	@Override
	public void acquireUninterruptibly() {
		acquireUninterruptibly(1);
	}

	@Override
	public void acquireUninterruptibly(int n) {
		Take t = take(n);
		gate.pass(t);
	}

	@Override
	public boolean tryAcquire() {
		return gate.once(take(1), true);
	}

	@Override
	public boolean tryAcquire(int n) {
		return gate.once(take(n), true);
	}

	@Override
	public boolean tryAcquire(long time, TimeUnit unit) throws InterruptedException {
		return tryAcquire(1, time, unit);
	}

	@Override
	public boolean tryAcquire(int n, long time, TimeUnit unit) throws InterruptedException {
		Take t = take(n);
		if (Thread.interrupted())
			throw new InterruptedException();
		return gate.passIn(t, unit.toNanos(time));
	}

	@Override
	public void release() {
		release(1);
	}

	@Override
	public void release(int n) {
		if (n < 0)
			throw new IllegalArgumentException();
		synchronized (gate) {
			if (permits + n < permits)
				throw new Error("Maximum permit count exceeded");
			gate.ready();
			permits += n;
			if (gate.head != null)
				gate.serve();
		}
	}

	@Override
	public int availablePermits() {
		synchronized (gate) {
			return permits;
		}
	}

	@Override
	public int drainPermits() {
		synchronized (gate) {
			int n = permits;
			permits = 0;
			return n;
		}
	}

	@Override
	protected void reducePermits(int n) {
		if (n < 0)
			throw new IllegalArgumentException();
		synchronized (gate) {
			if (permits - n > permits)
				throw new Error("Permit count underflow");
			permits -= n;
		}
	}

	@Override
	protected Collection<Thread> getQueuedThreads() {
		return gate.threads(0);
	}

	@Override
	public String toString() {
		return Members.name(this) + '@' + Integer.toHexString(hashCode()) + "[Permits = "
			+ availablePermits() + "]";
	}
}
