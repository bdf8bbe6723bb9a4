/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * https: pages are fetched, and a certificate is refused if it is not trusted or not the host's.
 */
@Timeout(60)
final class SecureTest {
	private static final String PASSWORD = "changeit";

	@TempDir
	private Path dir;

	@ParameterizedTest
	@ValueSource(strings = {"platform", "pico"})
	void a_trusted_host_is_crawled(String threads) throws Exception {
		assertEquals(List.of("page", "page"), crawl(threads, "ip:127.0.0.1", true));
	}

	@ParameterizedTest
	@ValueSource(strings = {"platform", "pico"})
	void an_unknown_certificate_is_refused(String threads) throws Exception {
		assertEquals(List.of("failed"), crawl(threads, "ip:127.0.0.1", false));
		assertTrue(Files.readString(dir.resolve("log")).contains("SSLHandshakeException"));
	}

	@ParameterizedTest
	@ValueSource(strings = {"platform", "pico"})
	void the_certificate_of_another_host_is_refused(String threads) throws Exception {
		assertEquals(List.of("failed"), crawl(threads, "dns:other.example", true));
	}

	private List<String> crawl(String threads, String name, boolean trusted) throws Exception {
		assumeTrue(!threads.equals("pico") || Run.picoIsBuilt(), "no pico.jar");
		Path store = dir.resolve("store");
		Process keytool = new ProcessBuilder(System.getProperty("java.home") + "/bin/keytool",
				"-genkeypair", "-alias", "h", "-keyalg", "EC", "-dname", "CN=test", "-ext",
				"san=" + name, "-validity", "2", "-storetype", "PKCS12", "-keystore",
				store.toString(), "-storepass", PASSWORD).inheritIO().start();
		assertEquals(0, keytool.waitFor());
		try (SSLServerSocket server = listen(store)) {
			Thread thread = new Thread(() -> serve(server), "https");
			thread.setDaemon(true);
			thread.start();
			Path log = dir.resolve("log");
			List<String> args = Run.fast(log, "--threads=" + threads, "--no-robots",
					"https://127.0.0.1:" + server.getLocalPort() + "/");
			String[] jvm = trusted ? new String[] {"-Djavax.net.ssl.trustStore=" + store,
				"-Djavax.net.ssl.trustStorePassword=" + PASSWORD} : new String[0];
			Process crawl = threads.equals("pico") ? Run.pico(args, dir.resolve("output"), jvm)
					: Run.process(args, dir.resolve("output"), jvm);
			assertTrue(crawl.waitFor(300, TimeUnit.SECONDS));
			return Run.log(log).stream().map(Run.Line::outcome).toList();
		}
	}

	private static SSLServerSocket listen(Path store) throws Exception {
		KeyStore keys = KeyStore.getInstance("PKCS12");
		try (InputStream in = Files.newInputStream(store)) {
			keys.load(in, PASSWORD.toCharArray());
		}
		KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
		factory.init(keys, PASSWORD.toCharArray());
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(factory.getKeyManagers(), null, null);
		return (SSLServerSocket) context.getServerSocketFactory().createServerSocket(0, 10,
				InetAddress.getByName("127.0.0.1"));
	}

	private static void serve(SSLServerSocket server) {
		String page = "<a href='/next'>next</a>";
		while (!server.isClosed()) {
			try (Socket socket = server.accept()) {
				InputStream in = socket.getInputStream();
				while (in.read(new byte[4000]) > 0) {
					socket.getOutputStream().write(("HTTP/1.1 200 OK\r\nContent-Type: text/html"
							+ "\r\nContent-Length: " + page.length() + "\r\n\r\n" + page)
							.getBytes(StandardCharsets.US_ASCII));
				}
			} catch (IOException e) {
				// The client refused the certificate, or the test has ended.
			}
		}
	}
}
