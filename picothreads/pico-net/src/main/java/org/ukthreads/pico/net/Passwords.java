package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.Authenticator;
import java.net.InetAddress;
import java.net.PasswordAuthentication;
import java.net.URL;

/** Asks the program's Authenticator; the connection's own came with Java 9. */
final class Passwords {
	private Passwords() {}

	/** Null: there is none. */
	static PasswordAuthentication ask(Authenticator own, String host, int port, String scheme,
			String realm, URL url) throws IOException {
		InetAddress a = Dns.getByName(host);
		if (own == null)
			return Authenticator.requestPasswordAuthentication(host, a, port, scheme, realm,
				"basic", url, Authenticator.RequestorType.SERVER);
		try {
			return (PasswordAuthentication) Authenticator.class.getMethod(
				"requestPasswordAuthenticationInstance", String.class, InetAddress.class,
				int.class, String.class, String.class, String.class, URL.class,
				Authenticator.RequestorType.class).invoke(own, host, a, port, scheme, realm,
				"basic", url, Authenticator.RequestorType.SERVER);
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException("Authenticator", e);
		}
	}
}
