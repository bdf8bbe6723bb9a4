// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedList;
import java.util.List;
import java.util.ListIterator;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.RandomAccess;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.Spliterator;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.ukthreads.pico.Pico;

/*
 * The wrappers of Collections.synchronizedList and its like. A program locks them itself to
 * iterate; if it suspends there, that lock is a monitor of ours, and so theirs must be. Apart
 * from that each is as the JDK's of the same name, and views share the mutex as in the JDK.
 *
 * Methods that the JDK's wrappers have since later than Java 8 have no @Override. Others that
 * are new in the interfaces are defaults, which call these methods: each call is atomic.
 *
 * Carriers calls a function in place of a wrapped JDK collection, so that it may suspend.
 * @Pico: the wrapped collection may be the program's and suspend, too.
 *
 * They are serialised as the JDK's wrappers. The stream writes the wrapped collection later
 * and without the lock, so it gets a copy, if there is a clone(), that no thread changes.
 */
@Pico
public abstract class Synchronized implements Mutex, Serializable {
	private static final long serialVersionUID = 1L;

	final transient Mutex mutex;

	/** mutex: null for itself. */
	Synchronized(Mutex mutex) {
		this.mutex = mutex != null ? mutex : this;
	}

	public static <T> Collection<T> synchronizedCollection(Collection<T> c) {
		return new OfCollection<>(Objects.requireNonNull(c), null);
	}

	public static <T> Set<T> synchronizedSet(Set<T> s) {
		return new OfSet<>(Objects.requireNonNull(s), null);
	}

	public static <T> SortedSet<T> synchronizedSortedSet(SortedSet<T> s) {
		return new OfSortedSet<>(Objects.requireNonNull(s), null);
	}

	public static <T> NavigableSet<T> synchronizedNavigableSet(NavigableSet<T> s) {
		return new OfNavigableSet<>(Objects.requireNonNull(s), null);
	}

	public static <T> List<T> synchronizedList(List<T> l) {
		return list(Objects.requireNonNull(l), null);
	}

	public static <K, V> Map<K, V> synchronizedMap(Map<K, V> m) {
		return new SynchronizedMaps.OfMap<>(Objects.requireNonNull(m), null);
	}

	public static <K, V> SortedMap<K, V> synchronizedSortedMap(SortedMap<K, V> m) {
		return new SynchronizedMaps.OfSortedMap<>(Objects.requireNonNull(m), null);
	}

	public static <K, V> NavigableMap<K, V> synchronizedNavigableMap(NavigableMap<K, V> m) {
		return new SynchronizedMaps.OfNavigableMap<>(Objects.requireNonNull(m), null);
	}

	static <T> List<T> list(List<T> l, Mutex mutex) {
		return l instanceof RandomAccess ? new OfRandomAccessList<>(l, mutex)
			: new OfList<>(l, mutex);
	}

	static boolean isJdks(Object o) {
		return o.getClass().getClassLoader() == null;
	}

	/* The JDK's wrapper of each kind: no rule applies inside this class. */

	static Object plain(OfCollection<?> c) {
		Collection<?> in = copy(c.c);
		if (c instanceof OfNavigableSet)
			return Collections.synchronizedNavigableSet((NavigableSet<?>) in);
		if (c instanceof OfSortedSet)
			return Collections.synchronizedSortedSet((SortedSet<?>) in);
		if (c instanceof OfSet)
			return Collections.synchronizedSet((Set<?>) in);
		if (c instanceof OfList)
			return Collections.synchronizedList((List<?>) in);
		return Collections.synchronizedCollection(in);
	}

	static Object plain(SynchronizedMaps.OfMap<?, ?> m) {
		Map<?, ?> in = copy(m.m);
		if (m instanceof SynchronizedMaps.OfNavigableMap)
			return Collections.synchronizedNavigableMap((NavigableMap<?, ?>) in);
		if (m instanceof SynchronizedMaps.OfSortedMap)
			return Collections.synchronizedSortedMap((SortedMap<?, ?>) in);
		return Collections.synchronizedMap(in);
	}

