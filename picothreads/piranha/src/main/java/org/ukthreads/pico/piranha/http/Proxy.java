/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.http;

import java.net.MalformedURLException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/**
 * An HTTP proxy for all requests: http requests name the whole URL, https uses a tunnel
 * (CONNECT). The proxy looks up the names.
 */
public final class Proxy {
	final String host;
	final int port;
	private final String user;

	private Proxy(String host, int port, String user) {
		this.host = host;
		this.port = port;
		this.user = user;
	}

	/** Parses [http://][USER:PASSWORD@]HOST[:PORT]; the default port is 8080. */
	public static Proxy of(String text) throws MalformedURLException {
		URL url = new URL(text.contains("://") ? text : "http://" + text);
		if (!url.getProtocol().equals("http") || url.getHost().isEmpty()
				|| url.getPort() == 0 || url.getPort() > 65_535
				|| !url.getFile().isEmpty() && !url.getFile().equals("/")) {
			throw new MalformedURLException("not a proxy: " + text);
		}
		return new Proxy(url.getHost(), url.getPort() < 0 ? 8080 : url.getPort(),
				url.getUserInfo() == null ? "" : url.getUserInfo());
	}

	/** Returns the header with user and password, and its line end; "" if there is no user. */
	String credentials() {
		return user.isEmpty() ? "" : "Proxy-Authorization: Basic " + Base64.getEncoder()
				.encodeToString(user.getBytes(StandardCharsets.UTF_8)) + "\r\n";
	}

	/** Returns the request for a tunnel. */
	byte[] connect(Target target) {
		String to = target.host() + ":" + target.port();
		return ("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n" + credentials() + "\r\n")
				.getBytes(StandardCharsets.UTF_8);
	}
}
