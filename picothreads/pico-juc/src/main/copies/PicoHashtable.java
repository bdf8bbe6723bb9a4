// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Enumeration;
import java.util.Hashtable;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.ukthreads.pico.Pico;

/** java.util.Hashtable under a monitor of ours: see PicoVector. */
@Pico
public class PicoHashtable<K, V> extends Hashtable<K, V> implements Mutex {
	private static final long serialVersionUID = 1L;

	private transient volatile Set<K> keys;
	private transient volatile Set<Map.Entry<K, V>> entries;
	private transient volatile Collection<V> values;

	/* As in the JDK's table, so that the serialised copy has the same order. */
	private transient int capacity = 11;
	private transient float load = 0.75f;

	public PicoHashtable() {}

	public PicoHashtable(int capacity) {
		super(capacity);
		this.capacity = Math.max(capacity, 1);
	}

	public PicoHashtable(int capacity, float load) {
		super(capacity, load);
		this.capacity = Math.max(capacity, 1);
		this.load = load;
	}

	public PicoHashtable(Map<? extends K, ? extends V> m) {
		super(m);
		capacity = Math.max(2 * super.size(), 11);
	}

	@Override
	protected void rehash() {
		super.rehash();
		capacity = 2 * capacity + 1;
	}

	// each: @Override public synchronized T m(..) { return super.m(..); }
	int size(); boolean isEmpty(); Enumeration<K> keys(); Enumeration<V> elements();
	boolean contains(Object v); boolean containsKey(Object k);
	V get(Object k); V getOrDefault(Object k, V v);
	V put(K k, V v); V putIfAbsent(K k, V v);
	boolean replace(K k, V v, V to); V replace(K k, V v);
	V remove(Object k); boolean remove(Object k, Object v); void clear();
	boolean equals(Object x); int hashCode(); String toString();

	@Override
	public boolean containsValue(Object v) {
		return contains(v);
	}

	@Override
	public synchronized void putAll(Map<? extends K, ? extends V> m) {
		for (Map.Entry<? extends K, ? extends V> e : m.entrySet())
			put(e.getKey(), e.getValue());
	}

	@Override
	public synchronized Object clone() {
		PicoHashtable<?, ?> t = (PicoHashtable<?, ?>) super.clone();
		t.keys = null;
		t.entries = null;
		t.values = null;
		return t;
	}

	/* The JDK's views are Collections.synchronizedSet's, too, but under the JDK's lock. */

	@Pico
	private static final class View<E> extends Synchronized.OfSet<E> {
		private static final long serialVersionUID = 1L;

		View(Set<E> s, Mutex mutex) {
			super(s, mutex);
		}

		@Override
		public Iterator<E> iterator() {
			return new Removing<>(mutex, c.iterator());
		}
	}

	@Pico
	private static final class Values<E> extends Synchronized.OfCollection<E> {
		private static final long serialVersionUID = 1L;

		Values(Collection<E> c, Mutex mutex) {
			super(c, mutex);
		}

		@Override
		public Iterator<E> iterator() {
			return new Removing<>(mutex, c.iterator());
		}
	}

	/** As in the JDK, only remove() takes the lock. */
	@Pico
	private static final class Removing<E> implements Iterator<E> {
		private final Mutex mutex;
		private final Iterator<E> i;

		Removing(Mutex mutex, Iterator<E> i) {
			this.mutex = mutex;
			this.i = i;
		}

		// each: @Override public T m(..) { return i.m(..); }
		boolean hasNext(); E next();

		@Override
		public void remove() {
			synchronized (mutex) {
				i.remove();
			}
		}
	}

	@Override
	public Set<K> keySet() {
		Set<K> s = keys;
		return s != null ? s : (keys = new View<>(super.keySet(), this));
	}

	@Override
	public Set<Map.Entry<K, V>> entrySet() {
		Set<Map.Entry<K, V>> s = entries;
		return s != null ? s : (entries = new View<>(super.entrySet(), this));
	}

	@Override
	public Collection<V> values() {
		Collection<V> c = values;
		return c != null ? c : (values = new Values<>(super.values(), this));
	}

	/* Functions are called here, in the JDK's order and with its checks for changes. */

	@Override
	public synchronized void forEach(BiConsumer<? super K, ? super V> f) {
		Objects.requireNonNull(f);
		List<K> ks = new ArrayList<>();
		List<V> vs = new ArrayList<>();
		Iterator<?> check = list(ks, vs);
		for (int n = 0; n < ks.size(); n++) {
			f.accept(ks.get(n), vs.get(n));
			Vectors.check(check);
		}
	}

	/** Lists the entries in order; the result throws if the table changes later. */
	private Iterator<?> list(List<K> ks, List<V> vs) {
		super.forEach((k, v) -> {
			ks.add(k);
			vs.add(v);
		});
		return super.entrySet().iterator();
	}

	@Override
	public synchronized void replaceAll(BiFunction<? super K, ? super V, ? extends V> f) {
		Objects.requireNonNull(f);
		List<K> ks = new ArrayList<>();
		List<V> vs = new ArrayList<>();
		Iterator<?> check = list(ks, vs);
		try {
			for (int n = 0; n < ks.size(); n++) {
				vs.set(n, Objects.requireNonNull(f.apply(ks.get(n), vs.get(n))));
				Vectors.check(check);
			}
		} finally {
			int[] next = {0};
			if (super.size() == ks.size())
				super.replaceAll((k, v) -> ks.get(next[0]) == k ? vs.get(next[0]++) : v);
		}
	}

	/** Stores a function's result for a key. */
	private V store(Iterator<?> check, K k, V old, V v) {
		Vectors.check(check);
		if (v != null)
			super.put(k, v);
		else if (old != null)
			super.remove(k);
		return v;
	}

	@Override
	public synchronized V computeIfAbsent(K k, Function<? super K, ? extends V> f) {
		Objects.requireNonNull(f);
		V old = super.get(k);
		Iterator<?> check = super.entrySet().iterator();
		return old != null ? old : store(check, k, null, f.apply(k));
	}

	@Override
	public synchronized V computeIfPresent(K k,
			BiFunction<? super K, ? super V, ? extends V> f) {
		Objects.requireNonNull(f);
		V old = super.get(k);
		Iterator<?> check = super.entrySet().iterator();
		return old == null ? null : store(check, k, old, f.apply(k, old));
	}

	@Override
	public synchronized V compute(K k, BiFunction<? super K, ? super V, ? extends V> f) {
		Objects.requireNonNull(f);
		V old = super.get(k);
		Iterator<?> check = super.entrySet().iterator();
		return store(check, k, old, f.apply(k, old));
	}

	@Override
	public synchronized V merge(K k, V v, BiFunction<? super V, ? super V, ? extends V> f) {
		Objects.requireNonNull(f);
		V old = super.get(k);
		Iterator<?> check = super.entrySet().iterator();
		return store(check, k, old, old == null ? v : f.apply(old, v));
	}

	/** Serialised as the JDK's. Private, so it does not apply to subclasses. */
	private synchronized Object writeReplace() {
		Hashtable<K, V> t = new Hashtable<>(capacity, load);
		List<K> ks = new ArrayList<>();
		List<V> vs = new ArrayList<>();
		list(ks, vs);
		/* The entry put last is the first in its chain. */
		for (int n = ks.size(); --n >= 0;)
			t.put(ks.get(n), vs.get(n));
		return t;
	}
}
