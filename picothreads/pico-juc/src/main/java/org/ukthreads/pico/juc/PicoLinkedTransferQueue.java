// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.NeverBlocks;
import org.ukthreads.pico.Room;

/**
 * LinkedTransferQueue. The elements are here, each with the waiter for its transfer, if there
 * is one; takers wait at the gate. Before a change, Fiber.room() ensures enough stack to wake
 * other threads and to wait.
 */
public class PicoLinkedTransferQueue<E> extends LinkedTransferQueue<E> implements Room.Of {
	private static final long serialVersionUID = 1L;
	private transient Gate gate = new Gate(this);
	/** Under the gate's guard; in order. */
	private transient Cell<E> head = new Cell<>(null, null);
	private transient Cell<E> tail = head;
	private transient int size;

	/** The first one holds no element. */
	private static final class Cell<E> {
		final E e;
		/** Done when e is taken; null: no thread waits. */
		final Given given;
		Cell<E> next;
		boolean out;

		Cell(E e, Given given) {
			this.e = e;
			this.given = given;
		}
	}

	private static final class Given extends Gate.Node {
		private static final long serialVersionUID = 1L;

		Given() {
			super(0);
		}

		@Override
		boolean attempt() {
			return false;
		}
	}

	private static final class Take<E> extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private final PicoLinkedTransferQueue<E> q;
		private E got;

		Take(PicoLinkedTransferQueue<E> q) {
			super(1);
			this.q = q;
		}

		@Override
		boolean attempt() {
			Cell<E> c = q.head.next;
			if (c == null)
				return false;
			q.drop(q.head, c);
			got = c.e;
			return true;
		}

