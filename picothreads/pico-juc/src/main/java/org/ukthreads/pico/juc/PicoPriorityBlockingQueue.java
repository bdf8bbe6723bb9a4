// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Collection;
import java.util.Comparator;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Room;
import org.ukthreads.pico.Snapshot;

/** PriorityBlockingQueue whose take parks the pico thread: see QueueGate. */
public class PicoPriorityBlockingQueue<E> extends PriorityBlockingQueue<E> implements Room.Of {
	private static final long serialVersionUID = 1L;
	private transient QueueGate<E> gate = gate();

	public PicoPriorityBlockingQueue() {
		super();
	}

	public PicoPriorityBlockingQueue(int capacity) {
		super(capacity);
	}

	public PicoPriorityBlockingQueue(int capacity, Comparator<? super E> order) {
		super(capacity, order);
	}

	public PicoPriorityBlockingQueue(Collection<? extends E> c) {
		super(c);
	}

	private final class Items extends QueueGate<E> {
		private static final long serialVersionUID = 1L;

		Items() {
			super(PicoPriorityBlockingQueue.this);
		}

		@Override
		boolean in(E e, boolean last) {
			return PicoPriorityBlockingQueue.super.offer(e);
		}

		@Override
		E out(boolean last) {
			return PicoPriorityBlockingQueue.super.poll();
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
	public void put(E e) {
		offer(e);
	}

	@Override
	public boolean offer(E e, long time, TimeUnit unit) {
		return offer(e);
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

	/* What else adds or removes: whoever waits looks again. */

	@Override
	public boolean remove(Object o) {
		Fiber.room();
		return gate().changed(super.remove(o));
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
		return gate().changed(super.drainTo(c));
	}

	@Override
	public int drainTo(Collection<? super E> c, int max) {
		Fiber.room();
		return gate().changed(super.drainTo(c, max));
	}

	@Override
	public boolean removeAll(Collection<?> c) {
		Fiber.room();
		return gate().changed(super.removeAll(c));
	}

	@Override
	public boolean retainAll(Collection<?> c) {
		Fiber.room();
		return gate().changed(super.retainAll(c));
	}

	@Override
	public boolean removeIf(Predicate<? super E> p) {
		Fiber.room();
		return gate().changed(super.removeIf(p));
	}
}
