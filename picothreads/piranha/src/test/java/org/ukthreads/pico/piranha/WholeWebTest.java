/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.piranha.web.TestWeb;
import org.ukthreads.pico.piranha.web.WebBuilder;

/** A crawl finds every page of the graph once, whole and at its depth, and nothing else. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class WholeWebTest {
	@TempDir
	private Path dir;

	@Test
	void platform_threads_crawl_the_whole_web() throws IOException {
		crawl(2000, "--threads=platform");
	}

	@Test
	void a_pool_crawls_the_whole_web() throws IOException {
		crawl(2000, "--threads=pool:32");
	}

	@Test
	void virtual_threads_crawl_the_whole_web() throws IOException {
		assumeTrue(VirtualThreads.supported(), "this JDK has no virtual threads");
		crawl(2000, "--threads=virtual");
	}

	@Test
	void the_disk_frontier_crawls_the_whole_web() throws IOException {
		crawl(2000, "--threads=platform", "--frontier=disk:" + dir.resolve("state"));
	}

	@Test
	void with_a_depth_limit_each_page_is_found_by_a_shortest_path() throws IOException {
		crawl(1000, "--threads=platform", "--depth=9");
		java.nio.file.Files.delete(dir.resolve("log"));
		crawl(1000, "--threads=platform", "--depth=9",
				"--frontier=disk:" + dir.resolve("state"));
	}

	@Test
	void a_new_connection_per_url_will_do() throws IOException {
		crawl(500, "--threads=platform", "--no-keep-alive");
	}

	@Test
	void few_thread_slots_are_enough() throws IOException {
		crawl(500, "--threads=platform", "--max-threads=2", "--max-connections=1");
	}

	@Test
	@EnabledIfSystemProperty(named = "piranha.long", matches = "true")
	void thirty_thousand_pages_with_platform_threads() throws IOException {
		crawl(30_000, "--threads=platform");
	}

	@Test
	@EnabledIfSystemProperty(named = "piranha.long", matches = "true")
	void thirty_thousand_pages_with_the_disk_frontier() throws IOException {
		crawl(30_000, "--threads=platform", "--frontier=disk:" + dir.resolve("state"));
	}

	private void crawl(int pages, String... options) throws IOException {
		Path log = dir.resolve("log");
		try (TestWeb web = new WebBuilder().pages(pages).hosts(4).size(2000, 20_000)
				.delayMillis(5).start()) {
			List<String> args = Run.fast(log, options);
			args.add(web.url(0));
			assertEquals(0, Run.here(args));
			compare(web, Run.log(log), args.contains("--depth=9"));
			Map<String, Integer> counts = Run.counts(web);
			for (int page = 0; page < pages; page++) {
				assertEquals(1, counts.get(Run.key(web, page)), "fetches of page " + page);
			}
			assertEquals(pages, counts.size());
		}
	}

	private static void compare(TestWeb web, List<Run.Line> lines, boolean byDepth) {
		Set<String> seen = new HashSet<>();
		int prefix = "/p/".length();
		for (Run.Line line : lines) {
			assertTrue(seen.add(line.url()), "twice in the log: " + line.url());
			String path = line.url().substring(line.url().indexOf("/p/"));
			int page = Integer.parseInt(path.substring(prefix, path.length() - ".html".length()));
			assertEquals(web.url(page), line.url());
			assertEquals("page", line.outcome(), line.toString());
			assertEquals(web.graph().size(page), line.bytes(), line.toString());
			// Without a depth limit a page may be found by a longer path first.
			int depth = web.graph().depth(page);
			assertTrue(byDepth ? line.depth() == depth : line.depth() >= depth, line.toString());
		}
		assertEquals(web.graph().pages(), seen.size());
	}
}