		@Override
		void undo() {
			Cell<E> c = new Cell<>(got, null);
			c.next = q.head.next;
			q.head.next = c;
			if (c.next == null)
				q.tail = c;
			q.size++;
		}
	}

	public PicoLinkedTransferQueue() {}

	public PicoLinkedTransferQueue(Collection<? extends E> c) {
		addAll(c);
	}

	@Override
	public Room room() {
		return gate;
	}

	/** The JDK's own, for Written: no rule applies inside this class. */
	LinkedTransferQueue<E> jdks() {
		return new LinkedTransferQueue<>(this);
	}

	private void writeObject(ObjectOutputStream s) throws IOException {
		s.defaultWriteObject();
	}

	/** Takes over the elements that super has read. */
	private void readObject(ObjectInputStream s) throws IOException, ClassNotFoundException {
		s.defaultReadObject();
		readObjectNoData();
	}

	/** Also for a subclass that was serialised under the JDK's names. */
	private void readObjectNoData() {
		gate = new Gate(this);
		head = new Cell<>(null, null);
		tail = head;
		for (E e; (e = super.poll()) != null;)
			put(e);
	}

	/** Under the guard. */
	private Cell<E> append(E e, Given g) {
		Cell<E> c = new Cell<>(e, g);
		tail.next = c;
		tail = c;
		size++;
		return c;
	}

	/** Under the guard: removes c, which follows p, and wakes its waiter. */
	private void drop(Cell<E> p, Cell<E> c) {
		p.next = c.next;
		if (tail == c)
			tail = p;
		size--;
		c.out = true;
		if (c.given != null)
			Gate.finish(c.given);
	}

	/** Removes c; false: it was taken. */
	private boolean withdraw(Cell<E> c) {
		Fiber.room();
		return out(c);
	}

	private boolean out(Cell<E> c) {
		synchronized (gate) {
			if (c.out)
				return false;
			for (Cell<E> p = head; p.next != null; p = p.next)
				if (p.next == c) {
					drop(p, c);
					break;
				}
			return true;
		}
	}

	@Override
	public void put(E e) {
		Objects.requireNonNull(e);
		/* Null while super's readObject calls this: super keeps e for now. */
		if (gate == null) {
			super.put(e);
			return;
		}
		Fiber.room();
		synchronized (gate) {
			append(e, null);
			gate.serve();
		}
	}

	@Override
	public boolean offer(E e) {
		if (gate == null)
			return super.offer(e);
		put(e);
		return true;
	}

	@Override
	public boolean offer(E e, long time, TimeUnit unit) {
		return offer(e);
	}

	@Override
	public boolean add(E e) {
		return offer(e);
	}

	/** Null: a taker has it; else the cell to wait for. */
	private Cell<E> give(E e) {
		Objects.requireNonNull(e);
		Fiber.room();
		synchronized (gate) {
			Cell<E> c = append(e, new Given());
			gate.serve();
			return c.out ? null : c;
		}
	}

	@Override
	public void transfer(E e) throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		Cell<E> c = give(e);
		if (c != null)
			await(c, Long.MAX_VALUE);
	}

	@Override
	public boolean tryTransfer(E e) {
		Objects.requireNonNull(e);
		Fiber.room();
		synchronized (gate) {
			if (gate.first(1) == null)
				return false;
			append(e, null);
			gate.serve();
			return true;
		}
	}

	@Override
	public boolean tryTransfer(E e, long time, TimeUnit unit) throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		Cell<E> c = give(e);
		return c == null || await(c, unit.toNanos(time));
	}

	/** False: not taken in time, and withdrawn. */
	private boolean await(Cell<E> c, long nanos) throws InterruptedException {
		long end = System.nanoTime() + Math.max(0, nanos);
		try {
			while (!c.given.done) {
				long left = nanos == Long.MAX_VALUE ? nanos : end - System.nanoTime();
				if (left <= 0)
					return !withdraw(c);
				if (nanos != Long.MAX_VALUE)
					Fiber.parkNanos(left);
				else if (!c.given.inPool())
					Fiber.park();
				if (!c.given.done && Thread.interrupted()) {
					if (withdraw(c))
						throw new InterruptedException();
					Thread.currentThread().interrupt();
				}
			}
			return true;
		} catch (RuntimeException | Error e) {
			/* It could not suspend. */
			out(c);
			throw e;
		}
	}

	@Override
	public E take() throws InterruptedException {
		Fiber.room();
		Take<E> t = new Take<>(this);
		if (!gate.once(t, false))
			gate.passInterruptibly(t);
		return t.got;
	}

	@Override
	public E poll() {
		Fiber.room();
		Take<E> t = new Take<>(this);
		return gate.once(t, true) ? t.got : null;
	}

	@Override
	public E poll(long time, TimeUnit unit) throws InterruptedException {
		Fiber.room();
		Take<E> t = new Take<>(this);
		/* As in the JDK, an interrupt counts only if this has to wait. */
		return gate.once(t, false) || gate.passIn(t, unit.toNanos(time)) ? t.got : null;
	}

	@Override
	public boolean hasWaitingConsumer() {
		return getWaitingConsumerCount() > 0;
	}

	@Override
	public int getWaitingConsumerCount() {
		return gate.waiting(1);
	}

	@Override
	public int drainTo(Collection<? super E> c) {
		return drainTo(c, Integer.MAX_VALUE);
	}

	@Override
	public int drainTo(Collection<? super E> c, int max) {
		Objects.requireNonNull(c);
		if (c == this)
			throw new IllegalArgumentException();
		int n = 0;
		for (E e; n < max && (e = poll()) != null; n++)
			c.add(e);
		return n;
	}

	private List<Cell<E>> cells() {
		synchronized (gate) {
			List<Cell<E>> l = new ArrayList<>(size);
			for (Cell<E> c = head.next; c != null; c = c.next)
				l.add(c);
			return l;
		}
	}

	private List<E> list() {
		List<E> l = new ArrayList<>();
		for (Cell<E> c : cells())
			l.add(c.e);
		return l;
	}

	@Override
	public Iterator<E> iterator() {
		Iterator<Cell<E>> i = cells().iterator();
		return new Iterator<E>() {
			private Cell<E> last;

			@Override
			@NeverBlocks
			public boolean hasNext() {
				return i.hasNext();
			}

			@Override
			@NeverBlocks
			public E next() {
				last = i.next();
				return last.e;
			}

			@Override
			public void remove() {
				if (last == null)
					throw new IllegalStateException();
				withdraw(last);
				last = null;
			}

			@Override
			public void forEachRemaining(Consumer<? super E> c) {
				Objects.requireNonNull(c);
				while (hasNext())
					c.accept(next());
			}
		};
	}

	@Override
	public Spliterator<E> spliterator() {
		return Spliterators.spliterator(list(), Spliterator.ORDERED | Spliterator.NONNULL);
	}

	@Override
	public E peek() {
		synchronized (gate) {
			return head.next == null ? null : head.next.e;
		}
	}

	@Override
	public int size() {
		synchronized (gate) {
			return size;
		}
	}

	@Override
	public boolean isEmpty() {
		return size() == 0;
	}

	@Override
	public boolean contains(Object o) {
		if (o == null)
			return false;
		for (Cell<E> c : cells())
			if (o.equals(c.e))
				return true;
		return false;
	}

	@Override
	public boolean remove(Object o) {
		if (o == null)
			return false;
		for (Cell<E> c : cells())
			if (o.equals(c.e) && withdraw(c))
				return true;
		return false;
	}

	@Override
	public boolean removeIf(Predicate<? super E> p) {
		Objects.requireNonNull(p);
		boolean any = false;
		for (Cell<E> c : cells())
			any |= p.test(c.e) && withdraw(c);
		return any;
	}

	@Override
	public boolean removeAll(Collection<?> c) {
		Objects.requireNonNull(c);
		return removeIf(c::contains);
	}

	@Override
	public boolean retainAll(Collection<?> c) {
		Objects.requireNonNull(c);
		return removeIf(e -> !c.contains(e));
	}

	@Override
	public void clear() {
		for (Cell<E> c : cells())
			withdraw(c);
	}

	@Override
	public void forEach(Consumer<? super E> action) {
		Objects.requireNonNull(action);
		for (E e : list())
			action.accept(e);
	}

	@Override
	public Object[] toArray() {
		return list().toArray();
	}

	@Override
	public <T> T[] toArray(T[] a) {
		return list().toArray(a);
	}

	@Override
	public String toString() {
		return list().toString();
	}
}
