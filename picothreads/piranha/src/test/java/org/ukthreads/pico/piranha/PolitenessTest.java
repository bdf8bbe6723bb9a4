/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.piranha.web.Hit;
import org.ukthreads.pico.piranha.web.TestWeb;
import org.ukthreads.pico.piranha.web.WebBuilder;

/** Checks the crawler's politeness by the server's own log. */
@Timeout(60)
final class PolitenessTest {
	@TempDir
	private Path dir;

	@Test
	void only_this_machine_is_spared_the_manners_that_nobody_asked_for() {
		Optional<Integer> no = Optional.empty();
		for (String own : List.of("http://127.0.0.1:8080", "https://localhost", "http://[::1]:1")) {
			Gates gates = new Gates(no, no);
			gates.of(own);
			assertFalse(gates.polite(), own);
			gates = new Gates(Optional.of(5), no);
			gates.of(own);
			assertTrue(gates.polite(), own);
		}
		for (String other : List.of("http://127.0.0.1.example.org", "http://example.org:8080",
				"https://localhost.example.org", "http://1127.0.0.1")) {
			Gates gates = new Gates(no, no);
			gates.of(other);
			assertTrue(gates.polite(), other);
			gates = new Gates(Optional.of(0), Optional.of(9));
			gates.of(other);
			assertFalse(gates.polite(), other);
		}
	}

	@Test
	void requests_to_a_host_keep_their_distance() throws IOException {
		try (TestWeb web = new WebBuilder().pages(45).hosts(3).fanout(44).delayMillis(5)
				.start()) {
			assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					"--delay=100ms", "--per-host=1", web.url(0))));
			for (int host = 0; host < 3; host++) {
				List<Hit> hits = pages(web, host);
				assertEquals(15, hits.size());
				apart(hits, 100_000_000L);
			}
		}
	}

	@Test
	void hosts_are_crawled_side_by_side() throws IOException {
		try (TestWeb web = new WebBuilder().pages(40).hosts(4).fanout(39).start()) {
			long start = System.nanoTime();
			assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					"--delay=200ms", "--per-host=1", web.url(0))));
			double seconds = (System.nanoTime() - start) / 1e9;
			assertTrue(seconds < 6.5, "one after the other? " + seconds + " s");
		}
	}

	@Test
	void no_more_requests_at_once_than_allowed() throws IOException {
		try (TestWeb web = new WebBuilder().pages(200).hosts(2).fanout(199).delayMillis(20)
				.start()) {
			assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					"--per-host=5", web.url(0))));
			for (int host = 0; host < 2; host++) {
				assertEquals(5, mostAtOnce(pages(web, host)));
			}
		}
	}

	@Test
	void the_crawl_delay_of_robots_txt_is_kept() throws IOException {
		try (TestWeb web = new WebBuilder().pages(4).hosts(1).fanout(3).crawlDelaySeconds(1)
				.start()) {
			assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					"--per-host=1", web.url(0))));
			List<Hit> hits = pages(web, 0);
			assertEquals(4, hits.size());
			apart(hits, 1_000_000_000L);
		}
	}

	@Test
	void sitemaps_are_asked_for_as_politely_as_pages() throws IOException {
		try (TestWeb web = new WebBuilder().pages(2).hosts(1).traps(true).start()) {
			assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					"--sitemap", "--delay=300ms", "--per-host=1", "--depth=0", web.url(0))));
			List<Hit> hits = new ArrayList<>();
			for (Hit hit : web.hits()) {
				if (!hit.path().equals("/robots.txt")) {
					hits.add(hit);
				}
			}
			assertEquals(4, hits.size(), hits.toString());
			apart(hits, 300_000_000L);
		}
	}

	@Test
	void robots_txt_is_asked_for_once_per_host_and_first() throws IOException {
		try (TestWeb web = new WebBuilder().pages(100).hosts(2).delayMillis(20).start()) {
			assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					web.url(0))));
			for (int host = 0; host < 2; host++) {
				List<Hit> all = new ArrayList<>();
				for (Hit hit : web.hits()) {
					if (hit.host().equals(TestWeb.address(host))) {
						all.add(hit);
					}
				}
				assertEquals("/robots.txt", all.get(0).path());
				assertEquals(50, pages(web, host).size());
				assertEquals(51, all.size());
				assertEquals("Piranha/0.1", all.get(1).agent());
			}
		}
	}

	/**
	 * A request ends before the next one is sent, so the server sees the delay even on a busy
	 * machine.
	 */
	private static void apart(List<Hit> hits, long nanos) {
		for (int i = 1; i < hits.size(); i++) {
			long gap = hits.get(i).startNanos() - hits.get(i - 1).startNanos();
			assertTrue(gap >= nanos, "only " + gap / 1e6 + " ms apart");
		}
	}

	private static List<Hit> pages(TestWeb web, int host) {
		List<Hit> hits = new ArrayList<>();
		for (Hit hit : web.hits()) {
			if (hit.host().equals(TestWeb.address(host)) && hit.path().startsWith("/p/")) {
				hits.add(hit);
			}
		}
		return hits;
	}

	private static int mostAtOnce(List<Hit> hits) {
		int most = 0;
		for (Hit at : hits) {
			int open = 0;
			for (Hit hit : hits) {
				if (hit.startNanos() <= at.startNanos() && hit.endNanos() > at.startNanos()) {
					open++;
				}
			}
			most = Math.max(most, open);
		}
		return most;
	}
}
