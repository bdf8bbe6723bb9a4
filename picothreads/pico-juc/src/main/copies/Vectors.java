// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ConcurrentModificationException;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.ListIterator;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.function.Consumer;
import org.ukthreads.pico.Pico;

/** The JDK's iterators of Vector, Stack and Hashtable, with our lock where they take theirs. */
final class Vectors {
	private Vectors() {}

	@Pico
	static class Itr<E> implements Iterator<E> {
		final Mutex mutex;
		private final Iterator<E> i;

		Itr(Mutex mutex, Iterator<E> i) {
			this.mutex = mutex;
			this.i = i;
		}

		@Override
		public final boolean hasNext() {
			return i.hasNext();
		}

		// each: @Override public final T m(..) { synchronized (mutex) { return i.m(..); } }
		E next(); void remove();

		@Override
		public final void forEachRemaining(Consumer<? super E> f) {
			Objects.requireNonNull(f);
			synchronized (mutex) {
				while (i.hasNext())
					f.accept(i.next());
			}
		}
	}

	@Pico
	static final class ListItr<E> extends Itr<E> implements ListIterator<E> {
		private final ListIterator<E> i;

		ListItr(Mutex mutex, ListIterator<E> i) {
			super(mutex, i);
			this.i = i;
		}

		// each: @Override public T m(..) { return i.m(..); }
		boolean hasPrevious(); int nextIndex(); int previousIndex();

		// each: @Override public T m(..) { synchronized (mutex) { return i.m(..); } }
		E previous(); void set(E e); void add(E e);
	}

	@Pico
	static final class Elements<E> implements Enumeration<E> {
		private final Mutex mutex;
		private final Enumeration<E> e;

		Elements(Mutex mutex, Enumeration<E> e) {
			this.mutex = mutex;
			this.e = e;
		}

		@Override
		public boolean hasMoreElements() {
			return e.hasMoreElements();
		}

		@Override
		public E nextElement() {
			synchronized (mutex) {
				return e.nextElement();
			}
		}
	}

	/** Throws if the iterator's collection has changed; works once for each element. */
	static void check(Iterator<?> i) {
		try {
			i.next();
		} catch (NoSuchElementException e) {
			/* The collection is still empty. */
		}
	}

	static void check(int was, int modCount) {
		if (was != modCount)
			throw new ConcurrentModificationException();
	}
}
