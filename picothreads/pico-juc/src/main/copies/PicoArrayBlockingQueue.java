// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Collection;
import java.util.Iterator;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Room;
import org.ukthreads.pico.Snapshot;

/**
 * ArrayBlockingQueue whose put and take park the pico thread: see QueueGate. The other queues
 * copy sections of it: src/main/copies.
 */
public class PicoArrayBlockingQueue<E> extends ArrayBlockingQueue<E> implements Room.Of {
	private static final long serialVersionUID = 1L;
	private transient QueueGate<E> gate = gate();

	public PicoArrayBlockingQueue(int capacity) {
		super(capacity);
	}

	public PicoArrayBlockingQueue(int capacity, boolean fair) {
		super(capacity, fair);
	}

	public PicoArrayBlockingQueue(int capacity, boolean fair, Collection<? extends E> c) {
		super(capacity, fair, c);
	}

	/** The JDK's own: no rule applies inside this class. */
	ArrayBlockingQueue<E> jdks(int n) throws IOException {
		return new ArrayBlockingQueue<>(n, Resolved.isFair(this));
	}

	/* --- what the gate tries --- */

	private final class Items extends QueueGate<E> {
		private static final long serialVersionUID = 1L;

		Items() {
			super(PicoArrayBlockingQueue.this);
		}

		@Override
		boolean in(E e, boolean last) {
			return PicoArrayBlockingQueue.super.offer(e);
		}

		@Override
		E out(boolean last) {
			return PicoArrayBlockingQueue.super.poll();
		}
	}

	/* --- the gate --- */

	/** The field is null while the superclass's constructor or readObject calls us. */
	private QueueGate<E> gate() {
		return gate != null ? gate : (gate = new Items());
	}

	@Override
	public Room room() {
		return gate();
	}

	/* --- on a stream --- */

	/** The JDK's own, for Written. Under the guard iterators may remove, but nothing adds. */
	Collection<E> jdks() throws IOException {
		int free;
		Object[] all;
		synchronized (gate()) {
			do {
				free = super.remainingCapacity();
				all = super.toArray();
			} while (free != super.remainingCapacity());
		}
		Collection<E> c = jdks(free + all.length);
		for (Object e : all)
			c.add(cast(e));
		return c;
	}

	@SuppressWarnings("unchecked")
	private E cast(Object o) {
		return (E) o;
	}

	private void writeObject(ObjectOutputStream s) throws IOException {
		s.defaultWriteObject();
		s.writeObject(s instanceof Snapshot ? gate : null);
	}

	@SuppressWarnings("unchecked")
	private void readObject(ObjectInputStream s) throws IOException, ClassNotFoundException {
		s.defaultReadObject();
		QueueGate<E> g = (QueueGate<E>) s.readObject();
		gate = g != null ? g : gate();
	}

	/** For a subclass that was serialised under the JDK's names, without our data. */
	private void readObjectNoData() {
		gate = gate();
	}

	/* --- in --- */

	@Override
	public boolean offer(E e) {
		return gate().offer(e, true);
	}

	@Override
	public boolean add(E e) {
		return gate().add(e, true);
	}

	/* --- in, where there may be no room --- */

	@Override
	public void put(E e) throws InterruptedException {
		gate().put(e, true);
	}

	@Override
	public boolean offer(E e, long time, TimeUnit unit) throws InterruptedException {
		return gate().offer(e, true, time, unit);
	}

	/* --- out --- */

	@Override
	public E take() throws InterruptedException {
		return gate().take(true);
	}

	@Override
	public E poll() {
		return gate().poll(true);
	}

	@Override
	public E poll(long time, TimeUnit unit) throws InterruptedException {
		return gate().poll(true, time, unit);
	}

	/* --- what else adds or removes --- */

	/* They may throw halfway: waiters are served all the same. */

	// each: @Override public T m(..) {
	//	Fiber.room(); try { return super.m(..); } finally { gate().changed(); } }
	boolean remove(Object o); int drainTo(Collection<? super E> c);
	int drainTo(Collection<? super E> c, int max); boolean removeAll(Collection<?> c);
	boolean retainAll(Collection<?> c);

	@Override
	public void clear() {
		Fiber.room();
		super.clear();
		gate().changed();
	}

	/* --- by a predicate --- */

	@Override
	public boolean removeIf(Predicate<? super E> p) {
		Fiber.room();
		try {
			return super.removeIf(p);
		} finally {
			gate().changed();
		}
	}

	/* --- iterator --- */

	@Override
	public Iterator<E> iterator() {
		return gate().iterator(super.iterator());
	}
}
