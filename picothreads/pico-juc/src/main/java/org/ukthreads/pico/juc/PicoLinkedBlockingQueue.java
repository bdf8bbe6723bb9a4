package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * LinkedBlockingQueue whose put and take park the pico thread. The elements are kept by the JDK's
 * class, whose own lock is held for a few instructions; who must wait does so at a Gate.
 */
public class PicoLinkedBlockingQueue<E> extends LinkedBlockingQueue<E> {
	private static final long serialVersionUID = 1L;
	private final transient Gate gate = new Gate();

	public PicoLinkedBlockingQueue() {
		super();
	}

	public PicoLinkedBlockingQueue(int capacity) {
		super(capacity);
	}

	public PicoLinkedBlockingQueue(Collection<? extends E> c) {
		super(c);
	}

	/** The JDK's own operation, for the attempts. */
	private boolean in(E e) {
		return super.offer(e);
	}

	private E out() {
		return super.poll();
	}

	private static final class Put<E> extends Gate.Node {
		private final PicoLinkedBlockingQueue<E> q;
		private final E e;

		Put(PicoLinkedBlockingQueue<E> q, E e) {
			super(0);
			this.q = q;
			this.e = java.util.Objects.requireNonNull(e);
		}

		@Override
		boolean attempt() {
			return q.in(e);
		}
	}

	private static final class Take<E> extends Gate.Node {
		private final PicoLinkedBlockingQueue<E> q;
		private E got;

		Take(PicoLinkedBlockingQueue<E> q) {
			super(1);
			this.q = q;
		}

		@Override
		boolean attempt() {
			got = q.out();
			return got != null;
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
	public void put(E e) throws InterruptedException {
		gate.passInterruptibly(new Put<>(this, e));
	}

	@Override
	public boolean offer(E e, long time, TimeUnit unit) throws InterruptedException {
		return gate.passIn(new Put<>(this, e), unit.toNanos(time));
	}

	@Override
	public E take() throws InterruptedException {
		Take<E> t = new Take<>(this);
		gate.passInterruptibly(t);
		return t.got;
	}

	@Override
	public E poll() {
		Take<E> t = new Take<>(this);
		return gate.once(t, true) ? t.got : null;
	}

	@Override
	public E poll(long time, TimeUnit unit) throws InterruptedException {
		Take<E> t = new Take<>(this);
		return gate.passIn(t, unit.toNanos(time)) ? t.got : null;
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

	@Override
	public boolean removeIf(Predicate<? super E> p) {
		boolean b = super.removeIf(p);
		gate.changed();
		return b;
	}
}
