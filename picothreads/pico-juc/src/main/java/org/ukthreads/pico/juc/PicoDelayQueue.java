package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.concurrent.Delayed;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.TimeUnit;

/**
 * DelayQueue whose put and take park the pico thread. The elements are kept by the JDK's
 * class, whose own lock is held for a few instructions; who must wait does so at a Gate.
 */
public class PicoDelayQueue<E extends Delayed> extends DelayQueue<E> {
	private final Gate gate = new Gate();

	public PicoDelayQueue() {
		super();
	}

	public PicoDelayQueue(Collection<? extends E> c) {
		super(c);
	}

	/** The JDK's own operation, for the attempts. */
	private boolean in(E e) {
		return super.offer(e);
	}

	private static final class Put<E extends Delayed> extends Gate.Node {
		private final PicoDelayQueue<E> q;
		private final E e;

		Put(PicoDelayQueue<E> q, E e) {
			super(0);
			this.q = q;
			this.e = java.util.Objects.requireNonNull(e);
		}

		@Override
		boolean attempt() {
			return q.in(e);
		}
	}

	@Override
	public boolean offer(E e) {
		return gate.once(new Put<>(this, e), true);
	}

	@Override
	public boolean add(E e) {
		if (!offer(e))
			throw new IllegalStateException("full");
		return true;
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
		for (;;) {
			E e = poll(Long.MAX_VALUE / 2, TimeUnit.NANOSECONDS);
			if (e != null)
				return e;
		}
	}

	@Override
	public E poll() {
		E e = super.poll();
		if (e != null)
			gate.changed();
		return e;
	}

	/** Waits for the earliest element's time, or for an earlier one to come. */
	@Override
	public E poll(long time, TimeUnit unit) throws InterruptedException {
		long end = System.nanoTime() + unit.toNanos(time);
		for (;;) {
			long left = end - System.nanoTime();
			E head = super.peek();
			long wait = head == null ? left
				: Math.min(left, head.getDelay(TimeUnit.NANOSECONDS));
			E e = super.poll();
			if (e != null)
				return e;
			if (left <= 0)
				return null;
			Sooner s = new Sooner(this, head);
			gate.passIn(s, Math.max(1, wait));
		}
	}

	/** The head is another one. */
	private static final class Sooner extends Gate.Node {
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
		boolean b = super.remove(o);
		if (b)
			gate.changed();
		return b;
	}

	@Override
	public void clear() {
		super.clear();
		gate.changed();
	}

	@Override
	public int drainTo(Collection<? super E> c) {
		int n = super.drainTo(c);
		gate.changed();
		return n;
	}

	@Override
	public int drainTo(Collection<? super E> c, int max) {
		int n = super.drainTo(c, max);
		gate.changed();
		return n;
	}

	@Override
	public boolean removeAll(Collection<?> c) {
		boolean b = super.removeAll(c);
		gate.changed();
		return b;
	}

	@Override
	public boolean retainAll(Collection<?> c) {
		boolean b = super.retainAll(c);
		gate.changed();
		return b;
	}
}
