/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.ukthreads.pico.piranha.http.HttpClient;
import org.ukthreads.pico.piranha.http.HttpLimits;
import org.ukthreads.pico.piranha.http.Target;

/** A robots.txt that cannot be read: what is allowed, and for how long. */
@Timeout(20)
final class RobotsTest {
	private final AtomicInteger hits = new AtomicInteger();
	private HttpServer server;
	private volatile int status;
	private String base;

	@BeforeEach
	void start() throws IOException {
		server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0),
				5);
		server.createContext("/", exchange -> {
			hits.incrementAndGet();
			byte[] body = "User-agent: *\nDisallow: /private\n".getBytes(
					StandardCharsets.US_ASCII);
			exchange.sendResponseHeaders(status, body.length);
			exchange.getResponseBody().write(body);
			exchange.close();
		});
		server.start();
		base = "http://127.0.0.1:" + server.getAddress().getPort();
	}

	@AfterEach
	void stop() {
		server.stop(0);
	}

	private static Robots robots(long retryMillis) {
		return new Robots(new HttpClient("Test/1", new HttpLimits(10_000, 10_000, 15_000,
				10_000), false, false), new Gates(Optional.empty(), Optional.empty()), "Test/1", retryMillis,
				new Busy(0, 0));
	}

	@Test
	void a_server_in_trouble_is_asked_again_when_the_time_has_come() throws Exception {
		Target target = Target.of(base + "/page");
		Robots robots = robots(0);
		status = 503;
		Robots.Rules rules = robots.rules(target);
		assertFalse(rules.allow(target.url()));
		assertTrue(rules.trouble().contains("503"), rules.trouble());
		status = 200;
		for (int time = 0; time < 2; time++) {
			rules = robots.rules(target);
			assertTrue(rules.allow(target.url()));
			assertFalse(rules.allow(base + "/private"));
		}
		assertEquals(2, hits.get());
	}

	@Test
	void a_server_in_trouble_is_left_alone_for_a_while() throws Exception {
		Robots robots = robots(Robots.RETRY_MILLIS);
		status = 500;
		for (int time = 0; time < 3; time++) {
			assertFalse(robots.rules(Target.of(base + "/page")).allow(base + "/page"));
		}
		assertEquals(1, hits.get());
	}

	@Test
	void a_server_without_rules_allows_all() throws Exception {
		Robots robots = robots(0);
		for (int code : new int[] {404, 403}) {
			status = code;
			assertTrue(robots.rules(Target.of(base + "/private")).allow(base + "/private"));
		}
		assertEquals(1, hits.get());
	}
}
