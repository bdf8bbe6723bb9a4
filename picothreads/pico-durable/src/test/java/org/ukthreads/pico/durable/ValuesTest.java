package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

/** What objects are when they have been saved and loaded. */
final class ValuesTest {
	private static final Codec CODEC = new Codec(ValuesTest.class.getClassLoader(),
		Filter.PROGRAM);

	@SuppressWarnings("unchecked")
	private static <T> T moved(T o) {
		return (T) CODEC.value(new Bytes(CODEC.value(o), 0));
	}

	record Tag(UUID id, List<String> words) implements Serializable {}

	private static Tag tag(String... words) {
		return new Tag(new UUID(1, words.length), new ArrayList<>(List.of(words)));
	}

	/** The record must be readable whatever others do to the collection meanwhile. */
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
}
