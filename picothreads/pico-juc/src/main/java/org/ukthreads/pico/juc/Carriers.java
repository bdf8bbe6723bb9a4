// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.ConcurrentModificationException;
import java.util.Iterator;
import java.util.List;
import java.util.ListIterator;
import java.util.Map;
import java.util.Optional;
import java.util.Vector;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.ukthreads.pico.Pico;

/*
 * JDK methods that call back, in plain Java, for calls whose function may suspend (the
 * rules are the `carry` lines; a call whose function never suspends keeps the JDK's
 * method). JDK methods that are not here pin. @Pico: the collections and iterators may be
 * the program's and suspend, too.
 */
@Pico
public final class Carriers {
	private static final Keys KEYS = new Keys();

	/**
	 * Replaces the bin lock of a ConcurrentMap: one computation of a key at a time. It is for
	 * one map and hash, because a computation may wait for that of another key.
	 */
	private static final class KeyLock {
		final Map<?, ?> map;
		final int hash;
		/* Guarded by the Keys. */
		int users;
		KeyLock next;

		KeyLock(Map<?, ?> map, int hash, KeyLock next) {
			this.map = map;
			this.hash = hash;
			this.next = next;
		}
	}

	/** The locks that a thread holds or wants. */
	private static final class Keys {
		private final KeyLock[] buckets = new KeyLock[64];

		private int bucket(Map<?, ?> m, int hash) {
			int h = System.identityHashCode(m) * 31 + hash;
			return (h ^ h >>> 16) & buckets.length - 1;
		}

		synchronized KeyLock take(Map<?, ?> m, int hash) {
			int b = bucket(m, hash);
			KeyLock l = buckets[b];
			while (l != null && (l.map != m || l.hash != hash))
				l = l.next;
			if (l == null)
				l = buckets[b] = new KeyLock(m, hash, buckets[b]);
			l.users++;
			return l;
		}

		synchronized void give(KeyLock l) {
			if (--l.users > 0)
				return;
			int b = bucket(l.map, l.hash);
			if (buckets[b] == l) {
				buckets[b] = l.next;
				return;
			}
			KeyLock p = buckets[b];
			while (p.next != l)
				p = p.next;
			p.next = l.next;
		}
	}

	private Carriers() {}

	/* A Mutex is ours: it calls the function itself, under its lock. */

	public static <T> void forEach(Iterable<T> i, Consumer<? super T> c) {
		java.util.Objects.requireNonNull(c);
		if (i instanceof Mutex) {
			i.forEach(c);
			return;
		}
		for (T t : i)
			c.accept(t);
	}

	public static <T> void forEachRemaining(Iterator<T> i, Consumer<? super T> c) {
		if (i instanceof Vectors.Itr) {
			i.forEachRemaining(c);
			return;
		}
		while (i.hasNext())
			c.accept(i.next());
	}

	public static <K, V> void forEach(Map<K, V> m, BiConsumer<? super K, ? super V> c) {
		if (m instanceof Mutex) {
			m.forEach(c);
			return;
		}
		for (Map.Entry<K, V> e : m.entrySet())
			c.accept(e.getKey(), e.getValue());
	}

	public static <T> boolean removeIf(Collection<T> c, Predicate<? super T> p) {
		java.util.Objects.requireNonNull(p);
		if (c instanceof Mutex)
			return c.removeIf(p);
		if (c instanceof ArrayList || c instanceof Vector || c instanceof ArrayDeque
				|| c instanceof CopyOnWriteArrayList || c instanceof CopyOnWriteArraySet)
			return removeTogether(c, p);
		boolean any = false;
		for (Iterator<T> i = c.iterator(); i.hasNext();)
			if (p.test(i.next())) {
				i.remove();
				any = true;
			}
		return any;
	}

