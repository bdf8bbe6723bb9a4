/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DiskFrontierTest {
	@TempDir
	private Path dir;

	@Test
	void a_link_is_handed_out_once() throws Exception {
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			assertEquals(2, frontier.add(List.of(Link.seed("a"), Link.seed("b"),
					Link.seed("a"))));
			Link a = frontier.take().get();
			frontier.done(a, List.of(Link.seed("b"), a.child("c"), a.redirect("d")));
			Set<String> rest = drain(frontier);
			assertEquals(Set.of("b", "c", "d"), rest);
			assertEquals(4, frontier.known());
			assertEquals(0, frontier.open());
		}
	}

	@Test
	void any_number_of_links_can_come_at_once() throws Exception {
		List<Link> many = new ArrayList<>();
		for (int i = 0; i < 18_000; i++) {
			many.add(Link.seed(i + "x".repeat(4000)));
		}
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			frontier.add(List.of(Link.seed("page")));
			frontier.done(frontier.take().get(), many);
			assertEquals(18_001, frontier.known());
			assertEquals(many.get(0).url(), frontier.take().get().url());
		}
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			assertEquals(18_001, frontier.known());
			assertEquals(18_000, frontier.open());
		}
	}

	@Test
	void depth_and_hops_survive() throws Exception {
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			frontier.add(List.of(Link.of("a", 3, 2)));
		}
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			Link link = frontier.take().get();
			assertEquals(3, link.depth());
			assertEquals(2, link.hops());
		}
	}

	@Test
	void what_was_leased_comes_back_and_what_was_settled_does_not() throws Exception {
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			frontier.add(List.of(Link.seed("a"), Link.seed("b"), Link.seed("c")));
			Link a = frontier.take().get();
			frontier.take();
			frontier.done(a, List.of(a.child("d")));
		}
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			assertEquals(4, frontier.known());
			assertEquals(3, frontier.open());
			assertEquals(0, frontier.add(List.of(Link.seed("a"))));
			assertEquals(Set.of("b", "c", "d"), drain(frontier));
		}
	}

	@Test
	void by_depth_a_level_waits_for_the_one_above() throws Exception {
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), true)) {
			frontier.add(List.of(Link.seed("a"), Link.seed("b")));
			Link a = frontier.take().get();
			frontier.done(a, List.of(a.child("a1"), a.redirect("a2")));
			assertEquals("b", frontier.take().get().url());
			assertEquals("a2", frontier.take().get().url());
			frontier.done(Link.seed("a2"), List.of());
		}
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), true)) {
			Link b = frontier.take().get();
			assertEquals("b", b.url());
			frontier.done(b, List.of());
			assertEquals("a1", frontier.take().get().url());
		}
	}

	@Test
	void one_directory_serves_one_crawl_at_a_time() throws Exception {
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			assertThrows(IOException.class, () -> DiskFrontier.open(dir.toFile(), false));
			assertEquals(0, frontier.known());
		}
		DiskFrontier.open(dir.toFile(), false).close();
	}

	/** A kill may tear the file anywhere. What is left is a state that the crawl was in before. */
	@Test
	void a_file_cut_at_any_byte_opens_as_an_earlier_state() throws Exception {
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			frontier.add(List.of(Link.seed("0")));
			for (int i = 1; i < 20; i++) {
				Link link = frontier.take().get();
				frontier.done(link, List.of(link.child(i + "x"), link.child(i + "y")));
			}
		}
		byte[] whole = Files.readAllBytes(dir.resolve("frontier.journal"));
		long before = 0;
		for (int cut = 8; cut <= whole.length; cut++) {
			Path copy = Files.createDirectories(dir.resolve("cut" + cut));
			Files.write(copy.resolve("frontier.journal"), Arrays.copyOf(whole, cut));
			try (Frontier frontier = DiskFrontier.open(copy.toFile(), false)) {
				long known = frontier.known();
				// The seed, then two more and one settled per record.
				assertTrue(known == 0 || known % 2 == 1, "known " + known);
				assertEquals(known == 0 ? 0 : (known + 1) / 2, frontier.open());
				assertTrue(known == before || known == before + 2 || before == 0);
				before = known;
				assertEquals(frontier.open(), drain(frontier).size());
			}
		}
		assertEquals(39, before);
	}

	private byte[] journal(int records) throws Exception {
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			for (int i = 0; i < records; i++) {
				frontier.add(List.of(Link.seed("http://h/" + i)));
			}
		}
		return Files.readAllBytes(dir.resolve("frontier.journal"));
	}

	/**
	 * Any bit, except in the last record's length, where the damage cannot be told from a torn
	 * write.
	 */
	@Test
	void one_flipped_bit_anywhere_refuses_the_journal_and_changes_nothing() throws Exception {
		byte[] whole = journal(4);
		Path file = dir.resolve("frontier.journal");
		int last = 8 + (whole.length - 8) / 4 * 3;
		for (int bit = 0; bit < whole.length * 8; bit++) {
			if (bit / 8 >= last && bit / 8 < last + 4) {
				continue;
			}
			byte[] bad = whole.clone();
			bad[bit / 8] ^= (byte) (1 << bit % 8);
			Files.write(file, bad);
			int at = bit;
			IOException e = assertThrows(IOException.class,
					() -> DiskFrontier.open(dir.toFile(), false), () -> "bit " + at);
			assertTrue(bit < 64 || e.getMessage().contains("damaged at byte "), e.toString());
			assertTrue(Arrays.equals(bad, Files.readAllBytes(file)), "it was changed");
		}
	}

	@Test
	void a_salvage_keeps_all_but_the_damaged_record() throws Exception {
		byte[] bad = journal(1000);
		bad[40] ^= 1;
		Path file = dir.resolve("frontier.journal");
		Files.write(file, bad);
		String lost = DiskFrontier.salvage(dir.toFile());
		assertTrue(lost.contains(" damaged bytes in 1 places"), lost);
		assertTrue(Files.size(dir.resolve("frontier.journal.damaged")) < 60);
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			assertEquals(999, frontier.known());
			assertEquals(999, drain(frontier).size());
		}
		assertEquals("", DiskFrontier.salvage(dir.toFile()));
	}

	@Test
	void what_a_torn_write_leaves_is_put_aside() throws Exception {
		byte[] whole = journal(3);
		Files.write(dir.resolve("frontier.journal"), Arrays.copyOf(whole, whole.length - 5));
		try (Frontier frontier = DiskFrontier.open(dir.toFile(), false)) {
			assertEquals(2, frontier.known());
		}
		assertEquals((whole.length - 8) / 3 - 5,
				Files.size(dir.resolve("frontier.journal.cut")));
	}

	@Test
	void fingerprints_tell_a_hundred_thousand_urls_apart() {
		Fingerprints prints = new Fingerprints();
		for (int i = 0; i < 100_000; i++) {
			assertTrue(prints.add("http://h/" + i));
		}
		for (int i = 0; i < 100_000; i++) {
			assertFalse(prints.add("http://h/" + i));
			assertTrue(prints.contains("http://h/" + i));
			assertFalse(prints.contains("http://g/" + i));
		}
		assertEquals(100_000, prints.size());
	}

	private static Set<String> drain(Frontier frontier) throws Exception {
		Set<String> urls = new HashSet<>();
		while (frontier.open() > 0) {
			Link link = frontier.take().get();
			assertTrue(urls.add(link.url()));
			frontier.done(link, List.of());
		}
		return urls;
	}
}
