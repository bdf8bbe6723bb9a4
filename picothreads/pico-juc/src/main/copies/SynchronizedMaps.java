// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.Collection;
import java.util.Comparator;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.ukthreads.pico.Pico;

/** The wrappers of Synchronized for maps. */
final class SynchronizedMaps {
	private SynchronizedMaps() {}

	@Pico
	static class OfMap<K, V> extends Synchronized implements Map<K, V> {
		private static final long serialVersionUID = 1L;

		final transient Map<K, V> m;
		private transient Set<K> keys;
		private transient Set<Map.Entry<K, V>> entries;
		private transient Collection<V> values;

		OfMap(Map<K, V> m, Mutex mutex) {
			super(mutex);
			this.m = m;
		}

		// each: @Override public T m(..) { synchronized (mutex) { return m.m(..); } }
		int size(); boolean isEmpty(); boolean containsKey(Object k);
		boolean containsValue(Object v); V get(Object k);
		V getOrDefault(Object k, V v); V put(K k, V v);
		void putAll(Map<? extends K, ? extends V> x); V putIfAbsent(K k, V v);
		boolean replace(K k, V v, V to); V replace(K k, V v);
		V remove(Object k); boolean remove(Object k, Object v); void clear();
		int hashCode(); String toString();

		@Override
		public Set<K> keySet() {
			synchronized (mutex) {
				if (keys == null)
					keys = new Synchronized.OfSet<>(m.keySet(), mutex);
				return keys;
			}
		}

		@Override
		public Set<Map.Entry<K, V>> entrySet() {
			synchronized (mutex) {
				if (entries == null)
					entries = new Synchronized.OfSet<>(m.entrySet(), mutex);
				return entries;
			}
		}

		@Override
		public Collection<V> values() {
			synchronized (mutex) {
				if (values == null)
					values = new Synchronized.OfCollection<>(m.values(), mutex);
				return values;
			}
		}

		@Override
		public boolean equals(Object o) {
			if (this == o)
				return true;
			synchronized (mutex) {
				return m.equals(o);
			}
		}

		// each: @Override public T m(..) { synchronized (mutex) {
		//	if (Synchronized.isJdks(m)) Carriers.m(m, ..); else m.m(..); } }
		void forEach(BiConsumer<? super K, ? super V> f);
		void replaceAll(BiFunction<? super K, ? super V, ? extends V> f);

		// each: @Override public T m(..) { synchronized (mutex) {
		//	return Synchronized.isJdks(m) ? Carriers.m(m, ..) : m.m(..); } }
		V computeIfAbsent(K k, Function<? super K, ? extends V> f);
		V computeIfPresent(K k, BiFunction<? super K, ? super V, ? extends V> f);
		V compute(K k, BiFunction<? super K, ? super V, ? extends V> f);
		V merge(K k, V v, BiFunction<? super V, ? super V, ? extends V> f);

		final Object writeReplace() {
			synchronized (mutex) {
				return Synchronized.plain(this);
			}
		}
	}

	@Pico
	static class OfSortedMap<K, V> extends OfMap<K, V> implements SortedMap<K, V> {
		private static final long serialVersionUID = 1L;

		private final transient SortedMap<K, V> m;

		OfSortedMap(SortedMap<K, V> m, Mutex mutex) {
			super(m, mutex);
			this.m = m;
		}

		// each: @Override public T m(..) { synchronized (mutex) { return m.m(..); } }
		Comparator<? super K> comparator(); K firstKey(); K lastKey();

		// each: @Override public T m(..) { synchronized (mutex) {
		//	return new OfSortedMap<>(m.m(..), mutex); } }
		SortedMap<K, V> subMap(K from, K to);
		SortedMap<K, V> headMap(K to); SortedMap<K, V> tailMap(K from);
	}

	@Pico
	static final class OfNavigableMap<K, V> extends OfSortedMap<K, V>
			implements NavigableMap<K, V> {
		private static final long serialVersionUID = 1L;

		private final transient NavigableMap<K, V> m;

		OfNavigableMap(NavigableMap<K, V> m, Mutex mutex) {
			super(m, mutex);
			this.m = m;
		}

		// each: @Override public T m(..) { synchronized (mutex) { return m.m(..); } }
		Map.Entry<K, V> lowerEntry(K k); K lowerKey(K k);
		Map.Entry<K, V> floorEntry(K k); K floorKey(K k);
		Map.Entry<K, V> ceilingEntry(K k); K ceilingKey(K k);
		Map.Entry<K, V> higherEntry(K k); K higherKey(K k);
		Map.Entry<K, V> firstEntry(); Map.Entry<K, V> lastEntry();
		Map.Entry<K, V> pollFirstEntry(); Map.Entry<K, V> pollLastEntry();

		@Override
		public NavigableSet<K> keySet() {
			return navigableKeySet();
		}

		// each: @Override public T m(..) { synchronized (mutex) {
		//	return new Synchronized.OfNavigableSet<>(m.m(..), mutex); } }
		NavigableSet<K> navigableKeySet(); NavigableSet<K> descendingKeySet();

		@Override
		public NavigableMap<K, V> subMap(K from, K to) {
			synchronized (mutex) {
				return new OfNavigableMap<>(m.subMap(from, true, to, false), mutex);
			}
		}

		@Override
		public NavigableMap<K, V> headMap(K to) {
			synchronized (mutex) {
				return new OfNavigableMap<>(m.headMap(to, false), mutex);
			}
		}

		@Override
		public NavigableMap<K, V> tailMap(K from) {
			synchronized (mutex) {
				return new OfNavigableMap<>(m.tailMap(from, true), mutex);
			}
		}

		// each: @Override public T m(..) { synchronized (mutex) {
		//	return new OfNavigableMap<>(m.m(..), mutex); } }
		NavigableMap<K, V> descendingMap();
		NavigableMap<K, V> subMap(K from, boolean with, K to, boolean and);
		NavigableMap<K, V> headMap(K to, boolean and);
		NavigableMap<K, V> tailMap(K from, boolean with);
	}
}
