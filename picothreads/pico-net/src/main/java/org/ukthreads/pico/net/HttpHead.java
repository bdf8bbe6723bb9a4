// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.ProtocolException;
import java.net.SocketException;
import java.net.URLConnection;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The head of a response. The key of the status line is null. */
final class HttpHead {
	static final HttpHead NONE = new HttpHead();

	private final List<String> keys = new ArrayList<>();
	private final List<String> values = new ArrayList<>();
	int status = -1;
	/**
	 * The connection must not be reused: the server may take the next request for the
	 * announced body.
	 */
	boolean last;
	/** Bytes that trailers may still take. */
	private int left;

	/** The most bytes that a head may take, counted as the JDK does. */
	private static final int MOST = Integer.getInteger("jdk.http.maxHeaderSize", 384 << 10);
	private static final int EACH = 32;

	/** Reads the head of the final response; null: the connection was closed before it began. */
	static HttpHead read(HttpWire w) throws IOException {
		HttpHead h;
		do
			h = one(w);
		/* No other head follows a 101. */
		while (h != null && h.status >= 100 && h.status < 200 && h.status != 101);
		return h;
	}

	/** Reads the next head, also a provisional one. */
	static HttpHead one(HttpWire w) throws IOException {
		HttpHead h = new HttpHead();
		int left = MOST > 0 ? MOST : Integer.MAX_VALUE;
		String line = w.line(left);
		if (line == null)
			return null;
		h.begin(line);
		while ((line = w.line(left)) != null && !line.isEmpty()) {
			left = Math.max(0, left - line.length() - EACH);
			h.add(line);
		}
		h.left = left;
		if (line == null)
			throw new SocketException("Unexpected end of file from server");
		return h;
	}

	/** Reads the status line. The status stays -1 if it is not a line of HTTP. */
	private void begin(String line) {
		int k = line.indexOf(' ');
		String code = line.substring(k + 1, Math.min(line.length(), k + 4));
		if (line.startsWith("HTTP/") && code.matches("[0-9]{3}"))
			status = Integer.parseInt(code);
		keys.add(null);
		values.add(line);
	}

	/** Adds a trailer, which counts towards the limit of the head. */
	void trailer(String line) throws ProtocolException {
		left -= line.length() + EACH;
		if (left < 0)
			throw new ProtocolException("Header size too big: " + (MOST - left) + " > " + MOST);
		add(line);
	}

	private void add(String line) {
		int k = line.indexOf(':');
		if ((line.charAt(0) == ' ' || line.charAt(0) == '\t') && keys.size() > 1) {
			int last = values.size() - 1;
			values.set(last, values.get(last) + " " + line.trim());
			return;
		}
		keys.add(k < 0 ? null : line.substring(0, k).trim());
		values.add(line.substring(k + 1).trim());
	}

	String key(int k) {
		return k >= 0 && k < keys.size() ? keys.get(k) : null;
	}

	String value(int k) {
		return k >= 0 && k < keys.size() ? values.get(k) : null;
	}

	/** Returns the last value of that name, or null. */
	String find(String name) {
		for (int k = keys.size(); --k >= 0;)
			if (name == null ? keys.get(k) == null : name.equalsIgnoreCase(keys.get(k)))
				return values.get(k);
		return null;
	}

	List<String> all(String name) {
		List<String> l = new ArrayList<>();
		for (int k = 0; k < keys.size(); k++)
			if (name.equalsIgnoreCase(keys.get(k)))
				l.add(values.get(k));
		return l;
	}

	/** Returns the map. In many JDKs the last value of a name comes first. */
	Map<String, List<String>> map() {
		Map<String, List<String>> m = new LinkedHashMap<>();
		for (int k = 0; k < keys.size(); k++)
			m.computeIfAbsent(keys.get(k), x -> new ArrayList<>()).add(values.get(k));
		for (Map.Entry<String, List<String>> e : m.entrySet()) {
			if (LAST_FIRST)
				Collections.reverse(e.getValue());
			e.setValue(Collections.unmodifiableList(e.getValue()));
		}
		return Collections.unmodifiableMap(m);
	}

	static final boolean LAST_FIRST = lastFirst();

	private static boolean lastFirst() {
		URLConnection c = new URLConnection(null) {
			@Override
			public void connect() {
				/* This connection only shows in which order the JDK keeps headers. */
			}
		};
		c.addRequestProperty("k", "first");
		c.addRequestProperty("k", "second");
		return c.getRequestProperties().get("k").get(0).equals("second");
	}

	boolean keepAlive() {
		if (last)
			return false;
		String c = find("Connection");
		if (c == null)
			c = find("Proxy-Connection");
		if (values.get(0).startsWith("HTTP/1.0"))
			return c != null && c.equalsIgnoreCase("keep-alive");
		return c == null || !c.equalsIgnoreCase("close");
	}

	/** Returns the length of the body, or a constant of HttpBody. */
	long length(String method) throws IOException {
		if (method.equals("HEAD") || status == 204 || status == 304)
			return 0;
		String t = find("Transfer-Encoding");
		if (t != null && t.equalsIgnoreCase("chunked"))
			return HttpBody.CHUNKED;
		String n = find("Content-Length");
		if (n == null)
			return HttpBody.TO_THE_END;
		try {
			long l = Long.parseLong(n);
			return l < 0 ? HttpBody.TO_THE_END : l;
		} catch (NumberFormatException e) {
			return HttpBody.TO_THE_END;
		}
	}
}