	/** These test all elements first and then remove, if no test has thrown. */
	private static <T> boolean removeTogether(Collection<T> c, Predicate<? super T> p) {
		List<T> asked = new ArrayList<>();
		BitSet goes = new BitSet();
		for (T t : c) {
			if (p.test(t))
				goes.set(asked.size());
			asked.add(t);
		}
		int[] next = {0};
		return c.removeIf(t -> {
			int k = next[0];
			while (k < asked.size() && asked.get(k) != t)
				k++;
			/* An element added meanwhile was not tested. */
			if (k == asked.size())
				return false;
			next[0] = k + 1;
			return goes.get(k);
		});
	}

	public static <T> void replaceAll(List<T> l, UnaryOperator<T> f) {
		if (l instanceof Mutex) {
			l.replaceAll(f);
			return;
		}
		if (l instanceof CopyOnWriteArrayList) {
			Object[] old;
			Object[] now;
			do {
				old = l.toArray();
				now = new Object[old.length];
				for (int k = 0; k < old.length; k++)
					now[k] = f.apply(Carriers.<T>cast(old[k]));
			} while (!exchange(l, old, now));
			return;
		}
		for (ListIterator<T> i = l.listIterator(); i.hasNext();)
			i.set(f.apply(i.next()));
	}

	@SuppressWarnings("unchecked")
	private static <T> T cast(Object o) {
		return (T) o;
	}

	/**
	 * Replaces all elements at once, in a list whose iterators cannot set; false: the list has
	 * changed meanwhile, and nothing was done.
	 */
	private static <T> boolean exchange(List<T> l, Object[] old, Object[] now) {
		int[] next = {0};
		try {
			l.replaceAll(t -> {
				int k = next[0]++;
				if (l.size() != old.length || old[k] != t)
					throw new ConcurrentModificationException();
				return Carriers.<T>cast(now[k]);
			});
		} catch (ConcurrentModificationException e) {
			return false;
		}
		return next[0] == old.length;
	}

	public static <K, V> void replaceAll(Map<K, V> m,
			BiFunction<? super K, ? super V, ? extends V> f) {
		if (m instanceof Mutex) {
			m.replaceAll(f);
			return;
		}
		if (m instanceof ConcurrentMap) {
			for (Map.Entry<K, V> e : m.entrySet()) {
				K k = e.getKey();
				for (V v = e.getValue(); v != null && !m.replace(k, v, f.apply(k, v));)
					v = m.get(k);
			}
			return;
		}
		for (Map.Entry<K, V> e : m.entrySet())
			e.setValue(f.apply(e.getKey(), e.getValue()));
	}

	public static <K, V> V computeIfAbsent(Map<K, V> m, K key,
			Function<? super K, ? extends V> f) {
		if (m instanceof Mutex)
			return m.computeIfAbsent(key, f);
		V v = m.get(key);
		if (v != null)
			return v;
		if (!(m instanceof ConcurrentMap))
			return absent(m, key, f);
		KeyLock l = KEYS.take(m, key.hashCode());
		try {
			synchronized (l) {
				v = m.get(key);
				return v != null ? v : absent(m, key, f);
			}
		} finally {
			KEYS.give(l);
		}
	}

	private static <K, V> V absent(Map<K, V> m, K key, Function<? super K, ? extends V> f) {
		V v = f.apply(key);
		if (v == null)
			return null;
		V old = m.putIfAbsent(key, v);
		return old != null ? old : v;
	}

	public static <K, V> V computeIfPresent(Map<K, V> m, K key,
			BiFunction<? super K, ? super V, ? extends V> f) {
		return m instanceof Mutex ? m.computeIfPresent(key, f) : locked(m, key, f, false);
	}

	public static <K, V> V compute(Map<K, V> m, K key,
			BiFunction<? super K, ? super V, ? extends V> f) {
		return m instanceof Mutex ? m.compute(key, f) : locked(m, key, f, true);
	}

	public static <K, V> V merge(Map<K, V> m, K key, V value,
			BiFunction<? super V, ? super V, ? extends V> f) {
		if (m instanceof Mutex)
			return m.merge(key, value, f);
		java.util.Objects.requireNonNull(value);
		return locked(m, key, (k, old) -> old == null ? value : f.apply(old, value), true);
	}

