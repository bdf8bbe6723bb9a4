// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.concurrent.Delayed;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.TimeUnit;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Room;

/** DelayQueue whose take parks the pico thread: see QueueGate. */
public class PicoDelayQueue<E extends Delayed> extends DelayQueue<E> implements Room.Of {
	private QueueGate<E> gate = gate();

	public PicoDelayQueue() {
		super();
	}

	public PicoDelayQueue(Collection<? extends E> c) {
		super(c);
	}

	private final class Items extends QueueGate<E> {
		private static final long serialVersionUID = 1L;

		Items() {
			super(PicoDelayQueue.this);
		}

		@Override
		boolean in(E e, boolean last) {
			return PicoDelayQueue.super.offer(e);
		}

		@Override
		E out(boolean last) {
			return PicoDelayQueue.super.poll();
		}
	}

	/** Null while the superclass's constructor calls what is ours. */
	private QueueGate<E> gate() {
		return gate != null ? gate : (gate = new Items());
	}

	@Override
	public Room room() {
		return gate();
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
		return first(Long.MAX_VALUE);
	}

	@Override
	public E poll() {
		Fiber.room();
		E e = super.poll();
		if (e != null)
			gate().changed();
		return e;
	}

	@Override
	public E poll(long time, TimeUnit unit) throws InterruptedException {
		return first(Math.max(0, unit.toNanos(time)));
	}

	/**
	 * Waits for the earliest element's time, or for an earlier one to come. nanos
	 * Long.MAX_VALUE: no limit; while there is none, that is no timed wait.
	 */
	private E first(long nanos) throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		boolean ever = nanos == Long.MAX_VALUE;
		long end = System.nanoTime() + nanos;
		for (;;) {
			long left = ever ? nanos : end - System.nanoTime();
			E head = super.peek();
			long wait = head == null ? left
				: Math.min(left, head.getDelay(TimeUnit.NANOSECONDS));
			E e = super.poll();
			if (e != null)
				return e;
			if (left <= 0)
				return null;
			Sooner s = new Sooner(this, head);
			if (!queued(s))
				continue;
			if (ever && head == null)
				gate().awaitInterruptibly(s);
			else
				gate().awaitIn(s, Math.max(1, wait));
		}
	}

	/**
	 * False: the head is another one already. Who is first at the gate waits for the head,
	 * and is asked for all: so nobody queues there for one that is the head no longer.
	 */
	private boolean queued(Sooner s) {
		synchronized (gate()) {
			if (s.attempt())
				return false;
			gate().add(s);
			return true;
		}
	}

	/** The head is another one. */
	private static final class Sooner extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final PicoDelayQueue<?> q;
		private final Object head;

		Sooner(PicoDelayQueue<?> q, Object head) {
			super(1);
			this.q = q;
			this.head = head;
		}

		@Override
		boolean attempt() {
			return q.peekHead() != head;
		}
	}

	private Object peekHead() {
		return super.peek();
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
}
