// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.ProxyPasswords;

/**
 * A proxy's password is sent to that proxy only. No JDK is the reference here: JDK 21.0.12.1
 * behaves so except for streamed requests; older JDKs send any server what the program has
 * set.
 */
final class ProxyPasswordTest {
	private static final List<String> WANT = List.of(
		"-- direct",
		"server: GET /x, nothing",
		"200",
		"-- direct, streaming",
		"server: POST /x, nothing",
		"200",
		"-- by a proxy",
		"one: GET http://a.invalid/x, own",
		"200",
		"-- through a tunnel",
		"one: CONNECT localhost:443, nothing",
		"in one's tunnel: GET /x, nothing",
		"200",
		"-- sent on by the same proxy",
		"one: GET http://a.invalid/to?http://a.invalid/x, own",
		"one: GET http://a.invalid/x, own",
		"200",
		"-- sent on by another",
		"one: GET http://a.invalid/to?http://b.invalid/x, own",
		"two: GET http://b.invalid/x, nothing",
		"200",
		"-- and back",
		"one: GET http://a.invalid/to?http://b.invalid/to?http://a.invalid/x, own",
		"two: GET http://b.invalid/to?http://a.invalid/x, nothing",
		"one: GET http://a.invalid/x, nothing",
		"200",
		"-- sent on by none",
		"one: GET http://a.invalid/to?http://SERVER/x, own",
		"server: GET /x, nothing",
		"200",
		"-- asked",
		"one: GET http://a.invalid/locked/to?http://a.invalid/x, nothing",
		"who? says one",
		"one: GET http://a.invalid/locked/to?http://a.invalid/x, me:one",
		"one: GET http://a.invalid/x, me:one",
		"200",
		"-- asked, sent on by another",
		"one: GET http://a.invalid/locked/to?http://b.invalid/x, nothing",
		"who? says one",
		"one: GET http://a.invalid/locked/to?http://b.invalid/x, me:one",
		"two: GET http://b.invalid/x, nothing",
		"200",
		"-- asked by both",
		"one: GET http://a.invalid/locked/to?http://b.invalid/locked/x, nothing",
		"who? says one",
		"one: GET http://a.invalid/locked/to?http://b.invalid/locked/x, me:one",
		"two: GET http://b.invalid/locked/x, nothing",
		"who? says two",
		"two: GET http://b.invalid/locked/x, me:two",
		"200",
		"-- asked for from within a tunnel",
		"one: CONNECT localhost:443, nothing",
		"in one's tunnel: GET /locked/x, nothing",
		"407");

	@TempDir
	Path dir;

	@Test
	void a_proxys_password_is_that_proxys() throws Exception {
		Path keys = SecureTest.keys(dir);
		SSLContext tls = SecureTest.context(keys);
		try (Teller one = new Teller("one", tls); Teller two = new Teller("two", tls);
				Teller server = new Teller("server", tls)) {
			List<Path> p = Harness.program(dir.resolve("program"), ProxyPasswords.class);
			String[] args = {"" + one.port(), "" + two.port(), "" + server.port(),
				SecureTest.trust(dir, keys).toString()};
			String got = Harness.pico(p, ProxyPasswords.class, args);
			assertEquals(String.join("\n", WANT) + "\n", got.replace("127.0.0.1:"
				+ server.port(), "SERVER"));
		}
	}

	/** A proxy and server that prints each request with the password in it. */
	private static final class Teller implements AutoCloseable {
		private final String name;
		private final SSLContext tls;
		private final ServerSocket socket =
			new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));

		Teller(String name, SSLContext tls) throws IOException {
			this.name = name;
			this.tls = tls;
			daemon(() -> {
				while (true) {
					Socket s = socket.accept();
					daemon(() -> serve(name, s));
				}
			});
		}

		int port() {
			return socket.getLocalPort();
		}

		@Override
		public void close() throws IOException {
			socket.close();
		}

		private interface Work {
			void run() throws IOException;
		}

		private static void daemon(Work w) {
			Thread t = new Thread(() -> {
				try {
					w.run();
				} catch (IOException e) {
					/* The peer has closed the connection, or the test is over. */
					return;
				}
			});
			t.setDaemon(true);
			t.start();
		}

		private void serve(String who, Socket s) throws IOException {
			BufferedReader in = new BufferedReader(new InputStreamReader(s.getInputStream(),
				StandardCharsets.ISO_8859_1));
			for (String first; (first = in.readLine()) != null;) {
				String password = password(in);
				System.out.println(who + ": " + first.replaceFirst(" HTTP/1.1", "") + ", "
					+ password);
				s.getOutputStream().write(answer(first.split(" ")[1], first.startsWith("C"),
					password.equals("nothing")).getBytes(StandardCharsets.ISO_8859_1));
				if (first.startsWith("C")) {
					SSLSocket x = (SSLSocket) tls.getSocketFactory().createSocket(s, null,
						true);
					x.setUseClientMode(false);
					serve("in " + who + "'s tunnel", x);
					return;
				}
			}
		}

		/** Reads the rest of a request with its body, and returns the password. */
		private static String password(BufferedReader in) throws IOException {
			String p = "nothing";
			int length = 0;
			for (String line; !(line = in.readLine()).isEmpty();) {
				String v = line.substring(line.indexOf(':') + 1).trim();
				if (line.toLowerCase(Locale.ROOT).startsWith("content-length:"))
					length = Integer.parseInt(v);
				else if (line.toLowerCase(Locale.ROOT).startsWith("proxy-authorization:"))
					p = v.startsWith("Basic ") ? new String(Base64.getDecoder().decode(
						v.substring(6)), StandardCharsets.ISO_8859_1) : v;
			}
			for (; length > 0; length--)
				in.read();
			return p;
		}

		private String answer(String path, boolean tunnel, boolean unknown) {
			if (tunnel)
				return "HTTP/1.1 200 Go\r\n\r\n";
			if (path.contains("/locked") && unknown)
				return "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"" + name
					+ "\"\r\nContent-Length: 0\r\n\r\n";
			int to = path.indexOf("/to?");
			return to < 0 ? "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok"
				: "HTTP/1.1 302 There\r\nLocation: " + path.substring(to + 4)
				+ "\r\nContent-Length: 0\r\n\r\n";
		}
	}
}
