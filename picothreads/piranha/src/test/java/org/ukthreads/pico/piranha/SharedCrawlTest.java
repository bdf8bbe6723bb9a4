/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.piranha.frontier.FrontierServer;
import org.ukthreads.pico.piranha.web.Hit;
import org.ukthreads.pico.piranha.web.TestWeb;
import org.ukthreads.pico.piranha.web.WebBuilder;

/** Two crawler processes share a URLFrontier; one is killed; the other finishes the crawl. */
@Timeout(200)
final class SharedCrawlTest {
	private static final int PAGES = 2000;
	private static final int LEASE_SECONDS = 20;
	private static final double FETCH_SECONDS = 13;    /* the time-outs of one fetch */

	@TempDir
	private Path dir;

	@Test
	void the_survivor_loses_nothing_and_repeats_nothing_within_a_lease() throws Exception {
		try (FrontierServer frontier = FrontierServer.start("127.0.0.1", 0);
				TestWeb web = new WebBuilder().pages(PAGES).hosts(4).delayMillis(20).start()) {
			Process doomed = start(frontier, web, "Doomed");
			Process survivor = start(frontier, web, "Survivor");
			while (doomed.isAlive() && (fetches(web, "Doomed") < 400
					|| fetches(web, "Survivor") < 300)) {
				Thread.sleep(5);
			}
			assertTrue(doomed.isAlive(), Files.readString(dir.resolve("Doomed.out")));
			doomed.destroyForcibly().waitFor();     /* SIGKILL */
			long killed = System.nanoTime();
			assertEquals(128 + 9, doomed.exitValue());
			assertTrue(survivor.waitFor(120, TimeUnit.SECONDS));
			assertEquals(0, survivor.exitValue(), Files.readString(dir.resolve("Survivor.out")));
			check(web, killed);
		}
	}

	@Test
	void the_frontier_server_is_killed_and_starts_again() throws Exception {
		int port;
		try (ServerSocket free = new ServerSocket(0)) {
			port = free.getLocalPort();
		}
		try (TestWeb web = new WebBuilder().pages(PAGES).hosts(4).delayMillis(20).start()) {
			Process server = server(port);
			List<String> args = Run.fast(dir.resolve("log"), "--threads=platform",
					"--max-threads=100", "--total-timeout=5s", "--lease=60s",
					"--frontier=urlfrontier:127.0.0.1:" + port, web.url(0));
			Process crawl = Run.process(args, dir.resolve("out"));
			for (int at = 500; at <= 1500; at += 1000) {
				while (crawl.isAlive() && web.requests() < at) {
					Thread.sleep(1);
				}
				assertTrue(crawl.isAlive(), Files.readString(dir.resolve("out")));
				server.destroyForcibly().waitFor();     /* SIGKILL */
				server = server(port);
			}
			assertTrue(crawl.waitFor(100, TimeUnit.SECONDS));
			server.destroyForcibly().waitFor();
			assertEquals(0, crawl.exitValue(), Files.readString(dir.resolve("out")));
			Map<String, Integer> counts = Run.counts(web);
			assertEquals(PAGES, counts.size());
			for (Map.Entry<String, Integer> count : counts.entrySet()) {
				assertEquals(1, count.getValue(), count.getKey());
			}
		}
	}

	private Process server(int port) throws Exception {
		Path output = dir.resolve("server." + System.nanoTime());
		Process server = Run.process(List.of("frontier", "--port=" + port,
				"--state=" + dir.resolve("frontier")), output);
		while (server.isAlive() && !Files.readString(output).startsWith("urlfrontier:")) {
			Thread.sleep(10);
		}
		assertTrue(server.isAlive(), Files.readString(output));
		return server;
	}

	private Process start(FrontierServer frontier, TestWeb web, String name) throws Exception {
		List<String> args = Run.fast(dir.resolve(name + ".log"), "--threads=platform",
				"--agent=" + name, "--max-threads=100", "--total-timeout=8s",
				"--connect-timeout=5s", "--lease=" + LEASE_SECONDS + "s",
				"--frontier=urlfrontier:127.0.0.1:" + frontier.port(), web.url(0));
		return Run.process(args, dir.resolve(name + ".out"));
	}

	private static long fetches(TestWeb web, String agent) {
		return web.hits().stream().filter(hit -> hit.agent().equals(agent)).count();
	}

	private static void check(TestWeb web, long killed) {
		Map<String, List<Hit>> hits = new HashMap<>();
		for (Hit hit : web.hits()) {
			if (hit.path().startsWith("/p/")) {
				hits.computeIfAbsent(hit.host() + hit.path(), k -> new ArrayList<>()).add(hit);
			}
		}
		int repeated = 0;
		int fromDoomed = 0;
		for (int page = 0; page < PAGES; page++) {
			List<Hit> of = hits.get(Run.key(web, page));
			assertNotEquals(null, of, "lost: page " + page);
			assertTrue(of.size() <= 2, "thrice: page " + page);
			if (of.size() == 2) {
				repeated++;
				Hit first = of.get(0);
				Hit second = of.get(1);
				if (first.agent().equals("Doomed")) {
					fromDoomed++;
					assertEquals("Survivor", second.agent(), "page " + page);
					assertTrue(second.startNanos() > killed, "before the kill: page " + page);
				}
				// A fetch starts while its lease has the time for a whole fetch left.
				double apart = (second.startNanos() - first.startNanos()) / 1e9;
				assertTrue(apart > FETCH_SECONDS,
						"page " + page + " again after " + apart + " s: within its lease");
			}
		}
		assertEquals(PAGES, hits.size());
		// Under way, waiting to be sent, and being sent: a hundred each.
		assertTrue(fromDoomed <= 300, fromDoomed + " repeated");
		System.out.println("shared frontier: " + PAGES + " pages, 0 lost, " + repeated
				+ " repeated by the survivor after their lease; fetched by the killed one: "
				+ fetches(web, "Doomed") + ", by the survivor: " + fetches(web, "Survivor"));
	}
}
