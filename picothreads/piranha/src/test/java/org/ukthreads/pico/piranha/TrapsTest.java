/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.piranha.web.TestWeb;
import org.ukthreads.pico.piranha.web.WebBuilder;

/** The crawler falls for none of the test web's traps. */
@Timeout(60)
final class TrapsTest {
	static final String[] EXPECTED = {
		"/broken.html http-error 503", "/chain/0 redirect 302", "/chain/1 redirect 302",
		"/chain/2 redirect 302", "/chain/3 redirect-limit 302", "/chunked.html page 200",
		"/cut.html failed 0", "/data.bin other 200", "/from-chunked.html page 200",
		"/from-gzip.html page 200", "/gzip.html page 200", "/hidden.html page 200",
		"/huge.html truncated 200", "/liar.html other 200", "/loop/a redirect 302",
		"/loop/b redirect 302", "/missing.html http-error 404", "/moved/3 redirect 301",
		"/nofollow.html page 200", "/private/x.html robots 0", "/self redirect 302",
		"/slow.html timeout 0", "/stall.html timeout 0"};

	@TempDir
	private Path dir;

	@Test
	void each_trap_has_its_outcome() throws IOException {
		Path log = dir.resolve("log");
		try (TestWeb web = new WebBuilder().pages(60).hosts(1).fanout(60).traps(true).start()) {
			long start = System.nanoTime();
			assertEquals(0, Run.here(Run.fast(log, "--threads=platform", "--sitemap",
					"--max-redirects=3", "--read-timeout=1s", "--total-timeout=2s",
					"--max-size=1M", "--depth=4", web.url(0))));
			assertTrue(System.nanoTime() - start < 30_000_000_000L, "a trap held the crawl up");
			assertEquals(String.join("\n", EXPECTED), outcomes(web, log));
			Map<String, Integer> counts = Run.counts(web);
			assertFalse(counts.containsKey("127.0.0.1/private/x.html"), "robots.txt ignored");
			assertFalse(counts.containsKey("127.0.0.1/from-nofollow.html"), "nofollow ignored");
			assertTrue(counts.containsKey("127.0.0.1/cal/3"));
			assertFalse(counts.containsKey("127.0.0.1/cal/4"), "deeper than --depth");
			for (Map.Entry<String, Integer> count : counts.entrySet()) {
				assertEquals(1, count.getValue(), count.getKey());
			}
		}
	}

	/** Returns the log's outcomes of all traps except the calendar, in the form of EXPECTED. */
	static String outcomes(TestWeb web, Path log) throws IOException {
		Map<String, String> outcomes = new TreeMap<>();
		for (Run.Line line : Run.log(log)) {
			String path = line.url().substring(web.base(0).length());
			if (!path.startsWith("/p/") && !path.startsWith("/cal/")) {
				outcomes.put(path, path + " " + line.outcome() + " " + line.status());
			}
		}
		return String.join("\n", outcomes.values());
	}

	@Test
	void without_robots_the_private_page_is_fetched() throws IOException {
		try (TestWeb web = new WebBuilder().pages(1).hosts(1).traps(true).start()) {
			assertEquals(0, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					"--no-robots", "--depth=1", "--include=private", web.url(0))));
			Map<String, Integer> counts = Run.counts(web);
			assertTrue(counts.containsKey("127.0.0.1/private/x.html"));
			assertEquals(2, counts.size(), counts.toString());
		}
	}

	@Test
	void a_failed_fetch_is_retried() throws IOException {
		try (TestWeb web = new WebBuilder().pages(1).hosts(1).traps(true).start()) {
			assertEquals(1, Run.here(Run.fast(dir.resolve("log"), "--threads=platform",
					"--retries=2", web.base(0) + "/cut.html")));
			assertEquals(3, Run.counts(web).get("127.0.0.1/cut.html"));
		}
	}
}
