// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.List;
import java.util.ListIterator;
import java.util.Objects;
import java.util.Spliterator;
import java.util.Vector;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.ukthreads.pico.Pico;

/*
 * java.util.Vector under a monitor of ours, which the program's own locks on it use: each
 * method that the JDK synchronizes, with the JDK's (and its lock) inside. It adds no
 * serialised fields, because this class may be missing where a program's subclass is read.
 * Its spliterator() takes the JDK's lock at the first element.
 *
 * What later JDKs add to List and not to Vector (getFirst, reversed) calls these methods.
 */
@Pico
public class PicoVector<E> extends Vector<E> implements Mutex {
	private static final long serialVersionUID = 1L;

	public PicoVector() {}

	public PicoVector(int capacity) {
		super(capacity);
	}

	public PicoVector(int capacity, int increment) {
		super(capacity, increment);
	}

	public PicoVector(Collection<? extends E> c) {
		super(c);
	}

	/* --- each under the monitor --- */

	// each: @Override public synchronized T m(..) { return super.m(..); }
	int size(); int capacity(); boolean isEmpty();
	void setSize(int n); void ensureCapacity(int n); void trimToSize();
	int indexOf(Object x, int k);
	int lastIndexOf(Object x); int lastIndexOf(Object x, int k);
	E get(int k); E elementAt(int k); E firstElement(); E lastElement();
	E set(int k, E e); void setElementAt(E e, int k);
	boolean add(E e); void addElement(E e); void insertElementAt(E e, int k);
	E remove(int k); void removeElementAt(int k);
	boolean removeElement(Object x); void removeAllElements();
	void copyInto(Object[] to); Object[] toArray(); <T> T[] toArray(T[] a);
	Object clone(); boolean equals(Object x); int hashCode(); String toString();
	Spliterator<E> spliterator();

	/* Methods that only call others: the JDK's would be a frame between, which pins. */

	@Override
	public boolean contains(Object x) {
		return indexOf(x, 0) >= 0;
	}

	@Override
	public int indexOf(Object x) {
		return indexOf(x, 0);
	}

	@Override
	public boolean remove(Object x) {
		return removeElement(x);
	}

	@Override
	public void add(int k, E e) {
		insertElementAt(e, k);
	}

	@Override
	public void clear() {
		removeAllElements();
	}

	@Override
	public Stream<E> stream() {
		return StreamSupport.stream(spliterator(), false);
	}

	@Override
	public synchronized boolean containsAll(Collection<?> c) {
		for (Object x : c)
			if (!contains(x))
				return false;
		return true;
	}

	@Override
	public boolean addAll(Collection<? extends E> c) {
		return append(c.toArray());
	}

	@SuppressWarnings("unchecked")
	private synchronized boolean append(Object[] a) {
		return super.addAll((List<E>) Arrays.asList(a));
	}

	@Override
	@SuppressWarnings("unchecked")
	public synchronized boolean addAll(int k, Collection<? extends E> c) {
		return super.addAll(k, (List<E>) Arrays.asList(c.toArray()));
	}

	@Override
	public boolean removeAll(Collection<?> c) {
		Objects.requireNonNull(c);
		return removeTogether(c::contains);
	}

	@Override
	public boolean retainAll(Collection<?> c) {
		Objects.requireNonNull(c);
		return removeTogether(e -> !c.contains(e));
	}

	@Override
	protected synchronized void removeRange(int from, int to) {
		super.removeRange(from, to);
	}

	@Override
	public synchronized List<E> subList(int from, int to) {
		return Synchronized.list(super.subList(from, to), this);
	}

	@Override
	public synchronized Iterator<E> iterator() {
		return new Vectors.Itr<>(this, super.iterator());
	}

	// each: @Override public synchronized T m(..) {
	//	return new Vectors.ListItr<>(this, super.m(..)); }
	ListIterator<E> listIterator(); ListIterator<E> listIterator(int k);

	@Override
	public Enumeration<E> elements() {
		return new Vectors.Elements<>(this, super.elements());
	}

	/* Functions are called here, not below a JDK frame. */

	@Override
	public synchronized void forEach(Consumer<? super E> f) {
		Objects.requireNonNull(f);
		int was = modCount;
		Object[] a = elementData;
		int n = elementCount;
		for (int k = 0; modCount == was && k < n; k++)
			f.accept(cast(a[k]));
		Vectors.check(was, modCount);
	}

	@Override
	public boolean removeIf(Predicate<? super E> f) {
		Objects.requireNonNull(f);
		return removeTogether(f);
	}

	/** Tests all elements first. */
	private synchronized boolean removeTogether(Predicate<? super E> f) {
		int was = modCount;
		Object[] a = elementData;
		int n = elementCount;
		BitSet goes = new BitSet(n);
		for (int k = 0; k < n; k++)
			goes.set(k, f.test(cast(a[k])));
		Vectors.check(was, modCount);
		int[] next = {0};
		return super.removeIf(e -> goes.get(next[0]++));
	}

	@Override
	public synchronized void replaceAll(UnaryOperator<E> f) {
		Objects.requireNonNull(f);
		int was = modCount;
		Object[] a = elementData;
		int n = elementCount;
		for (int k = 0; modCount == was && k < n; k++)
			a[k] = f.apply(cast(a[k]));
		Vectors.check(was, modCount);
		modCount++;
	}

	@Override
	@SuppressWarnings("unchecked")
	public synchronized void sort(Comparator<? super E> f) {
		int was = modCount;
		Object[] a = Arrays.copyOf(elementData, elementCount);
		Carriers.sort(a, (Comparator<Object>) f);
		Vectors.check(was, modCount);
		System.arraycopy(a, 0, elementData, 0, a.length);
		modCount++;
	}

	@SuppressWarnings("unchecked")
	private E cast(Object o) {
		return (E) o;
	}

	/* --- on a stream --- */

	/** Serialised as the JDK's. Private, so it does not apply to subclasses. */
	private synchronized Object writeReplace() {
		Vector<E> v = new Vector<>(elementData.length, capacityIncrement);
		v.addAll(this);
		return v;
	}
}