	private static Collection<?> copy(Collection<?> c) {
		if (!isJdks(c))
			return c;
		if (c instanceof ArrayList)
			return (Collection<?>) ((ArrayList<?>) c).clone();
		if (c instanceof LinkedList)
			return (Collection<?>) ((LinkedList<?>) c).clone();
		if (c instanceof HashSet)
			return (Collection<?>) ((HashSet<?>) c).clone();
		if (c instanceof TreeSet)
			return (Collection<?>) ((TreeSet<?>) c).clone();
		return c instanceof ArrayDeque ? ((ArrayDeque<?>) c).clone() : c;
	}

	private static Map<?, ?> copy(Map<?, ?> m) {
		if (!isJdks(m))
			return m;
		if (m instanceof HashMap)
			return (Map<?, ?>) ((HashMap<?, ?>) m).clone();
		return m instanceof TreeMap ? (Map<?, ?>) ((TreeMap<?, ?>) m).clone() : m;
	}

	@Pico
	static class OfCollection<E> extends Synchronized implements Collection<E> {
		private static final long serialVersionUID = 1L;

		final transient Collection<E> c;

		OfCollection(Collection<E> c, Mutex mutex) {
			super(mutex);
			this.c = c;
		}

		// each: @Override public T m(..) { synchronized (mutex) { return c.m(..); } }
		int size(); boolean isEmpty(); boolean contains(Object x);
		boolean containsAll(Collection<?> x);
		Object[] toArray(); <T> T[] toArray(T[] a); String toString();
		boolean add(E e); boolean addAll(Collection<? extends E> x);
		boolean remove(Object x); boolean removeAll(Collection<?> x);
		boolean retainAll(Collection<?> x); void clear();

		/* As in the JDK, the program itself locks for iterators and streams. */

		// each: @Override public T m(..) { return c.m(..); }
		Iterator<E> iterator(); Spliterator<E> spliterator();
		Stream<E> stream(); Stream<E> parallelStream();

		@Override
		public void forEach(Consumer<? super E> f) {
			synchronized (mutex) {
				if (isJdks(c))
					Carriers.forEach(c, f);
				else
					c.forEach(f);
			}
		}

		@Override
		public boolean removeIf(Predicate<? super E> f) {
			synchronized (mutex) {
				return isJdks(c) ? Carriers.removeIf(c, f) : c.removeIf(f);
			}
		}

		final Object writeReplace() {
			synchronized (mutex) {
				return plain(this);
			}
		}
	}

	@Pico
	static class OfSet<E> extends OfCollection<E> implements Set<E> {
		private static final long serialVersionUID = 1L;

		OfSet(Set<E> s, Mutex mutex) {
			super(s, mutex);
		}

		@Override
		public boolean equals(Object o) {
			if (this == o)
				return true;
			synchronized (mutex) {
				return c.equals(o);
			}
		}

		@Override
		public int hashCode() {
			synchronized (mutex) {
				return c.hashCode();
			}
		}
	}

	@Pico
	static class OfSortedSet<E> extends OfSet<E> implements SortedSet<E> {
		private static final long serialVersionUID = 1L;

		private final transient SortedSet<E> s;

		OfSortedSet(SortedSet<E> s, Mutex mutex) {
			super(s, mutex);
			this.s = s;
		}

		// each: @Override public T m(..) { synchronized (mutex) { return s.m(..); } }
		Comparator<? super E> comparator(); E first(); E last();

		// each: @Override public T m(..) { synchronized (mutex) {
		//	return new OfSortedSet<>(s.m(..), mutex); } }
		SortedSet<E> subSet(E from, E to);
		SortedSet<E> headSet(E to); SortedSet<E> tailSet(E from);
	}

	@Pico
	static final class OfNavigableSet<E> extends OfSortedSet<E> implements NavigableSet<E> {
		private static final long serialVersionUID = 1L;

		private final transient NavigableSet<E> s;

