// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.ukthreads.pico.NeverBlocks;

/**
 * What the blocking queues share. Puts and takes are attempts on the JDK's own queue, which
 * keeps the elements and holds its lock for a few instructions; threads that must wait do so
 * here (the states of a waiter: Gate). Kind 0 puts, kind 1 takes. Each queue extends another
 * class of the JDK, so other common text is copied from PicoArrayBlockingQueue.
 */
abstract class QueueGate<E> extends Gate {
	private static final long serialVersionUID = 1L;

	QueueGate(Object of) {
		super(of);
	}

	/** The JDK's own operations. last: at which end, for a deque. */
	abstract boolean in(E e, boolean last);

	/** Null: there is no element. */
	abstract E out(boolean last);

	private static final class Put<E> extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final QueueGate<E> gate;
		private final E e;
		private final boolean last;

		Put(QueueGate<E> gate, E e, boolean last) {
			super(0);
			this.gate = gate;
			this.e = Objects.requireNonNull(e);
			this.last = last;
		}

		@Override
		boolean attempt() {
			return gate.in(e, last);
		}
	}

	private static final class Take<E> extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final QueueGate<E> gate;
		private final boolean last;
		private E got;

		Take(QueueGate<E> gate, boolean last) {
			super(1);
			this.gate = gate;
			this.last = last;
		}

		@Override
		boolean attempt() {
			got = gate.out(last);
			return got != null;
		}

		@Override
		void undo() {
			gate.back(got, last);
		}
	}

	/**
	 * Under the guard: e, taken for a thread that could not wait, becomes the first again at
	 * that end. If the queue is full by now, the element at the other end waits in a Put.
	 */
	private void back(E e, boolean last) {
		List<E> all = new ArrayList<>();
		for (E x = e; x != null; x = out(last))
			all.add(x);
		for (E x : all)
			if (!in(x, !last))
				addFirst(new Put<>(this, x, !last));
	}

	final boolean offer(E e, boolean last) {
		return once(new Put<>(this, e, last), true);
	}

	final boolean add(E e, boolean last) {
		if (!offer(e, last))
			throw new IllegalStateException("queue full");
		return true;
	}

	final void put(E e, boolean last) throws InterruptedException {
		passInterruptibly(new Put<>(this, e, last));
	}

	final boolean offer(E e, boolean last, long time, TimeUnit unit)
			throws InterruptedException {
		return passIn(new Put<>(this, e, last), unit.toNanos(time));
	}

	final E take(boolean last) throws InterruptedException {
		Take<E> t = new Take<>(this, last);
		passInterruptibly(t);
		return t.got;
	}

	final E poll(boolean last) {
		Take<E> t = new Take<>(this, last);
		return once(t, true) ? t.got : null;
	}

	final E poll(boolean last, long time, TimeUnit unit) throws InterruptedException {
		Take<E> t = new Take<>(this, last);
		return passIn(t, unit.toNanos(time)) ? t.got : null;
	}

	/** The JDK's iterator, which calls no code of the program; a removal may let a put in. */
	final Iterator<E> iterator(Iterator<E> i) {
		return new Iterator<E>() {
			@Override
			@NeverBlocks
			public boolean hasNext() {
				return i.hasNext();
			}

			@Override
			@NeverBlocks
			public E next() {
				return i.next();
			}

			@Override
			@NeverBlocks
			public void remove() {
				i.remove();
				changed();
			}

			@Override
			public void forEachRemaining(Consumer<? super E> c) {
				i.forEachRemaining(c);
			}
		};
	}
}
