/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A crawl through a proxy, of hosts that only the proxy knows. */
@Timeout(60)
final class ProxyTest {
	@TempDir
	private Path dir;
	private ServerSocket proxy;
	private final List<String> heads = Collections.synchronizedList(new ArrayList<>());
	private volatile String toConnect = "HTTP/1.1 403 no\r\n\r\n";

	@BeforeEach
	void start() throws IOException {
		proxy = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
		Thread t = new Thread(() -> {
			while (!proxy.isClosed()) {
				try {
					Socket s = proxy.accept();
					Thread one = new Thread(() -> serve(s), "proxied");
					one.setDaemon(true);
					one.start();
				} catch (IOException e) {
					return;
				}
			}
		}, "proxy");
		t.setDaemon(true);
		t.start();
	}

	@AfterEach
	void stop() throws IOException {
		proxy.close();
	}

	/** Answers as the host itself would, so that no request leaves this machine. */
	private void serve(Socket s) {
		try (Socket socket = s) {
			InputStream in = socket.getInputStream();
			OutputStream out = socket.getOutputStream();
			for (String head = head(in); !head.isEmpty(); head = head(in)) {
				heads.add(head);
				String body = head.contains("/robots.txt") ? "" : "<a href='/next'>next</a>";
				out.write((head.startsWith("CONNECT") ? toConnect
						: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: "
						+ body.length() + "\r\n\r\n" + body)
						.getBytes(StandardCharsets.US_ASCII));
				if (head.startsWith("CONNECT")) {
					return;
				}
			}
		} catch (IOException e) {
			// The crawler has gone.
		}
	}

	private static String head(InputStream in) throws IOException {
		StringBuilder b = new StringBuilder();
		for (int c; b.indexOf("\r\n\r\n") < 0 && (c = in.read()) >= 0;) {
			b.append((char) c);
		}
		return b.toString();
	}

	private List<String> crawl(String url, String user) throws IOException {
		Path log = dir.resolve("log");
		Run.here(Run.fast(log, "--threads=platform", "--proxy=" + user + "127.0.0.1:"
				+ proxy.getLocalPort(), url));
		return Run.log(log).stream().map(l -> l.outcome() + " " + l.note()).toList();
	}

	@Test
	void http_is_asked_of_the_proxy_by_whole_urls() throws IOException {
		assertEquals(List.of("page ", "page "), crawl("http://no-such-host.invalid:81/", ""));
		assertTrue(heads.get(0).startsWith("GET http://no-such-host.invalid:81/robots.txt"
				+ " HTTP/1.1\r\nHost: no-such-host.invalid:81\r\n"), heads.get(0));
		assertTrue(heads.get(2).startsWith("GET http://no-such-host.invalid:81/next HTTP/1.1"),
				heads.get(2));
		assertTrue(!heads.toString().contains("Proxy-Authorization"));
	}

	@Test
	void a_name_and_a_password_go_along() throws IOException {
		crawl("http://no-such-host.invalid/", "me:secret@");
		assertTrue(heads.get(0).contains("\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n"),
				heads.get(0));
	}

	@Test
	void https_asks_for_a_tunnel() throws IOException {
		List<String> log = crawl("https://no-such-host.invalid/", "me:secret@");
		assertTrue(heads.get(0).startsWith("CONNECT no-such-host.invalid:443 HTTP/1.1\r\n"
				+ "Host: no-such-host.invalid:443\r\nProxy-Authorization: "), heads.get(0));
		assertTrue(log.get(0).contains("the proxy refuses: HTTP/1.1 403 no"), log.toString());
	}

	@Test
	void what_is_no_proxy_is_bad_usage() throws IOException {
		for (String p : List.of("ftp://h", "h:x", "h:0", "h:65536", ":80"))
			assertEquals(2, Run.here(Run.fast(dir.resolve("x"), "--proxy=" + p, "http://h/")));
		assertTrue(!Files.exists(dir.resolve("x")));
	}
}
