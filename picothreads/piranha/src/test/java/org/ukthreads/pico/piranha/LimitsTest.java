/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.piranha.web.TestWeb;
import org.ukthreads.pico.piranha.web.WebBuilder;

/** Depth, scope, the other limits, and the messages for bad input. */
@Timeout(60)
final class LimitsTest {
	@TempDir
	private Path dir;

	@Test
	void depth_counts_clicks_from_the_seed() throws IOException {
		try (TestWeb web = new WebBuilder().pages(200).hosts(2).fanout(5).start()) {
			crawl(0, "--depth=2", web.url(0));
			Map<String, Integer> counts = Run.counts(web);
			for (int page = 0; page < 200; page++) {
				assertEquals(web.graph().depth(page) <= 2,
						counts.containsKey(Run.key(web, page)), "page " + page);
			}
		}
	}

	@Test
	void the_scope_is_the_seeds_host_unless_told_otherwise() throws IOException {
		// Page 0 links to all pages; the even pages are on its host.
		try (TestWeb web = new WebBuilder().pages(100).hosts(2).fanout(99).start()) {
			crawl(0, "--scope=host", web.url(0));
			Map<String, Integer> counts = Run.counts(web);
			for (int page = 0; page < 100; page++) {
				assertEquals(page % 2 == 0, counts.containsKey(Run.key(web, page)));
			}
		}
	}

	@Test
	void prefix_include_and_exclude_narrow_the_scope() throws IOException {
		try (TestWeb web = new WebBuilder().pages(50).hosts(1).fanout(49).traps(true).start()) {
			crawl(0, "--scope=prefix", "--include=[0-4][.]html$", "--exclude=/p/4",
					web.url(0));
			for (String url : Run.counts(web).keySet()) {
				assertTrue(url.matches("127.0.0.1/p/(\\d|[0-35-9]\\d)?[0-4][.]html")
						&& !url.contains("/p/4"), url);
			}
			assertEquals(4 + 5 * 3, Run.counts(web).size(), Run.counts(web).toString());
		}
	}

	@Test
	void max_pages_stops_and_the_rest_can_be_resumed() throws IOException {
		try (TestWeb web = new WebBuilder().pages(300).hosts(2).start()) {
			String state = "--frontier=disk:" + dir.resolve("state");
			crawl(0, state, "--max-pages=100", web.url(0));
			assertEquals(100, Run.counts(web).size());
			crawl(2, state, web.url(0));
			crawl(0, state, "--resume", web.url(0));
			Map<String, Integer> counts = Run.counts(web);
			assertEquals(300, counts.size());
			for (int count : counts.values()) {
				assertEquals(1, count);
			}
		}
	}

	@Test
	void max_time_stops_a_polite_crawl_of_many_pages() throws IOException {
		try (TestWeb web = new WebBuilder().pages(500).hosts(1).fanout(499).start()) {
			long start = System.nanoTime();
			crawl(0, "--delay=1s", "--per-host=1", "--max-time=2s", web.url(0));
			double seconds = (System.nanoTime() - start) / 1e9;
			assertTrue(seconds < 20, seconds + " s");
			assertTrue(Run.counts(web).size() < 6, Run.counts(web).size() + " pages");
		}
	}

	@Test
	void max_time_does_not_wait_for_the_next_turn_at_a_host() throws IOException {
		try (TestWeb web = new WebBuilder().pages(50).hosts(1).fanout(49).start()) {
			long start = System.nanoTime();
			crawl(0, "--no-robots", "--delay=45s", "--per-host=1", "--max-time=4s", web.url(0));
			double seconds = (System.nanoTime() - start) / 1e9;
			assertTrue(seconds < 20, seconds + " s");
			assertEquals(1, Run.counts(web).size());
		}
	}

