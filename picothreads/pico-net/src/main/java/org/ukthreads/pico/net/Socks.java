// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.SocketException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** SOCKS 5 (RFC 1928), without authentication. */
final class Socks {
	private static final String[] ERRORS = {"", "SOCKS server general failure",
		"SOCKS: Connection not allowed by ruleset", "SOCKS: Network unreachable",
		"SOCKS: Host unreachable", "SOCKS: Connection refused", "SOCKS: TTL expired",
		"SOCKS: Command not supported", "SOCKS: address type not supported"};

	private Socks() {}

	/** Returns the proxy that the system's selector chooses (-DsocksProxyHost=...), or null. */
	static Proxy chosen(InetSocketAddress to) {
		ProxySelector s = ProxySelector.getDefault();
		URI u = s == null ? null : uri(to);
		List<Proxy> l = u == null ? null : s.select(u);
		return l == null || l.isEmpty() ? null : l.get(0);
	}

	static IOException failed(InetSocketAddress to, InetSocketAddress proxy, IOException e) {
		ProxySelector s = ProxySelector.getDefault();
		if (s != null)
			s.connectFailed(uri(to), proxy, e);
		SocketException x = new SocketException("Can't connect to SOCKS proxy:"
			+ e.getMessage());
		x.initCause(e);
		return x;
	}

	private static URI uri(InetSocketAddress to) {
		try {
			return new URI("socket", null, to.getHostString(), to.getPort(), null, null, null);
		} catch (URISyntaxException e) {
			return null;
		}
	}

	static void connect(Conduit c, InetSocketAddress to, int millis) throws IOException {
		int old = c.timeout;
		c.timeout = millis;
		try {
			c.write(new byte[] {5, 1, 0}, 0, 3);
			byte[] b = read(c, 2);
			if (b[0] != 5 || b[1] != 0)
				throw new SocketException("SOCKS : authentication failed");
			request(c, to);
			b = read(c, 4);
			if (b[1] != 0)
				throw new SocketException(b[1] > 0 && b[1] < ERRORS.length ? ERRORS[b[1]]
					: "Reply from SOCKS server contains bad status");
			int n = b[3] == 1 ? 4 : b[3] == 4 ? 16 : read(c, 1)[0] & 0xff;
			read(c, n + 2);
		} catch (IOException e) {
			c.close();
			throw e;
		} finally {
			c.timeout = old;
		}
	}

	private static void request(Conduit c, InetSocketAddress to) throws IOException {
		byte[] a = to.isUnresolved() ? to.getHostString().getBytes(StandardCharsets.US_ASCII)
			: to.getAddress().getAddress();
		boolean name = to.isUnresolved();
		byte[] r = new byte[6 + a.length + (name ? 1 : 0)];
		r[0] = 5;
		r[1] = 1;
		r[3] = (byte) (name ? 3 : a.length == 4 ? 1 : 4);
		int at = 4;
		if (name)
			r[at++] = (byte) a.length;
		System.arraycopy(a, 0, r, at, a.length);
		r[r.length - 2] = (byte) (to.getPort() >> 8);
		r[r.length - 1] = (byte) to.getPort();
		c.write(r, 0, r.length);
	}

	private static byte[] read(Conduit c, int n) throws IOException {
		byte[] b = new byte[n];
		for (int k = 0; k < n;) {
			int r = c.read(b, k, n - k);
			if (r < 0)
				throw new SocketException("Malformed reply from SOCKS server");
			k += r;
		}
		return b;
	}
}
