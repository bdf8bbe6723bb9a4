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

		@Override
		public int size() {
			synchronized (mutex) {
				return m.size();
			}
		}

		@Override
		public boolean isEmpty() {
			synchronized (mutex) {
				return m.isEmpty();
			}
		}

		@Override
		public boolean containsKey(Object k) {
			synchronized (mutex) {
				return m.containsKey(k);
			}
		}

		@Override
		public boolean containsValue(Object v) {
			synchronized (mutex) {
				return m.containsValue(v);
			}
		}

		@Override
		public V get(Object k) {
			synchronized (mutex) {
				return m.get(k);
			}
		}

		@Override
		public V put(K k, V v) {
			synchronized (mutex) {
				return m.put(k, v);
			}
		}

		@Override
		public V remove(Object k) {
			synchronized (mutex) {
				return m.remove(k);
			}
		}

		@Override
		public void putAll(Map<? extends K, ? extends V> x) {
			synchronized (mutex) {
				m.putAll(x);
			}
		}

		@Override
		public void clear() {
			synchronized (mutex) {
				m.clear();
			}
		}

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

		@Override
		public int hashCode() {
			synchronized (mutex) {
				return m.hashCode();
			}
		}

		@Override
		public String toString() {
			synchronized (mutex) {
				return m.toString();
			}
		}

		@Override
		public V getOrDefault(Object k, V v) {
			synchronized (mutex) {
				return m.getOrDefault(k, v);
			}
		}

		@Override
		public void forEach(BiConsumer<? super K, ? super V> f) {
			synchronized (mutex) {
				if (Synchronized.isJdks(m))
					Carriers.forEach(m, f);
				else
					m.forEach(f);
			}
		}

		@Override
		public void replaceAll(BiFunction<? super K, ? super V, ? extends V> f) {
			synchronized (mutex) {
				if (Synchronized.isJdks(m))
					Carriers.replaceAll(m, f);
				else
					m.replaceAll(f);
			}
		}

		@Override
		public V putIfAbsent(K k, V v) {
			synchronized (mutex) {
				return m.putIfAbsent(k, v);
			}
		}

		@Override
		public boolean remove(Object k, Object v) {
			synchronized (mutex) {
				return m.remove(k, v);
			}
		}

		@Override
		public boolean replace(K k, V v, V to) {
			synchronized (mutex) {
				return m.replace(k, v, to);
			}
		}

		@Override
		public V replace(K k, V v) {
			synchronized (mutex) {
				return m.replace(k, v);
			}
		}

		@Override
		public V computeIfAbsent(K k, Function<? super K, ? extends V> f) {
			synchronized (mutex) {
				return Synchronized.isJdks(m) ? Carriers.computeIfAbsent(m, k, f)
					: m.computeIfAbsent(k, f);
			}
		}

		@Override
		public V computeIfPresent(K k, BiFunction<? super K, ? super V, ? extends V> f) {
			synchronized (mutex) {
				return Synchronized.isJdks(m) ? Carriers.computeIfPresent(m, k, f)
					: m.computeIfPresent(k, f);
			}
		}

		@Override
		public V compute(K k, BiFunction<? super K, ? super V, ? extends V> f) {
			synchronized (mutex) {
				return Synchronized.isJdks(m) ? Carriers.compute(m, k, f) : m.compute(k, f);
			}
		}

		@Override
		public V merge(K k, V v, BiFunction<? super V, ? super V, ? extends V> f) {
			synchronized (mutex) {
				return Synchronized.isJdks(m) ? Carriers.merge(m, k, v, f) : m.merge(k, v, f);
			}
		}

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

		@Override
		public Comparator<? super K> comparator() {
			synchronized (mutex) {
				return m.comparator();
			}
		}

		@Override
		public SortedMap<K, V> subMap(K from, K to) {
			synchronized (mutex) {
				return new OfSortedMap<>(m.subMap(from, to), mutex);
			}
		}

		@Override
		public SortedMap<K, V> headMap(K to) {
			synchronized (mutex) {
				return new OfSortedMap<>(m.headMap(to), mutex);
			}
		}

		@Override
		public SortedMap<K, V> tailMap(K from) {
			synchronized (mutex) {
				return new OfSortedMap<>(m.tailMap(from), mutex);
			}
		}

		@Override
		public K firstKey() {
			synchronized (mutex) {
				return m.firstKey();
			}
		}

		@Override
		public K lastKey() {
			synchronized (mutex) {
				return m.lastKey();
			}
		}
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

		@Override
		public Map.Entry<K, V> lowerEntry(K k) {
			synchronized (mutex) {
				return m.lowerEntry(k);
			}
		}

		@Override
		public K lowerKey(K k) {
			synchronized (mutex) {
				return m.lowerKey(k);
			}
		}

		@Override
		public Map.Entry<K, V> floorEntry(K k) {
			synchronized (mutex) {
				return m.floorEntry(k);
			}
		}

		@Override
		public K floorKey(K k) {
			synchronized (mutex) {
				return m.floorKey(k);
			}
		}

		@Override
		public Map.Entry<K, V> ceilingEntry(K k) {
			synchronized (mutex) {
				return m.ceilingEntry(k);
			}
		}

		@Override
		public K ceilingKey(K k) {
			synchronized (mutex) {
				return m.ceilingKey(k);
			}
		}

		@Override
		public Map.Entry<K, V> higherEntry(K k) {
			synchronized (mutex) {
				return m.higherEntry(k);
			}
		}

		@Override
		public K higherKey(K k) {
			synchronized (mutex) {
				return m.higherKey(k);
			}
		}

		@Override
		public Map.Entry<K, V> firstEntry() {
			synchronized (mutex) {
				return m.firstEntry();
			}
		}

		@Override
		public Map.Entry<K, V> lastEntry() {
			synchronized (mutex) {
				return m.lastEntry();
			}
		}

		@Override
		public Map.Entry<K, V> pollFirstEntry() {
			synchronized (mutex) {
				return m.pollFirstEntry();
			}
		}

		@Override
		public Map.Entry<K, V> pollLastEntry() {
			synchronized (mutex) {
				return m.pollLastEntry();
			}
		}

		@Override
		public NavigableMap<K, V> descendingMap() {
			synchronized (mutex) {
				return new OfNavigableMap<>(m.descendingMap(), mutex);
			}
		}

		@Override
		public NavigableSet<K> keySet() {
			return navigableKeySet();
		}

		@Override
		public NavigableSet<K> navigableKeySet() {
			synchronized (mutex) {
				return new Synchronized.OfNavigableSet<>(m.navigableKeySet(), mutex);
			}
		}

		@Override
		public NavigableSet<K> descendingKeySet() {
			synchronized (mutex) {
				return new Synchronized.OfNavigableSet<>(m.descendingKeySet(), mutex);
			}
		}

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

		@Override
		public NavigableMap<K, V> subMap(K from, boolean with, K to, boolean and) {
			synchronized (mutex) {
				return new OfNavigableMap<>(m.subMap(from, with, to, and), mutex);
			}
		}

		@Override
		public NavigableMap<K, V> headMap(K to, boolean and) {
			synchronized (mutex) {
				return new OfNavigableMap<>(m.headMap(to, and), mutex);
			}
		}

		@Override
		public NavigableMap<K, V> tailMap(K from, boolean with) {
			synchronized (mutex) {
				return new OfNavigableMap<>(m.tailMap(from, with), mutex);
			}
		}
	}
}
