/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.piranha.web.TestWeb;
import org.ukthreads.pico.piranha.web.WebBuilder;

/** kill -9 at any moment loses no page, and repeats only what was under way. */
@Timeout(200)
final class KilledTest {
	private static final int PAGES = 2000;
	private static final int THREADS = 40;

	@TempDir
	private Path dir;

	@Test
	void a_crawl_that_is_killed_again_and_again_finishes() throws Exception {
		Path output = dir.resolve("output");
		Path archive = dir.resolve("warc");
		try (TestWeb web = new WebBuilder().pages(PAGES).hosts(4).delayMillis(10).start()) {
			List<String> args = Run.fast(dir.resolve("log"), "--threads=platform", "--resume",
					"--max-threads=" + THREADS, "--frontier=disk:" + dir.resolve("state"),
					"--warc=" + archive, web.url(0));
			int kills = 0;
			for (int at = 400; at < PAGES - 400; at += 300) {
				Process crawl = Run.process(args, output);
				while (crawl.isAlive() && web.requests() < at) {
					Thread.sleep(1);
				}
				assertTrue(crawl.isAlive(), Files.readString(output));
				crawl.destroyForcibly().waitFor();      /* SIGKILL */
				assertEquals(128 + 9, crawl.exitValue());
				kills++;
			}
			Process last = Run.process(args, output);
			assertTrue(last.waitFor(100, TimeUnit.SECONDS));
			assertEquals(0, last.exitValue(), Files.readString(output));
			check(web, kills, archive);
		}
	}

	@Test
	void a_signal_ends_a_crawl_in_good_order() throws Exception {
		Path output = dir.resolve("output");
		Path json = dir.resolve("json");
		try (TestWeb web = new WebBuilder().pages(PAGES).hosts(4).delayMillis(10).start()) {
			List<String> args = Run.fast(dir.resolve("log"), "--threads=platform", "--resume",
					"--per-host=2", "--frontier=disk:" + dir.resolve("state"),
					"--warc=" + dir.resolve("warc"), "--json=" + json, web.url(0));
			Process crawl = Run.process(args, output);
			while (crawl.isAlive() && web.requests() < 300) {
				Thread.sleep(1);
			}
			crawl.destroy();        /* SIGTERM */
			assertTrue(crawl.waitFor(100, TimeUnit.SECONDS));
			assertEquals(128 + 15, crawl.exitValue(), Files.readString(output));
			assertTrue(Files.readString(json).contains("\"open\":"), "no summary");
			assertTrue(Warcs.check(dir.resolve("warc")).size() >= 200);
			assertEquals(0, Run.here(args));
			Map<String, Integer> counts = Run.counts(web);
			assertEquals(PAGES, counts.size());
			for (Map.Entry<String, Integer> count : counts.entrySet()) {
				assertEquals(1, count.getValue(), "fetched more than once after a signal");
			}
		}
	}

	private static void check(TestWeb web, int kills, Path archive) throws IOException {
		Map<String, Integer> counts = Run.counts(web);
		int repeated = 0;
		for (int page = 0; page < PAGES; page++) {
			int count = counts.getOrDefault(Run.key(web, page), 0);
			assertTrue(count >= 1, "lost: page " + page);
			repeated += count - 1;
		}
		assertEquals(PAGES, counts.size());
		assertTrue(kills >= 4, kills + " kills");
		assertTrue(repeated <= kills * THREADS, repeated + " repeated after " + kills + " kills");
		System.out.println("kill -9: " + kills + " kills, " + PAGES + " pages, 0 lost, "
				+ repeated + " fetched again (at most " + kills * THREADS + " were under way)");
		Set<String> archived = Warcs.check(archive);
		for (int page = 0; page < PAGES; page++) {
			assertTrue(archived.contains(web.url(page)), "not archived: " + web.url(page));
		}
	}
}
