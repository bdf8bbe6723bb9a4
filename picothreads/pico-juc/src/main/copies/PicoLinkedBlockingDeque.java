// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

// = PicoArrayBlockingQueue: imports
import java.util.concurrent.LinkedBlockingDeque;

/** LinkedBlockingDeque whose put and take park the pico thread: see QueueGate. */
public class PicoLinkedBlockingDeque<E> extends LinkedBlockingDeque<E> implements Room.Of {
	private static final long serialVersionUID = 1L;
	private transient QueueGate<E> gate = gate();

	public PicoLinkedBlockingDeque() {
		super();
	}

	public PicoLinkedBlockingDeque(int capacity) {
		super(capacity);
	}

	public PicoLinkedBlockingDeque(Collection<? extends E> c) {
		super(c);
	}

	/** The JDK's own: no rule applies inside this class. */
	LinkedBlockingDeque<E> jdks(int n) {
		return new LinkedBlockingDeque<>(n);
	}

	private final class Items extends QueueGate<E> {
		private static final long serialVersionUID = 1L;

		Items() {
			super(PicoLinkedBlockingDeque.this);
		}

		@Override
		boolean in(E e, boolean last) {
			return last ? PicoLinkedBlockingDeque.super.offerLast(e)
				: PicoLinkedBlockingDeque.super.offerFirst(e);
		}

		@Override
		E out(boolean last) {
			return last ? PicoLinkedBlockingDeque.super.pollLast()
				: PicoLinkedBlockingDeque.super.pollFirst();
		}
	}

	// = PicoArrayBlockingQueue: the gate

	// = PicoArrayBlockingQueue: on a stream

	// = PicoLinkedBlockingDeque: at the first; First > Last; false > true

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
	public E remove() {
		return removeFirst();
	}

	@Override
	public void push(E e) {
		addFirst(e);
	}

	@Override
	public E pop() {
		return removeFirst();
	}

	// = PicoArrayBlockingQueue: what else adds or removes

	// = PicoArrayBlockingQueue: by a predicate

	// = PicoArrayBlockingQueue: iterator

	@Override
	public Iterator<E> descendingIterator() {
		return gate().iterator(super.descendingIterator());
	}

	// each: @Override public T m(..) {
	//	Fiber.room(); try { return super.m(..); } finally { gate().changed(); } }
	boolean removeFirstOccurrence(Object o); boolean removeLastOccurrence(Object o);
	boolean addAll(Collection<? extends E> c);

	/* --- at the first --- */

	@Override
	public boolean offerFirst(E e) {
		return gate().offer(e, false);
	}

	@Override
	public void addFirst(E e) {
		gate().add(e, false);
	}

	@Override
	public void putFirst(E e) throws InterruptedException {
		gate().put(e, false);
	}

	@Override
	public boolean offerFirst(E e, long time, TimeUnit unit) throws InterruptedException {
		return gate().offer(e, false, time, unit);
	}

	@Override
	public E takeFirst() throws InterruptedException {
		return gate().take(false);
	}

	@Override
	public E pollFirst() {
		return gate().poll(false);
	}

	@Override
	public E pollFirst(long time, TimeUnit unit) throws InterruptedException {
		return gate().poll(false, time, unit);
	}

	@Override
	public E removeFirst() {
		E e = pollFirst();
		if (e == null)
			throw new java.util.NoSuchElementException();
		return e;
	}
}