	private static <K, V> V locked(Map<K, V> m, K key,
			BiFunction<? super K, ? super V, ? extends V> f, boolean absent) {
		if (!(m instanceof ConcurrentMap))
			return computed(m, key, f, absent);
		KeyLock l = KEYS.take(m, key.hashCode());
		try {
			synchronized (l) {
				return computed(m, key, f, absent);
			}
		} finally {
			KEYS.give(l);
		}
	}

	private static <K, V> V computed(Map<K, V> m, K key,
			BiFunction<? super K, ? super V, ? extends V> f, boolean absent) {
		for (;;) {
			V old = m.get(key);
			if (old == null && !absent)
				return null;
			V v = f.apply(key, old);
			if (store(m, key, old, v))
				return v;
		}
	}

	/** False: another thread stored meanwhile. */
	private static <K, V> boolean store(Map<K, V> m, K key, V old, V v) {
		if (!(m instanceof ConcurrentMap)) {
			if (v == null)
				m.remove(key);
			else
				m.put(key, v);
			return true;
		}
		if (old == null)
			return v == null || m.putIfAbsent(key, v) == null;
		return v == null ? m.remove(key, old) : m.replace(key, old, v);
	}

	/* Sorting: stable, as in the JDK. */

	public static <T> void sort(List<T> l, Comparator<? super T> c) {
		if (l instanceof Mutex) {
			l.sort(c);
			return;
		}
		if (l instanceof CopyOnWriteArrayList) {
			Object[] old;
			Object[] now;
			do {
				old = l.toArray();
				now = old.clone();
				sort(now, Carriers.<Comparator<Object>>cast(c));
			} while (!exchange(l, old, now));
			return;
		}
		@SuppressWarnings("unchecked")
		T[] a = (T[]) l.toArray();
		sort(a, c);
		ListIterator<T> i = l.listIterator();
		for (T t : a) {
			i.next();
			i.set(t);
		}
	}

	public static <T> void sort(T[] a, Comparator<? super T> c) {
		merge(a, Arrays.copyOf(a, a.length), 0, a.length, order(c));
	}

	@SuppressWarnings("unchecked")
	private static <T> Comparator<? super T> order(Comparator<? super T> c) {
		return c != null ? c : (Comparator<? super T>) (Comparator<?>)
			Collections.reverseOrder(Collections.reverseOrder());
	}

	private static <T> void merge(T[] a, T[] from, int lo, int hi, Comparator<? super T> c) {
		if (hi - lo < 2)
			return;
		int mid = (lo + hi) >>> 1;
		merge(from, a, lo, mid, c);
		merge(from, a, mid, hi, c);
		int i = lo;
		int j = mid;
		for (int k = lo; k < hi; k++)
			a[k] = j >= hi || i < mid && c.compare(from[i], from[j]) <= 0 ? from[i++]
				: from[j++];
	}

	/* Optional */

	public static <T> void ifPresent(Optional<T> o, Consumer<? super T> c) {
		if (o.isPresent())
			c.accept(o.get());
	}

	public static <T, U> Optional<U> map(Optional<T> o, Function<? super T, ? extends U> f) {
		return o.isPresent() ? Optional.ofNullable(f.apply(o.get())) : Optional.empty();
	}

	public static <T, U> Optional<U> flatMap(Optional<T> o,
			Function<? super T, Optional<U>> f) {
		return o.isPresent() ? java.util.Objects.requireNonNull(f.apply(o.get()))
			: Optional.empty();
	}

	public static <T> Optional<T> filter(Optional<T> o, Predicate<? super T> p) {
		return o.isPresent() && !p.test(o.get()) ? Optional.empty() : o;
	}

	public static <T> T orElseGet(Optional<T> o, Supplier<? extends T> s) {
		return o.isPresent() ? o.get() : s.get();
	}

	public static <T, X extends Throwable> T orElseThrow(Optional<T> o,
			Supplier<? extends X> s) throws X {
		if (o.isPresent())
			return o.get();
		throw s.get();
	}
}