	@Test
	void what_a_server_says_cannot_command_the_terminal() throws Exception {
		try (ServerSocket server = new ServerSocket(0)) {
			Thread thread = new Thread(() -> {
				try (Socket socket = server.accept()) {
					socket.getOutputStream().write(("HTTP/1.1 302 x\r\nLocation: /\u001b[2J\u009b"
							+ "2J\tx\ry\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1));
					socket.shutdownOutput();
					socket.getInputStream().readAllBytes();
				} catch (IOException e) {
					throw new IllegalStateException(e);
				}
			});
			thread.start();
			crawl(1, "--max-redirects=0", "--no-robots", "http://127.0.0.1:"
					+ server.getLocalPort() + "/");
			thread.join();
		}
		Run.Line line = Run.log(dir.resolve("log")).get(0);
		assertEquals("redirect-limit", line.outcome());
		assertEquals("/ [2J 2J x y", line.note());
	}

	@Test
	void nothing_fetched_is_exit_code_1() throws IOException {
		try (Socket nobody = new Socket()) {   /* holds the port and does not listen */
			nobody.bind(new InetSocketAddress("127.0.0.1", 0));
			crawl(1, "http://127.0.0.1:" + nobody.getLocalPort() + "/");
		}
		List<Run.Line> log = Run.log(dir.resolve("log"));
		assertEquals("failed", log.get(0).outcome());
		assertTrue(log.get(0).note().contains("refused"), log.toString());
	}

	@Test
	void bad_usage_is_exit_code_2_and_says_why() {
		complains("'gopher://x/' is not an http or https URL", "gopher://x/");
		complains("Give at least one URL", "--depth=2");
		complains("'5' is not a time", "--delay=5", "http://127.0.0.1/");
		complains("'1T' is not a size", "--max-size=1T", "http://127.0.0.1/");
		complains("one of memory, disk:DIR", "--frontier=db", "http://127.0.0.1/");
		complains("pool:N takes a number", "--threads=pool:x", "http://127.0.0.1/");
		complains("start it with 'pico piranha'", "--threads=pico", "http://127.0.0.1/");
		complains("--resume needs", "--resume", "http://127.0.0.1/");
		complains("Unknown option: '--wrong'", "--wrong", "http://127.0.0.1/");
		complains("Dangling meta", "--include=*", "http://127.0.0.1/");
	}

	@Test
	void a_frontier_that_is_no_frontier_is_exit_code_4() throws IOException {
		Files.write(dir.resolve("frontier.journal"), "something else".getBytes());
		assertEquals(4, Run.here(Run.fast(dir.resolve("log"), "--frontier=disk:" + dir,
				"--resume", "http://127.0.0.1/")));
	}

	@Test
	void an_archive_that_cannot_be_written_is_exit_code_4() throws IOException {
		Path file = Files.write(dir.resolve("file"), new byte[1]);
		assertEquals(4, Run.here(Run.fast(dir.resolve("log"), "--warc=" + file.resolve("x"),
				"http://127.0.0.1/")));
		assertEquals(4, Run.here(Run.fast(file.resolve("log"), "http://127.0.0.1/")));
	}

	@Test
	void the_summary_is_for_people_and_for_scripts() throws IOException {
		PrintStream out = System.out;
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		Path json = dir.resolve("summary.json");
		try (TestWeb web = new WebBuilder().pages(20).hosts(1).start()) {
			System.setOut(new PrintStream(bytes, true));
			assertEquals(0, Piranha.run("--delay=0", "--threads=platform", "--json=" + json,
					web.url(0)));
		} finally {
			System.setOut(out);
		}
		assertTrue(bytes.toString().startsWith("20 URLs in "), bytes.toString());
		String text = Files.readString(json);
		assertTrue(text.startsWith("{\"urls\":20,\"pages\":20,"), text);
		assertTrue(text.contains("\"page\":20"), text);
	}

	private void crawl(int code, String... options) {
		List<String> args = Run.fast(dir.resolve("log"), "--threads=platform");
		args.addAll(List.of(options));
		assertEquals(code, Run.here(args));
	}

	private static void complains(String words, String... args) {
		PrintStream err = System.err;
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		System.setErr(new PrintStream(bytes, true));
		try {
			assertEquals(2, Piranha.run(args), words);
		} finally {
			System.setErr(err);
		}
		assertTrue(bytes.toString().contains(words), bytes.toString());
	}
}
