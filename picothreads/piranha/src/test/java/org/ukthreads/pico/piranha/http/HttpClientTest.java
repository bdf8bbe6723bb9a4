/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.MalformedURLException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What servers really send. Each connection uses the next script: the answers to its requests. */
@Timeout(20)
final class HttpClientTest {
	private final List<String[]> scripts = new ArrayList<>();
	private ServerSocket server;
	private volatile int connections;
	private HttpClient http;

	@BeforeEach
	void start() throws IOException {
		server = new ServerSocket(0, 10, InetAddress.getByName("127.0.0.1"));
		http = new HttpClient("Test/1", new HttpLimits(1000, 400, 1500, 1000), true, true);
		Thread thread = new Thread(this::serve, "server");
		thread.setDaemon(true);
		thread.start();
	}

	@AfterEach
	void stop() throws IOException {
		http.close();
		server.close();
	}

	@Test
	void a_body_ends_where_its_length_says() throws IOException {
		scripts.add(new String[] {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
			"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"});
		HttpResponse response = get();
		assertEquals("hello", text(response));
		assertEquals("ok", text(get()));
		assertEquals(1, connections, "the connection was not kept");
		assertTrue(new String(response.exchange().request(), StandardCharsets.US_ASCII)
				.startsWith("GET /x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:" + server.getLocalPort()));
		assertEquals("127.0.0.1", response.exchange().peer());
	}

