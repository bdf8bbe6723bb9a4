package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * LinkedBlockingDeque whose put and take park the pico thread. The elements are kept by the JDK's
 * class, whose own lock is held for a few instructions; who must wait does so at a Gate.
 */
public class PicoLinkedBlockingDeque<E> extends LinkedBlockingDeque<E> {
	private static final long serialVersionUID = 1L;
	private final transient Gate gate = new Gate();

	public PicoLinkedBlockingDeque() {
		super();
	}

	public PicoLinkedBlockingDeque(int capacity) {
		super(capacity);
	}

	public PicoLinkedBlockingDeque(Collection<? extends E> c) {
		super(c);
	}

	/** The JDK's own operation, for the attempts. */
	private boolean in(E e, boolean last) {
		return last ? super.offerLast(e) : super.offerFirst(e);
	}

	private E out(boolean last) {
		return last ? super.pollLast() : super.pollFirst();
	}

	private static final class Put<E> extends Gate.Node {
		private final PicoLinkedBlockingDeque<E> q;
		private final E e;
		private final boolean last;

		Put(PicoLinkedBlockingDeque<E> q, E e, boolean last) {
			super(0);
			this.q = q;
			this.e = java.util.Objects.requireNonNull(e);
			this.last = last;
		}

		@Override
		boolean attempt() {
			return q.in(e, last);
		}
	}

	private static final class Take<E> extends Gate.Node {
		private final PicoLinkedBlockingDeque<E> q;
		private final boolean last;
		private E got;

		Take(PicoLinkedBlockingDeque<E> q, boolean last) {
			super(1);
			this.q = q;
			this.last = last;
		}

		@Override
		boolean attempt() {
			got = q.out(last);
			return got != null;
		}
	}

	@Override
	public boolean offerFirst(E e) {
		return gate.once(new Put<>(this, e, false), true);
	}

	@Override
	public void addFirst(E e) {
		if (!offerFirst(e))
			throw new IllegalStateException("Deque full");
	}

	@Override
	public void putFirst(E e) throws InterruptedException {
		gate.passInterruptibly(new Put<>(this, e, false));
	}

	@Override
	public boolean offerFirst(E e, long time, TimeUnit unit) throws InterruptedException {
		return gate.passIn(new Put<>(this, e, false), unit.toNanos(time));
	}

	@Override
	public E takeFirst() throws InterruptedException {
		Take<E> t = new Take<>(this, false);
		gate.passInterruptibly(t);
		return t.got;
	}

	@Override
	public E pollFirst() {
		Take<E> t = new Take<>(this, false);
		return gate.once(t, true) ? t.got : null;
	}

	@Override
	public E pollFirst(long time, TimeUnit unit) throws InterruptedException {
		Take<E> t = new Take<>(this, false);
		return gate.passIn(t, unit.toNanos(time)) ? t.got : null;
	}

	@Override
	public boolean offerLast(E e) {
		return gate.once(new Put<>(this, e, true), true);
	}

	@Override
	public void addLast(E e) {
		if (!offerLast(e))
			throw new IllegalStateException("Deque full");
	}

	@Override
	public void putLast(E e) throws InterruptedException {
		gate.passInterruptibly(new Put<>(this, e, true));
	}

	@Override
	public boolean offerLast(E e, long time, TimeUnit unit) throws InterruptedException {
		return gate.passIn(new Put<>(this, e, true), unit.toNanos(time));
	}

	@Override
	public E takeLast() throws InterruptedException {
		Take<E> t = new Take<>(this, true);
		gate.passInterruptibly(t);
		return t.got;
	}

	@Override
	public E pollLast() {
		Take<E> t = new Take<>(this, true);
		return gate.once(t, true) ? t.got : null;
	}

	@Override
	public E pollLast(long time, TimeUnit unit) throws InterruptedException {
		Take<E> t = new Take<>(this, true);
		return gate.passIn(t, unit.toNanos(time)) ? t.got : null;
	}

	@Override
	public boolean add(E e) {
		addLast(e);
		return true;
	}

	@Override
	public boolean offer(E e) {
		return offerLast(e);
	}

	@Override
	public void put(E e) throws InterruptedException {
		putLast(e);
	}

	@Override
	public boolean offer(E e, long time, TimeUnit unit) throws InterruptedException {
		return offerLast(e, time, unit);
	}

	@Override
	public E take() throws InterruptedException {
		return takeFirst();
	}

	@Override
	public E poll() {
		return pollFirst();
	}

	@Override
	public E poll(long time, TimeUnit unit) throws InterruptedException {
		return pollFirst(time, unit);
	}

	@Override
	public boolean removeFirstOccurrence(Object o) {
		boolean b = super.removeFirstOccurrence(o);
		gate.changed();
		return b;
	}

	@Override
	public boolean removeLastOccurrence(Object o) {
		boolean b = super.removeLastOccurrence(o);
		gate.changed();
		return b;
	}

	@Override
	public E remove() {
		return removeFirst();
	}

	@Override
	public E removeFirst() {
		E e = pollFirst();
		if (e == null)
			throw new java.util.NoSuchElementException();
		return e;
	}

	@Override
	public E removeLast() {
		E e = pollLast();
		if (e == null)
			throw new java.util.NoSuchElementException();
		return e;
	}

	@Override
	public void push(E e) {
		addFirst(e);
	}

	@Override
	public E pop() {
		return removeFirst();
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