		OfNavigableSet(NavigableSet<E> s, Mutex mutex) {
			super(s, mutex);
			this.s = s;
		}

		// each: @Override public T m(..) { synchronized (mutex) { return s.m(..); } }
		E lower(E e); E floor(E e); E ceiling(E e); E higher(E e);
		E pollFirst(); E pollLast();

		@Override
		public Iterator<E> descendingIterator() {
			synchronized (mutex) {
				return s.descendingSet().iterator();
			}
		}

		@Override
		public NavigableSet<E> subSet(E from, E to) {
			synchronized (mutex) {
				return new OfNavigableSet<>(s.subSet(from, true, to, false), mutex);
			}
		}

		@Override
		public NavigableSet<E> headSet(E to) {
			synchronized (mutex) {
				return new OfNavigableSet<>(s.headSet(to, false), mutex);
			}
		}

		@Override
		public NavigableSet<E> tailSet(E from) {
			synchronized (mutex) {
				return new OfNavigableSet<>(s.tailSet(from, true), mutex);
			}
		}

		// each: @Override public T m(..) { synchronized (mutex) {
		//	return new OfNavigableSet<>(s.m(..), mutex); } }
		NavigableSet<E> descendingSet();
		NavigableSet<E> subSet(E from, boolean with, E to, boolean and);
		NavigableSet<E> headSet(E to, boolean and);
		NavigableSet<E> tailSet(E from, boolean with);
	}

	@Pico
	static class OfList<E> extends OfCollection<E> implements List<E> {
		private static final long serialVersionUID = 1L;

		final transient List<E> l;

		OfList(List<E> l, Mutex mutex) {
			super(l, mutex);
			this.l = l;
		}

		@Override
		public boolean equals(Object o) {
			if (this == o)
				return true;
			synchronized (mutex) {
				return l.equals(o);
			}
		}

		// each: @Override public T m(..) { synchronized (mutex) { return l.m(..); } }
		int hashCode(); E get(int k); E set(int k, E e); void add(int k, E e);
		E remove(int k); int indexOf(Object x); int lastIndexOf(Object x);
		boolean addAll(int k, Collection<? extends E> x);

		// each: @Override public T m(..) { return l.m(..); }
		ListIterator<E> listIterator(); ListIterator<E> listIterator(int k);

		@Override
		public List<E> subList(int from, int to) {
			synchronized (mutex) {
				return new OfList<>(l.subList(from, to), mutex);
			}
		}

		// each: @Override public T m(..) { synchronized (mutex) {
		//	if (isJdks(l)) Carriers.m(l, ..); else l.m(..); } }
		void replaceAll(UnaryOperator<E> f); void sort(Comparator<? super E> f);

		/* Of Java 21; each is atomic. */

		public E getFirst() {
			synchronized (mutex) {
				if (l.isEmpty())
					throw new NoSuchElementException();
				return l.get(0);
			}
		}

		public E getLast() {
			synchronized (mutex) {
				if (l.isEmpty())
					throw new NoSuchElementException();
				return l.get(l.size() - 1);
			}
		}

		public E removeFirst() {
			synchronized (mutex) {
				if (l.isEmpty())
					throw new NoSuchElementException();
				return l.remove(0);
			}
		}

		public E removeLast() {
			synchronized (mutex) {
				if (l.isEmpty())
					throw new NoSuchElementException();
				return l.remove(l.size() - 1);
			}
		}

		public void addFirst(E e) {
			synchronized (mutex) {
				l.add(0, e);
			}
		}

		public void addLast(E e) {
			synchronized (mutex) {
				l.add(e);
			}
		}
	}

	@Pico
	static final class OfRandomAccessList<E> extends OfList<E> implements RandomAccess {
		private static final long serialVersionUID = 1L;

		OfRandomAccessList(List<E> l, Mutex mutex) {
			super(l, mutex);
		}

		@Override
		public List<E> subList(int from, int to) {
			synchronized (mutex) {
				return new OfRandomAccessList<>(l.subList(from, to), mutex);
			}
		}
	}
}
