/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.piranha.frontier.FairFrontier;
import org.ukthreads.pico.piranha.frontier.Standby;
import org.ukthreads.pico.piranha.web.Hit;
import org.ukthreads.pico.piranha.web.TestWeb;
import org.ukthreads.pico.piranha.web.WebBuilder;

/** Two crawler processes share a URLFrontier; one is killed; the other finishes the crawl. */
@Timeout(900)
final class SharedCrawlTest {
	private static final int PAGES = 2000;

	@TempDir
	private Path dir;

	@Test
	void the_survivor_loses_nothing_and_repeats_nothing_within_a_lease() throws Exception {
		CompletableFuture<Process> doomed = new CompletableFuture<>();
		AtomicBoolean killed = new AtomicBoolean();
		Map<String, Integer> seen = new HashMap<>();    /* only used by the web's thread */
		try (FairFrontier frontier = new FairFrontier();
				TestWeb web = web(hit -> {
					seen.merge(hit.agent(), 1, Integer::sum);
					if (!killed.get() && hit.agent().equals("Doomed")
							&& seen.get("Doomed") >= 400
							&& seen.getOrDefault("Survivor", 0) >= 300) {
						kill(doomed.join());
						frontier.callOff();
						killed.set(true);
					}
				})) {
			doomed.complete(start(frontier, web, "Doomed"));
			Process survivor = start(frontier, web, "Survivor");
			assertEquals(128 + 9, doomed.get().waitFor(),
					Files.readString(dir.resolve("Doomed.out")));
			assertTrue(survivor.waitFor(600, TimeUnit.SECONDS));
			assertEquals(0, survivor.exitValue(), Files.readString(dir.resolve("Survivor.out")));
			assertNotEquals(0, frontier.leasesEnded());
			check(web, frontier.leasesEnded());
		}
	}

	@Test
	void the_frontier_server_is_killed_and_starts_again() throws Exception {
		int port;
		try (ServerSocket free = new ServerSocket(0, 1,
				InetAddress.getByName(Standby.HOST))) {
			port = free.getLocalPort();
		}
		Queue<Process> servers = new ConcurrentLinkedQueue<>(List.of(server(port), server(port),
				server(port)));
		serve(servers);
		assertEquals("serving", servers.element().inputReader().readLine());
		AtomicInteger left = new AtomicInteger(1500);
		try (TestWeb web = web(hit -> {
			if (left.decrementAndGet() % 1000 == 0) {   /* the 500th and the 1,500th */
				kill(servers.remove());
				serve(servers);
			}
		})) {
			List<String> args = Run.fast(dir.resolve("log"), "--threads=platform",
					"--max-threads=100", "--total-timeout=120s", "--lease=900s",
					"--frontier=urlfrontier:" + Standby.HOST + ":" + port, web.url(0));
			Process crawl = Run.process(args, dir.resolve("out"));
			assertTrue(crawl.waitFor(600, TimeUnit.SECONDS));
			assertEquals(1, servers.size());
			kill(servers.remove());
			assertEquals(0, crawl.exitValue(), Files.readString(dir.resolve("out")));
			Map<String, Integer> counts = Run.counts(web);
			assertEquals(PAGES, counts.size());
			for (Map.Entry<String, Integer> count : counts.entrySet()) {
				assertEquals(1, count.getValue(), count.getKey());
			}
		}
	}

	private static TestWeb web(Consumer<Hit> watcher) throws IOException {
		return new WebBuilder().pages(PAGES).hosts(4).delayMillis(20).watcher(watcher).start();
	}

	/** Kills a process by SIGKILL, and waits until it no longer runs. */
	private static void kill(Process process) {
		process.destroyForcibly().onExit().join();
	}

	/** Starts a server process that waits until it is the first in the queue. */
	private Process server(int port) throws IOException {
		Process process = new ProcessBuilder(Run.command(Standby.class, List.of("" + port,
				dir.resolve("frontier").toString()))).redirectErrorStream(true).start();
		assertEquals("ready", process.inputReader().readLine());
		return process;
	}

	private static void serve(Queue<Process> servers) {
		try {
			OutputStream in = servers.element().getOutputStream();  /* the server ends at its end */
			in.write('\n');
			in.flush();
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	private Process start(FairFrontier frontier, TestWeb web, String name) throws Exception {
		List<String> args = Run.fast(dir.resolve(name + ".log"), "--threads=platform",
				"--agent=" + name, "--max-threads=100", "--total-timeout=120s",
				"--connect-timeout=60s", "--lease=900s",
				"--frontier=urlfrontier:127.0.0.1:" + frontier.port(), web.url(0));
		return Run.process(args, dir.resolve(name + ".out"));
	}

	private static long fetches(TestWeb web, String agent) {
		return web.hits().stream().filter(hit -> hit.agent().equals(agent)).count();
	}

	private static void check(TestWeb web, long leasesEnded) {
		Map<String, List<Hit>> hits = new HashMap<>();
		for (Hit hit : web.hits()) {
			if (hit.path().startsWith("/p/")) {
				hits.computeIfAbsent(hit.host() + hit.path(), k -> new ArrayList<>()).add(hit);
			}
		}
		int repeated = 0;
		for (int page = 0; page < PAGES; page++) {
			List<Hit> of = hits.get(Run.key(web, page));
			assertNotEquals(null, of, "lost: page " + page);
			assertTrue(of.size() <= 2, "fetched three times: page " + page);
			if (of.size() == 2) {
				repeated++;
				Hit first = of.get(0);
				Hit second = of.get(1);
				assertEquals("Doomed", first.agent(), "page " + page);
				assertEquals("Survivor", second.agent(), "page " + page);
				assertTrue(second.startNanos() > leasesEnded,
						"page " + page + " again within its lease");
			}
		}
		assertEquals(PAGES, hits.size());
		// Under way, waiting to be sent, and being sent: a hundred each.
		assertTrue(repeated <= 300, repeated + " repeated");
		System.out.println("shared frontier: " + PAGES + " pages, 0 lost, " + repeated
				+ " repeated by the survivor after their lease; fetched by the killed one: "
				+ fetches(web, "Doomed") + ", by the survivor: " + fetches(web, "Survivor"));
	}
}
