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

	@Override
	public synchronized void copyInto(Object[] to) {
		super.copyInto(to);
	}

	@Override
	public synchronized void trimToSize() {
		super.trimToSize();
	}

	@Override
	public synchronized void ensureCapacity(int n) {
		super.ensureCapacity(n);
	}

	@Override
	public synchronized void setSize(int n) {
		super.setSize(n);
	}

	@Override
	public synchronized int capacity() {
		return super.capacity();
	}

	@Override
	public synchronized int size() {
		return super.size();
	}

	@Override
	public synchronized boolean isEmpty() {
		return super.isEmpty();
	}

	@Override
	public synchronized int indexOf(Object x, int k) {
		return super.indexOf(x, k);
	}

	@Override
	public synchronized int lastIndexOf(Object x) {
		return super.lastIndexOf(x);
	}

	@Override
	public synchronized int lastIndexOf(Object x, int k) {
		return super.lastIndexOf(x, k);
	}

	@Override
	public synchronized E elementAt(int k) {
		return super.elementAt(k);
	}

	@Override
	public synchronized E firstElement() {
		return super.firstElement();
	}

	@Override
	public synchronized E lastElement() {
		return super.lastElement();
	}

	@Override
	public synchronized void setElementAt(E e, int k) {
		super.setElementAt(e, k);
	}

	@Override
	public synchronized void removeElementAt(int k) {
		super.removeElementAt(k);
	}

	@Override
	public synchronized void insertElementAt(E e, int k) {
		super.insertElementAt(e, k);
	}

	@Override
	public synchronized void addElement(E e) {
		super.addElement(e);
	}

	@Override
	public synchronized boolean removeElement(Object x) {
		return super.removeElement(x);
	}

	@Override
	public synchronized void removeAllElements() {
		super.removeAllElements();
	}

	@Override
	public synchronized Object clone() {
		return super.clone();
	}

	@Override
	public synchronized Object[] toArray() {
		return super.toArray();
	}

	@Override
	public synchronized <T> T[] toArray(T[] a) {
		return super.toArray(a);
	}

	@Override
	public synchronized E get(int k) {
		return super.get(k);
	}

	@Override
	public synchronized E set(int k, E e) {
		return super.set(k, e);
	}

	@Override
	public synchronized boolean add(E e) {
		return super.add(e);
	}

	@Override
	public synchronized E remove(int k) {
		return super.remove(k);
	}

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
	public synchronized boolean equals(Object x) {
		return super.equals(x);
	}

	@Override
	public synchronized int hashCode() {
		return super.hashCode();
	}

	@Override
	public synchronized String toString() {
		return super.toString();
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

	@Override
	public synchronized ListIterator<E> listIterator() {
		return new Vectors.ListItr<>(this, super.listIterator());
	}

	@Override
	public synchronized ListIterator<E> listIterator(int k) {
		return new Vectors.ListItr<>(this, super.listIterator(k));
	}

	/** The JDK's spliterator takes its lock at the first element. */
	@Override
	public synchronized Spliterator<E> spliterator() {
		return super.spliterator();
	}

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
