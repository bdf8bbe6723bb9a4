// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.net.Authenticator;
import java.net.InetAddress;
import java.net.PasswordAuthentication;
import java.net.URL;
import java.net.UnknownHostException;

/** Asks an Authenticator for a password: that of the connection (Java 9), or else the default. */
final class Passwords {
	private Passwords() {}

	/** Returns null if only a proxy can resolve the host. */
	private static InetAddress address(String host) {
		try {
			return Dns.getByName(host);
		} catch (UnknownHostException e) {
			return null;
		}
	}

	/** Returns null if there is none. */
	static PasswordAuthentication ask(Authenticator own, String host, int port, String scheme,
			String realm, URL url, Authenticator.RequestorType type) {
		InetAddress a = address(host);
		if (own == null)
			return Authenticator.requestPasswordAuthentication(host, a, port, scheme, realm,
				"basic", url, type);
		try {
			return (PasswordAuthentication) Authenticator.class.getMethod(
				"requestPasswordAuthenticationInstance", String.class, InetAddress.class,
				int.class, String.class, String.class, String.class, URL.class,
				Authenticator.RequestorType.class).invoke(own, host, a, port, scheme, realm,
				"basic", url, type);
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException("Authenticator", e);
		}
	}
}
