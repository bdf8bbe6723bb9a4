// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Collection;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.ukthreads.pico.Room;
import org.ukthreads.pico.Snapshot;

/** SynchronousQueue: a put ends when a take has the element. First come, first served. */
public class PicoSynchronousQueue<E> extends SynchronousQueue<E> implements Room.Of {
	private static final long serialVersionUID = 2L;
	private transient Gate gate = new Gate(this);
	private final boolean fair;
	/** Loaded from a snapshot: other loaded objects refer to this very object. */
	private transient boolean kept;

	public PicoSynchronousQueue() {
		this(false);
	}

	public PicoSynchronousQueue(boolean fair) {
		super(fair);
		this.fair = fair;
	}

	@Override
	public Room room() {
		return gate;
	}

	/** The JDK's own, for Written: no rule applies inside this class. */
	SynchronousQueue<E> jdks() {
		return new SynchronousQueue<>(fair);
	}

	private void writeObject(ObjectOutputStream s) throws IOException {
		s.defaultWriteObject();
		s.writeBoolean(s instanceof Snapshot);
	}

	private void readObject(ObjectInputStream s) throws IOException, ClassNotFoundException {
		s.defaultReadObject();
		gate = new Gate(this);
		kept = s.readBoolean();
	}

	/** Java 25 does not serialise what its fairness depends on: a new queue is made. */
	private Object readResolve() {
		return kept ? this : new PicoSynchronousQueue<E>(fair);
	}

	/** For a subclass that was serialised under the JDK's names, without our data. */
	private void readObjectNoData() {
		gate = new Gate(this);
	}

	private static final class Put extends Gate.Node {
		private final Gate gate;
		private final Object e;

		Put(Gate gate, Object e) {
			super(0);
			this.gate = gate;
			this.e = java.util.Objects.requireNonNull(e);
		}

		@Override
		boolean attempt() {
			Take t = (Take) gate.first(1);
			if (t == null)
				return false;
			gate.remove(t);
			t.got = e;
			Gate.finish(t);
			return true;
		}
	}

	private static final class Take extends Gate.Node {
		private final Gate gate;
		private Object got;

		Take(Gate gate) {
			super(1);
			this.gate = gate;
		}

		@Override
		boolean attempt() {
			Put p = (Put) gate.first(0);
			if (p == null)
				return false;
			gate.remove(p);
			got = p.e;
			Gate.finish(p);
			return true;
		}

		/** The thread that put it has gone; the next taker gets it. */
		@Override
		void undo() {
			Put p = new Put(gate, got);
			if (!p.attempt())
				gate.addFirst(p);
		}
	}

	@Override
	public void put(E e) throws InterruptedException {
		gate.passInterruptibly(new Put(gate, e));
	}

	@Override
	public boolean offer(E e) {
		return gate.once(new Put(gate, e), true);
	}

	@Override
	public boolean offer(E e, long time, TimeUnit unit) throws InterruptedException {
		return gate.passIn(new Put(gate, e), unit.toNanos(time));
	}

	@Override
	@SuppressWarnings("unchecked")
	public E take() throws InterruptedException {
		Take t = new Take(gate);
		gate.passInterruptibly(t);
		return (E) t.got;
	}

	@Override
	@SuppressWarnings("unchecked")
	public E poll() {
		Take t = new Take(gate);
		return gate.once(t, true) ? (E) t.got : null;
	}

	@Override
	@SuppressWarnings("unchecked")
	public E poll(long time, TimeUnit unit) throws InterruptedException {
		Take t = new Take(gate);
		return gate.passIn(t, unit.toNanos(time)) ? (E) t.got : null;
	}

	@Override
	public int drainTo(Collection<? super E> c) {
		return drainTo(c, Integer.MAX_VALUE);
	}

	@Override
	public int drainTo(Collection<? super E> c, int max) {
		java.util.Objects.requireNonNull(c);
		if (c == this)
			throw new IllegalArgumentException();
		int n = 0;
		for (E e; n < max && (e = poll()) != null; n++)
			c.add(e);
		return n;
	}
}