	@Test
	void a_stale_connection_is_replaced_unseen() throws IOException {
		scripts.add(new String[] {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"});
		scripts.add(new String[] {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2"});
		assertEquals("1", text(get()));
		assertEquals("2", text(get()));
		assertEquals(2, connections);
	}

	@Test
	void an_old_idle_connection_makes_room_for_a_new_one() throws IOException {
		IdleWires idle = new IdleWires(2, 3);
		Target target = Target.of("http://127.0.0.1:" + server.getLocalPort() + "/");
		for (String origin : new String[] {"a", "b", "b", "b", "c"}) {
			idle.give(origin, Wire.open(target, new HttpLimits(1000, 400, 1500, 1000),
					System.nanoTime() + 10_000_000_000L));
		}
		assertFalse(idle.take("a").isPresent());
		assertTrue(idle.take("c").isPresent());
		assertTrue(idle.take("b").isPresent());
		idle.close();
	}

	@Test
	void a_body_without_length_ends_with_the_connection() throws IOException {
		scripts.add(new String[] {"HTTP/1.0 200\r\n\r\nto the end"});
		assertEquals("to the end", text(get()));
	}

	@Test
	void interim_answers_are_skipped() throws IOException {
		scripts.add(new String[] {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
			+ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"});
		assertEquals("x", text(get()));
	}

	@Test
	void what_is_longer_than_the_limit_is_cut() throws IOException {
		scripts.add(new String[] {"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"
			+ "x".repeat(1001)});
		scripts.add(new String[] {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
			+ "7d0\r\n" + "y".repeat(2000) + "\r\n0\r\n\r\n"});
		scripts.add(new String[] {"HTTP/1.1 200 OK\r\n\r\n" + "z".repeat(5000)});
		for (String letter : new String[] {"x", "y", "z"}) {
			HttpResponse response = get();
			assertTrue(response.truncated());
			assertEquals(letter.repeat(1000), text(response));
		}
	}

	@Test
	void exactly_the_limit_is_whole() throws IOException {
		scripts.add(new String[] {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
			+ "x".repeat(1000)});
		assertFalse(get().truncated());
	}

	@Test
	void silence_is_a_time_out() {
		scripts.add(new String[] {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "never"});
		assertThrows(SocketTimeoutException.class, this::get);
	}

	/**
	 * The server sends a byte of a TLS record now and then, so no single read of TLS takes too
	 * long.
	 */
	@Test
	void a_slow_handshake_is_a_time_out() throws IOException {
		try (ServerSocket slow = new ServerSocket(0, 10, InetAddress.getByName("127.0.0.1"))) {
			Thread thread = new Thread(() -> {
				try (Socket socket = slow.accept()) {
					socket.getOutputStream().write(new byte[] {22, 3, 3, 64, 0, 2});
					while (true) {
						socket.getOutputStream().write(0);
						Thread.sleep(100);
					}
				} catch (IOException | InterruptedException e) {
					// The client has gone.
				}
			});
			thread.start();
			long start = System.nanoTime();
			assertThrows(SocketTimeoutException.class, () -> http.get(Target.of(
					"https://127.0.0.1:" + slow.getLocalPort() + "/")));
			double seconds = (System.nanoTime() - start) / 1e9;
			assertTrue(seconds < 10, seconds + " s");
			thread.interrupt();
		}
	}

	@Test
	void nonsense_is_an_error_and_not_a_page() {
		for (String nonsense : new String[] {"SSH-2.0-OpenSSH_9\r\n", "HTTP/1.1 OK\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx",
			"HTTP/1.1 200 OK\r\n" + "A: b\r\n".repeat(300) + "\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", ""}) {
			scripts.add(new String[] {nonsense});
			assertThrows(IOException.class, this::get, nonsense);
		}
	}

	/** A line end would end the request's first line, and let the URL's author add headers. */
	@Test
	void a_target_has_no_line_end() {
		for (String url : new String[] {"http://h/a\r\nb: c", "http://h\n/a", "http://h/a\u0085"}) {
			assertThrows(MalformedURLException.class, () -> Target.of(url));
		}
	}

	@Test
	void a_provisional_answer_is_not_archived() throws IOException {
		String ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
		scripts.add(new String[] {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
			+ "HTTP/1.1 102 Wait\r\n\r\n" + ok, ok});
		for (int time = 0; time < 2; time++) {
			HttpResponse response = get();
			assertEquals("ok", text(response));
			assertEquals(ok, new String(response.exchange().response(),
					StandardCharsets.US_ASCII));
		}
	}

	@Test
	void a_packed_body_that_was_cut_is_read_as_far_as_it_goes() throws IOException {
		ByteArrayOutputStream packed = new ByteArrayOutputStream();
		try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
			gzip.write("hello, and more of it".getBytes(StandardCharsets.US_ASCII));
		}
		String all = new String(packed.toByteArray(), StandardCharsets.ISO_8859_1);
		for (int length : new int[] {all.length(), all.length() - 4, 15, 5, 1}) {
			scripts.add(new String[] {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
				+ "Content-Length: " + length + "\r\n\r\n" + all.substring(0, length)});
			HttpResponse response = get();
			assertTrue("hello, and more of it".startsWith(text(response)), text(response));
			assertFalse(response.truncated(), "truncated within the limit");
			assertEquals(length < all.length(), response.damage().startsWith("broken gzip: "),
					response.damage());
			assertTrue(response.exchange().whole());
		}
	}

	@Test
	void a_broken_packed_body_is_called_that() throws IOException {
		ByteArrayOutputStream packed = new ByteArrayOutputStream();
		try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
			gzip.write("hello, and more of it".getBytes(StandardCharsets.US_ASCII));
		}
		byte[] whole = packed.toByteArray();
		for (int at : new int[] {0, 12, whole.length - 6}) {
			byte[] bad = whole.clone();
			bad[at] ^= 0x55;
			scripts.add(new String[] {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
				+ "Content-Length: " + bad.length + "\r\n\r\n"
				+ new String(bad, StandardCharsets.ISO_8859_1)});
			HttpResponse response = get();
			assertTrue(response.damage().startsWith("broken gzip: "), at + response.damage());
			assertEquals(200, response.status());
			assertFalse(response.truncated());
		}
	}

	@Test
	void an_ipv6_address_is_looked_up_without_its_brackets() throws IOException {
		Target target = Target.of("http://[::1]:8080/a");
		assertEquals("::1", target.name());
		assertEquals("[::1]:8080", target.authority());
		assertEquals("http://[::1]:8080", target.origin());
	}

	@Test
	void type_and_charset_are_told_apart() throws IOException {
		scripts.add(new String[] {"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML ; q=1;"
			+ " Charset=\"ISO-8859-1\"\r\nContent-Length: 0\r\n\r\n"});
		HttpResponse response = get();
		assertEquals("text/html", response.mediaType());
		assertEquals("ISO-8859-1", response.charset());
	}

	private HttpResponse get() throws IOException {
		return http.get(Target.of("http://127.0.0.1:" + server.getLocalPort() + "/x?y=1"));
	}

	private static String text(HttpResponse response) {
		return new String(response.body(), StandardCharsets.US_ASCII);
	}

	private void serve() {
		try {
			while (true) {
				try (Socket socket = server.accept()) {
					answer(socket, scripts.get(connections++));
				}
			}
		} catch (IOException e) {
			// The test is over.
		}
	}

	private static void answer(Socket socket, String[] answers) {
		try {
			InputStream in = socket.getInputStream();
			for (String answer : answers) {
				int newlines = 0;
				while (newlines < 2) {
					int b = in.read();
					if (b < 0) {
						return;
					}
					newlines = b == '\n' ? newlines + 1 : b == '\r' ? newlines : 0;
				}
				socket.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
				socket.getOutputStream().flush();
			}
		} catch (IOException e) {
			// The client has seen enough.
		}
	}
}
