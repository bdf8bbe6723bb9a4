/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class TestWebTest {
	@Test
	void pages_have_the_size_that_the_graph_says() throws IOException {
		try (TestWeb web = new WebBuilder().pages(50).hosts(3).size(1000, 100_000).start()) {
			for (int page = 0; page < 50; page++) {
				byte[] body = get(web.url(page));
				assertEquals(web.graph().size(page), body.length, web.url(page));
				String text = new String(body, StandardCharsets.UTF_8);
				for (int link : web.graph().links(page)) {
					assertTrue(text.contains(web.graph().path(link)), "no link to " + link);
				}
				assertTrue(text.endsWith("</html>\n"));
			}
		}
	}

	@Test
	void a_page_larger_than_the_filler_is_whole() throws IOException {
		try (TestWeb web = new WebBuilder().pages(1).size(3_333_333, 3_333_333).start()) {
			assertEquals(3_333_333, get(web.url(0)).length);
		}
	}

	@Test
	void every_page_is_one_click_below_its_parent() {
		WebGraph graph = new WebGraph(7, 500, 4, 5, 100, 100);
		int[] best = new int[500];
		java.util.Arrays.fill(best, Integer.MAX_VALUE);
		best[0] = 0;
		for (int page = 0; page < 500; page++) {
			for (int link : graph.links(page)) {
				best[link] = Math.min(best[link], best[page] + 1);
			}
		}
		for (int page = 0; page < 500; page++) {
			assertEquals(best[page], graph.depth(page), "page " + page);
		}
	}

	@Test
	void a_thousand_delayed_answers_wait_at_once() throws IOException {
		try (TestWeb web = new WebBuilder().pages(10).hosts(1).delayMillis(500).start()) {
			long start = System.nanoTime();
			List<Socket> sockets = new ArrayList<>();
			for (int i = 0; i < 1000; i++) {
				Socket socket = new Socket("127.0.0.1", web.port());
				socket.getOutputStream().write(
						"GET /p/1.html HTTP/1.1\r\nConnection: close\r\n\r\n".getBytes());
				sockets.add(socket);
			}
			for (Socket socket : sockets) {
				assertTrue(drain(socket.getInputStream()).length > 1024);
				socket.close();
			}
			long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
			/* One after the other they would take 500 s. */
			assertTrue(millis >= 500 && millis < 250_000, millis + " ms");
			assertEquals(1000, web.hits().size());
		}
	}

	private static byte[] get(String url) throws IOException {
		try (InputStream in = new URL(url).openStream()) {
			return drain(in);
		}
	}

	private static byte[] drain(InputStream in) throws IOException {
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		in.transferTo(out);
		return out.toByteArray();
	}
}
