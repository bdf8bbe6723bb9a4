/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.http;

import java.net.MalformedURLException;
import java.net.URL;
import java.util.Locale;

/** The target of an HTTP request: scheme, host and port, and the path with its query. */
public final class Target {
	private final boolean secure;
	private final String host;
	private final int port;
	private final String path;
	private final String url;

	private Target(boolean secure, String host, int port, String path, String url) {
		this.secure = secure;
		this.host = host;
		this.port = port;
		this.path = path;
		this.url = url;
	}

	public static Target of(String url) throws MalformedURLException {
		for (int i = 0; i < url.length(); i++) {
			if (Character.isISOControl(url.charAt(i))) {
				throw new MalformedURLException("a control character in the URL");
			}
		}
		URL parsed = new URL(url);
		String scheme = parsed.getProtocol().toLowerCase(Locale.ROOT);
		if (!scheme.equals("http") && !scheme.equals("https")) {
			throw new MalformedURLException("only http and https are fetched: " + url);
		}
		if (parsed.getHost().isEmpty()) {
			throw new MalformedURLException("no host: " + url);
		}
		String file = parsed.getFile();
		if (!file.startsWith("/")) {
			file = "/" + file;
		}
		int port = parsed.getPort() < 0 ? parsed.getDefaultPort() : parsed.getPort();
		return new Target(scheme.equals("https"), parsed.getHost().toLowerCase(Locale.ROOT), port,
				file, url);
	}

	public boolean secure() {
		return secure;
	}

	public String host() {
		return host;
	}

	/**
	 * Returns the host as names are looked up and certificates are checked: without the brackets
	 * of an IPv6 address.
	 */
	public String name() {
		return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
	}

	public int port() {
		return port;
	}

	public String path() {
		return path;
	}

	public String url() {
		return url;
	}

	/** Returns the origin, the unit of politeness, robots.txt and idle connections. */
	public String origin() {
		return (secure ? "https://" : "http://") + authority();
	}

	/** Returns the value of the Host header: without the scheme's default port. */
	public String authority() {
		return port == (secure ? 443 : 80) ? host : host + ":" + port;
	}

	@Override
	public String toString() {
		return url;
	}
}
