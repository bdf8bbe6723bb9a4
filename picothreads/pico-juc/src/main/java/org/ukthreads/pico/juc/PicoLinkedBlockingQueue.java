// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Collection;
import java.util.Iterator;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Room;
import org.ukthreads.pico.Snapshot;

/** LinkedBlockingQueue whose put and take park the pico thread: see QueueGate. */
public class PicoLinkedBlockingQueue<E> extends LinkedBlockingQueue<E> implements Room.Of {
	private static final long serialVersionUID = 1L;
	private transient QueueGate<E> gate = gate();

	public PicoLinkedBlockingQueue() {
		super();
	}

	public PicoLinkedBlockingQueue(int capacity) {
		super(capacity);
	}

	public PicoLinkedBlockingQueue(Collection<? extends E> c) {
		super(c);
	}

	private final class Items extends QueueGate<E> {
		private static final long serialVersionUID = 1L;

		Items() {
			super(PicoLinkedBlockingQueue.this);
		}

		@Override
		boolean in(E e, boolean last) {
			return PicoLinkedBlockingQueue.super.offer(e);
		}

		@Override
		E out(boolean last) {
			return PicoLinkedBlockingQueue.super.poll();
		}
	}

	/** Null while the superclass's constructor or readObject calls what is ours. */
	private QueueGate<E> gate() {
		return gate != null ? gate : (gate = new Items());
	}

	@Override
	public Room room() {
		return gate();
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

	@Override
	public boolean offer(E e) {
		return gate().offer(e, true);
	}

	@Override
	public boolean add(E e) {
		return gate().add(e, true);
	}

	@Override
	public void put(E e) throws InterruptedException {
		gate().put(e, true);
	}

	@Override
	public boolean offer(E e, long time, TimeUnit unit) throws InterruptedException {
		return gate().offer(e, true, time, unit);
	}

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

	/* What else adds or removes, and may throw in between: whoever waits looks again. */

	@Override
	public boolean remove(Object o) {
		Fiber.room();
		try {
			return super.remove(o);
		} finally {
			gate().changed();
		}
	}

	@Override
	public void clear() {
		Fiber.room();
		super.clear();
		gate().changed();
	}

	@Override
	public int drainTo(Collection<? super E> c) {
		Fiber.room();
		try {
			return super.drainTo(c);
		} finally {
			gate().changed();
		}
	}

	@Override
	public int drainTo(Collection<? super E> c, int max) {
		Fiber.room();
		try {
			return super.drainTo(c, max);
		} finally {
			gate().changed();
		}
	}

	@Override
	public boolean removeAll(Collection<?> c) {
		Fiber.room();
		try {
			return super.removeAll(c);
		} finally {
			gate().changed();
		}
	}

	@Override
	public boolean retainAll(Collection<?> c) {
		Fiber.room();
		try {
			return super.retainAll(c);
		} finally {
			gate().changed();
		}
	}

	@Override
	public boolean removeIf(Predicate<? super E> p) {
		Fiber.room();
		try {
			return super.removeIf(p);
		} finally {
			gate().changed();
		}
	}

	@Override
	public Iterator<E> iterator() {
		return gate().iterator(super.iterator());
	}
}
