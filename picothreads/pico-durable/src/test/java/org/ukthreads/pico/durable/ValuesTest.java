// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Serializable;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

/** What objects are after they were saved and loaded. */
final class ValuesTest {
	private static final Codec CODEC = new Codec(ValuesTest.class.getClassLoader(),
		Filter.PROGRAM);

	@SuppressWarnings("unchecked")
	private static <T> T moved(T o) {
		return (T) CODEC.value(new Bytes(CODEC.value(o), 0));
	}

	record Link(int n, Link next) implements Serializable {}

	@Test
	void a_long_chain_of_records_is_loaded() {
		Link l = null;
		for (int k = 0; k < 200_000; k++)
			l = new Link(k, l);
		l = moved(l);
		int n = 0;
		for (; l != null; l = l.next)
			n++;
		assertEquals(200_000, n);
	}

	/** Its constructor copies what it is given. */
	record Basket(List<String> items, Map<Tag, Integer> prices, Set<Tag> tags)
			implements Serializable {
		Basket {
			items = Collections.unmodifiableList(new ArrayList<>(items));
			prices = new HashMap<>(prices);
			tags = new HashSet<>(tags);
		}
	}

	record Tag(UUID id, List<String> words) implements Serializable {}

	private static Tag tag(String... words) {
		return new Tag(new UUID(1, words.length), new ArrayList<>(List.of(words)));
	}

	@Test
	void a_record_s_constructor_gets_whole_collections() {
		Basket b = new Basket(List.of("lamp", "desk"), Map.of(tag("a"), 3),
			Set.of(tag("b", "c"), tag()));
		Object[] o = moved(new Object[] {b, new ArrayList<>(List.of(b)), b.tags});
		assertEquals(b, o[0]);
		assertEquals(List.of(b), o[1]);
		assertTrue(((Basket) o[0]).tags.contains(tag("b", "c")));
	}

	@Test
	void what_a_hash_is_made_of_is_there_before() {
		Set<Object> inner = new HashSet<>(List.of("a", "b"));
		Map<Object, Object> map = new HashMap<>(Map.of("k", inner));
		Set<Object> outer = new HashSet<>(List.of(inner, map, List.of(inner)));
		outer.add(new ArrayList<>(List.of(map)));
		for (Object[] o : new Object[][] {{inner, map, outer}, {outer, inner, map},
				{map, outer}}) {
			Object[] m = moved(o);
			for (int k = 0; k < o.length; k++)
				assertEquals(o[k], m[k]);
			for (Object x : m)
				if (x instanceof Set && ((Set<?>) x).size() == 4)
					for (Object y : List.of(inner, map, List.of(inner), List.of(map)))
						assertTrue(((Set<?>) x).contains(y), () -> y + " is lost in " + x);
		}
	}

	static final class Job implements Serializable, Comparable<Job> {
		private static final long serialVersionUID = 1;
		final Tag tag;
		final Object[] more = new Object[1];

		Job(Tag t) {
			tag = t;
		}

		@Override
		public int compareTo(Job j) {
			return tag.id.compareTo(j.tag.id);
		}
	}

	static final class Queue implements Serializable {
		private static final long serialVersionUID = 1;
		final PriorityQueue<Job> jobs = new PriorityQueue<>();
		final Set<Set<Tag>> done = Collections.unmodifiableSet(Set.of(
			new HashSet<>(Set.of(tag("x")))));
	}

	@Test
	void what_an_object_of_the_jdk_compares_is_there_before() {
		Queue q = new Queue();
		for (int k = 9; k > 0; k--)
			q.jobs.add(new Job(new Tag(new UUID(0, k), null)));
		q.jobs.forEach(j -> j.more[0] = q);
		Queue m = moved(q);
		assertTrue(m.done.contains(Set.of(tag("x"))));
		for (int k = 1; k < 10; k++) {
			assertSame(m, m.jobs.peek().more[0]);
			assertEquals(k, m.jobs.poll().tag.id.getLeastSignificantBits());
		}
	}

	/** An object that is a key in a map to which it refers. Its hash is that of another object. */
	static final class Kid implements Serializable {
		private static final long serialVersionUID = 1;
		final Map<Kid, String> all;
		final Tag a = tag("kid");
		final BigInteger number;

		Kid(Map<Kid, String> all, int n) {
			this.all = all;
			number = BigInteger.valueOf(n);
		}

		@Override
		public int hashCode() {
			return a.hashCode() + number.hashCode();
		}

		@Override
		public boolean equals(Object o) {
			return o instanceof Kid && ((Kid) o).number.equals(number);
		}
	}

	@Test
	void who_is_a_key_of_its_own_map_is_found_there() {
		Map<Kid, String> all = new HashMap<>();
		for (int k = 0; k < 20; k++)
			all.put(new Kid(all, k), "kid " + k);
		for (Object root : new Object[] {all, all.keySet().iterator().next()}) {
			Object o = moved(root);
			Map<?, ?> m = o instanceof Kid ? ((Kid) o).all : (Map<?, ?>) o;
			for (int k = 0; k < 20; k++)
				assertEquals("kid " + k, m.get(new Kid(null, k)));
		}
	}

	/** The record must be readable, whatever other threads do to the collection meanwhile. */
	@Test
	void a_collection_that_others_change_is_saved_as_it_was_at_some_time() throws Exception {
		ConcurrentHashMap<Object, Object> map = new ConcurrentHashMap<>();
		ConcurrentLinkedQueue<Object> queue = new ConcurrentLinkedQueue<>();
		Thread t = new Thread(() -> {
			for (int k = 0; !Thread.interrupted(); k++) {
				map.put(k & 1023, k);
				map.remove(k * 7 & 1023);
				queue.add(k);
				if (queue.size() > 50)
					queue.poll();
			}
		});
		t.start();
		try {
			for (int k = 0; k < 2_000; k++) {
				Object[] o = moved(new Object[] {map, queue, "the end"});
				assertEquals("the end", o[2]);
			}
		} finally {
			t.interrupt();
			t.join();
		}
	}

	/** What could not be loaded is refused while the thread still runs. */
	@Test
	void what_the_filter_or_the_decoder_would_refuse_is_not_saved() throws Exception {
		Object proxy = java.lang.reflect.Proxy.newProxyInstance(getClass().getClassLoader(),
			new Class<?>[] {Comparable.class},
			(java.lang.reflect.InvocationHandler & Serializable) (o, m, a) -> 0);
		for (Object o : new Object[] {java.io.File.class, java.io.File[].class,
				java.io.File.class.getMethod("length"),
				String.class.getMethod("getBytes", java.nio.charset.Charset.class), proxy,
				List.of(proxy), List.of(java.io.File.class)})
			assertThrows(DurableException.class, () -> CODEC.value(o), () -> "" + o);
		Object[] good = {int.class, int[].class, String[][].class,
			String.class.getMethod("indexOf", int.class), List.of(int.class, Tag.class)};
		assertArrayEquals(good, moved(good));
	}

	@Test
	void a_filter_need_not_name_what_arrays_of_numbers_are() {
		Codec c = new Codec(null, new Filter("java.util.*"));
		java.util.BitSet b = new java.util.BitSet();
		b.set(70);
		assertEquals(b, c.value(new Bytes(c.value(b), 0)));
	}
}
