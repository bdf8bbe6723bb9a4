// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

// = PicoArrayBlockingQueue: imports
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;

/** DelayQueue whose take parks the pico thread: see QueueGate. */
public class PicoDelayQueue<E extends Delayed> extends DelayQueue<E> implements Room.Of {
	private QueueGate<E> gate = gate();

	public PicoDelayQueue() {
		super();
	}

	public PicoDelayQueue(Collection<? extends E> c) {
		super(c);
	}

	// = PicoArrayBlockingQueue: what the gate tries

	// = PicoArrayBlockingQueue: the gate

	// = PicoArrayBlockingQueue: in

	// = PicoPriorityBlockingQueue: in at once

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
	 * Waits until the earliest element is due, or for an earlier one to come. nanos
	 * Long.MAX_VALUE: no limit; then a wait at an empty queue is not timed.
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
	 * False: the head is another one already. The gate asks only the first waiter, so none
	 * may queue for an element that is no longer the head.
	 */
	private boolean queued(Sooner s) {
		synchronized (gate()) {
			if (s.attempt())
				return false;
			gate().add(s);
			return true;
		}
	}

	/** Waits until the head is another one. */
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

	// = PicoArrayBlockingQueue: what else adds or removes
}
