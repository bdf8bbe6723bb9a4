/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers that are busy for now: 429, 503 and Retry-After. Checks only lower bounds of time. */
@Timeout(120)
final class BusyTest {
	private record Hit(String path, long nanos) {
	}

	@TempDir
	private Path dir;
	private HttpServer server;
	private final ExecutorService threads = Executors.newFixedThreadPool(16);
	private final List<Hit> hits = Collections.synchronizedList(new ArrayList<>());
	private String base;
	/** The answer to the n-th request; further requests get 200. */
	private volatile String[] script = {};
	private volatile String robots = "";

	@BeforeEach
	void start() throws IOException {
		server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0),
				50);
		server.setExecutor(threads);
		server.createContext("/", this::answer);
		server.start();
		base = "http://127.0.0.1:" + server.getAddress().getPort();
	}

	@AfterEach
	void stop() {
		server.stop(0);
		threads.shutdownNow();
	}

	private void answer(HttpExchange e) throws IOException {
		String path = e.getRequestURI().getPath();
		int n;
		synchronized (hits) {
			n = hits.size();
			hits.add(new Hit(path, System.nanoTime()));
		}
		String[] w = n < script.length ? script[n].split(" ", 2) : new String[] {"200"};
		if (w.length > 1) {
			e.getResponseHeaders().set("Retry-After", w[1]);
		}
		byte[] body = (path.equals("/robots.txt") ? robots
				: "<a href='/b'>b</a><a href='/c'>c</a>").getBytes(StandardCharsets.US_ASCII);
		e.getResponseHeaders().set("Content-Type", path.equals("/robots.txt") ? "text/plain"
				: "text/html");
		e.sendResponseHeaders(Integer.parseInt(w[0]), body.length);
		e.getResponseBody().write(body);
		e.close();
	}

	private List<Run.Line> crawl(String... more) throws IOException {
		List<String> args = Run.fast(dir.resolve("log"), "--threads=platform",
				"--busy-retries=5");
		args.addAll(List.of(more));
		args.add(base + "/");
		Run.here(args);
		return Run.log(dir.resolve("log"));
	}

	private void apart(int a, int b, long millis) {
		long gap = (hits.get(b).nanos - hits.get(a).nanos) / 1_000_000;
		assertTrue(gap >= millis, "only " + gap + " ms between " + hits.get(a) + " and "
				+ hits.get(b));
	}

	@Test
	void who_is_told_to_come_back_later_does_and_nobody_comes_before() throws IOException {
		script = new String[] {"200", "429 1", "503 2"};
		List<Run.Line> log = crawl("--no-robots");
		assertEquals(List.of("page", "page", "page"), log.stream().map(Run.Line::outcome)
				.toList());
		assertEquals(5, hits.size());
		/* Both pages were asked for. The second answer is the one that counts for the host. */
		apart(2, 3, 2_000);
		apart(2, 4, 2_000);
	}

	@Test
	void a_host_that_was_busy_is_asked_more_slowly() throws Exception {
		HostGate gate = new HostGate(1, 0);
		gate.enter();
		gate.busy(0);
		gate.leave();
		long start = System.nanoTime();
		for (int k = 0; k < 3; k++) {
			gate.enter();
			gate.fine();
			gate.leave();
		}
		assertTrue(System.nanoTime() - start >= 300_000_000L, "it is not asked more slowly");
		for (int k = 0; k < 7; k++) {
			gate.fine();
		}
		assertTrue(!gate.delays(), "still slow after ten good answers");
	}

	/**
	 * With several requests at a time, the threads that had their turn before the host became
	 * busy do not all start at once.
	 */
	@Test
	void who_had_a_turn_takes_another_when_the_host_is_quiet() throws Exception {
		HostGate gate = new HostGate(4, 50);
		gate.enter();
		List<Long> starts = Collections.synchronizedList(new ArrayList<>());
		List<Thread> others = new ArrayList<>();
		for (int k = 0; k < 3; k++) {
			Thread t = new Thread(() -> {
				try {
					gate.enter();
					starts.add(System.nanoTime());
					gate.leave();
				} catch (InterruptedException e) {
					throw new IllegalStateException(e);
				}
			});
			others.add(t);
			t.start();
		}
		long busy = System.nanoTime();
		gate.busy(300);
		for (Thread t : others) {
			t.join();
		}
		/*
		 * The starts from 300 ms on are 100 ms apart. `before` counts the threads that had started
		 * earlier.
		 */
		long last = Collections.max(starts) - busy;
		long before = starts.stream().filter(s -> s - busy < 300_000_000L).count();
		assertTrue(last >= 300_000_000L + (2 - before) * 100_000_000L || before == 3,
				"all at once: " + last + ", " + before + " before");
	}

	@Test
	void a_server_that_stays_busy_is_given_up() throws IOException {
		script = new String[] {"503 0", "503 0", "503 0", "503 0"};
		List<Run.Line> log = crawl("--no-robots", "--busy-retries=2");
		assertEquals("http-error", log.get(0).outcome());
		assertEquals(503, log.get(0).status());
		assertEquals(3, hits.size());
	}

	@Test
	void who_asks_for_a_day_is_not_waited_for() throws IOException {
		script = new String[] {"429 86400"};
		List<Run.Line> log = crawl("--no-robots");
		assertEquals(1, hits.size());
		assertEquals("429, retry after 86400", log.get(0).note());
	}

	@Test
	void robots_txt_is_asked_for_again_when_the_server_says() throws IOException {
		script = new String[] {"503 1", "429 0"};
		robots = "User-agent: *\nDisallow: /c\n";
		List<String> outcomes = new ArrayList<>();
		for (Run.Line line : crawl()) {
			outcomes.add(line.url().replace(base, "") + " " + line.outcome());
		}
		Collections.sort(outcomes);
		assertEquals(List.of("/ page", "/b page", "/c robots"), outcomes);
		assertEquals("/robots.txt", hits.get(2).path);
		apart(0, 1, 1_000);
	}

	@Test
	void the_delay_holds_between_robots_txt_and_the_first_page() throws IOException {
		crawl("--delay=700ms", "--per-host=1", "--depth=0");
		assertEquals(List.of("/robots.txt", "/"), hits.stream().map(Hit::path).toList());
		apart(0, 1, 700);
	}

	@Test
	void a_crawl_delay_holds_from_robots_txt_itself() throws IOException {
		robots = "User-agent: *\nCrawl-delay: 1\n";
		crawl("--per-host=1", "--depth=0");
		apart(0, 1, 1_000);
	}

	@Test
	void dates_are_read_as_well_as_seconds() {
		Instant now = Instant.parse("2026-01-02T03:04:05Z");
		assertEquals(120_000, Busy.asked("120", now));
		assertEquals(5_000, Busy.asked("Fri, 02 Jan 2026 03:04:10 GMT", now));
		assertEquals(0, Busy.asked("Fri, 02 Jan 2026 03:04:00 GMT", now));
		for (String bad : List.of("", "-1", "soon", "99999999999")) {
			assertEquals(-1, Busy.asked(bad, now));
		}
	}
}
