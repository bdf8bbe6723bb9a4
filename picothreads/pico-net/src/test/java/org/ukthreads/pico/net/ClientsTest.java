// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.HttpCalls;
import org.ukthreads.fixtures.RedisCalls;
import org.ukthreads.fixtures.SqlCalls;

/** Published clients against real servers print the same translated and untranslated. */
@Timeout(300)
@Tag("long")
final class ClientsTest {
	@TempDir
	Path dir;

	private static void report(String what, String want, long plain, long pico) {
		System.err.println(what + ": " + want.split("\n").length + " equal lines, plain "
			+ plain / 1_000_000 + " ms, translated (translation included) "
			+ pico / 1_000_000 + " ms, pins that blocked: " + Harness.pinned);
	}

	private void same(List<Path> p, Class<?> c, String... args) throws Exception {
		long a = System.nanoTime();
		String want = Harness.plain(p, c, args);
		long b = System.nanoTime();
		assertTrue(want.length() > 20 && !want.contains("\tat "), want);
		String got = Harness.pico(p, c, args);
		assertEquals(want, got);
		report(c.getSimpleName(), want, b - a, System.nanoTime() - b);
	}

	@Test
	@Tag("2/3")
	void a_thousand_jedis_clients() throws Exception {
		try (Servers s = Servers.redis()) {
			assumeTrue(s != null, "redis-server is not installed");
			same(Harness.program(dir, RedisCalls.class, "jedis", "commons-pool2", "slf4j-api",
				"slf4j-nop", "gson", "json"), RedisCalls.class, "" + s.port, "1000");
		}
	}

	@Test
	@Tag("3/3")
	void pgjdbc_and_hikari() throws Exception {
		try (Servers s = Servers.postgres()) {
			assumeTrue(s != null, "PostgreSQL is not installed");
			same(Harness.program(dir, SqlCalls.class, "postgresql", "HikariCP", "slf4j-api",
				"slf4j-nop"), SqlCalls.class, "" + s.port, "1000");
		}
	}

	@Test
	@Tag("1/3")
	void a_thousand_okhttp_calls_at_once() throws Exception {
		int n = 1000;
		CyclicBarrier all = new CyclicBarrier(n);
		HttpServer h = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(),
			0), n);
		ExecutorService threads = Executors.newFixedThreadPool(n);
		h.setExecutor(threads);
		h.createContext("/all/", x -> {
			byte[] body = x.getRequestBody().readAllBytes();
			try {
				all.await(60, TimeUnit.SECONDS);
			} catch (Exception e) {
				body = ("alone: " + e).getBytes();
			}
			byte[] b = (x.getRequestURI() + " " + new String(body)).getBytes();
			x.sendResponseHeaders(200, b.length);
			x.getResponseBody().write(b);
			x.close();
		});
		h.start();
		try {
			same(Harness.program(dir, HttpCalls.class, "okhttp", "okio-jvm", "kotlin-stdlib"),
				HttpCalls.class, "http://127.0.0.1:" + h.getAddress().getPort(), "" + n);
		} finally {
			h.stop(0);
			threads.shutdownNow();
		}
	}
}
