// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.KeyStore;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.fixtures.Secure;
import org.ukthreads.fixtures.SecureServer;
import org.ukthreads.fixtures.UrlCalls;

/** TLS sockets of the translated program, against the JDK's server. */
final class SecureTest {
	@TempDir
	Path dir;

	@Test
	@Tag("long")
	void tls_clients_behave_as_the_jdks() throws Exception {
		Path store = keys(dir);
		Path trust = trust(dir, store);
		try (Echo h = new Echo(context(store))) {
			List<Path> p = Harness.program(dir.resolve("program"), Secure.class);
			String[] args = {"" + h.port(), trust.toString()};
			String want = Harness.plain(p, Secure.class, args);
			assertTrue(want.contains("50 ok"), want);
			assertEquals(want, Harness.pico(p, Secure.class, args));
		}
	}

	@Test
	@Tag("long")
	@Tag("1/2")
	void tls_servers_behave_as_the_jdks() throws Exception {
		same(SecureServer.class, keys(dir).toString(), "50");
	}

	@Test
	void urls_behave_as_the_jdks() throws Exception {
		same(UrlCalls.class, keys(dir).toString(), "200");
	}

	private void same(Class<?> c, String... args) throws Exception {
		List<Path> p = Harness.program(dir.resolve("program"), c);
		String want = Harness.plain(p, c, args);
		assertTrue(want.length() > 20, want);
		assertEquals(want, Harness.pico(p, c, args));
		System.err.println(c.getSimpleName() + ": " + want.split("\n").length
			+ " equal lines, pins that blocked: " + Harness.pinned);
	}

	/** Makes a key store in dir, with a new key for localhost. */
	static Path keys(Path dir) throws Exception {
		Path store = dir.resolve("keys.p12");
		Process k = new ProcessBuilder(Paths.get(System.getProperty("java.home"), "bin",
			"keytool").toString(), "-genkeypair", "-keyalg", "EC", "-alias", "a", "-dname",
			"CN=localhost", "-ext", "san=dns:localhost,ip:127.0.0.1", "-keystore",
			store.toString(), "-storetype", "PKCS12", "-storepass", "secret", "-validity",
			"2").redirectErrorStream(true).start();
		assertEquals(0, k.waitFor(), new String(k.getInputStream().readAllBytes()));
		return store;
	}

	private static KeyStore loaded(Path store) throws Exception {
		KeyStore k = KeyStore.getInstance("PKCS12");
		try (var in = Files.newInputStream(store)) {
			k.load(in, "secret".toCharArray());
		}
		return k;
	}

	/** Returns a server's context with these keys. */
	static SSLContext context(Path store) throws Exception {
		KeyManagerFactory f = KeyManagerFactory.getInstance("PKIX");
		f.init(loaded(store), "secret".toCharArray());
		SSLContext c = SSLContext.getInstance("TLS");
		c.init(f.getKeyManagers(), null, null);
		return c;
	}

	/** Makes a trust store in dir for these keys. */
	static Path trust(Path dir, Path store) throws Exception {
		KeyStore t = KeyStore.getInstance("PKCS12");
		t.load(null, null);
		t.setCertificateEntry("a", loaded(store).getCertificate("a"));
		Path p = dir.resolve("trust.p12");
		try (var out = Files.newOutputStream(p)) {
			t.store(out, "secret".toCharArray());
		}
		return p;
	}
}
