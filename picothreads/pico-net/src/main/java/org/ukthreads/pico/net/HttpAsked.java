// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** The request properties that the program has set, in their order. */
final class HttpAsked {
	/**
	 * Restricted headers, as in the JDK: HttpCall decides about them. Of `connection`, the
	 * value `close` is allowed.
	 */
	private static final Set<String> OURS = new HashSet<>(Arrays.asList(
		"access-control-request-headers", "access-control-request-method", "connection",
		"content-length", "content-transfer-encoding", "host", "keep-alive", "origin",
		"trailer", "transfer-encoding", "upgrade", "via"));
	private static final boolean ANY =
		Boolean.getBoolean("sun.net.http.allowRestrictedHeaders");

	final List<String> keys = new ArrayList<>();
	final List<String> values = new ArrayList<>();

	void set(String name, String value) {
		if (!allowed(name, value))
			return;
		int k = last(name);
		if (k >= 0)
			values.set(k, value);
		else
			put(name, value);
	}

	void add(String name, String value) {
		if (allowed(name, value))
			put(name, value);
	}

	private void put(String name, String value) {
		keys.add(name);
		values.add(value);
	}

	private static boolean allowed(String name, String value) {
		if (name == null)
			throw new NullPointerException("key is null");
		check(name, value);
		String k = name.toLowerCase(Locale.ROOT);
		return ANY || k.equals("connection") && "close".equals(value)
			|| !OURS.contains(k) && !k.startsWith("sec-");
	}

	/** Rejects a property that would end its line and begin another. */
	private static void check(String name, String value) {
		if (name.indexOf('\n') >= 0 || name.indexOf(':') >= 0)
			throw new IllegalArgumentException("Illegal character(s) in message header field: "
				+ name);
		int k = value == null ? -1 : value.indexOf('\n');
		for (; k >= 0; k = value.indexOf('\n', k + 1))
			if (k + 1 == value.length() || " \t".indexOf(value.charAt(k + 1)) < 0)
				throw new IllegalArgumentException(
					"Illegal character(s) in message header value: " + value);
	}

	private int last(String name) {
		int k = keys.size();
		do
			k--;
		while (k >= 0 && !keys.get(k).equalsIgnoreCase(name));
		return k;
	}

	boolean has(String name) {
		return last(name) >= 0;
	}

	/** Returns the last value of that name, or null. */
	String find(String name) {
		int k = last(name);
		return k < 0 ? null : values.get(k);
	}

	/** Returns true for headers with passwords, which the program may not read back. */
	static boolean secret(String name) {
		return name.equalsIgnoreCase("Authorization")
			|| name.equalsIgnoreCase("Proxy-Authorization");
	}

	void forget(String name) {
		for (int k; (k = last(name)) >= 0; values.remove(k))
			keys.remove(k);
	}

	/**
	 * Returns the map as the JDK does: without secrets, and on many JDKs with the last value
	 * first.
	 */
	Map<String, List<String>> map() {
		Map<String, List<String>> m = new LinkedHashMap<>();
		for (int k = 0; k < keys.size(); k++)
			if (!secret(keys.get(k)))
				m.computeIfAbsent(keys.get(k), x -> new ArrayList<>()).add(values.get(k));
		for (Map.Entry<String, List<String>> e : m.entrySet()) {
			if (HttpHead.LAST_FIRST)
				Collections.reverse(e.getValue());
			e.setValue(Collections.unmodifiableList(e.getValue()));
		}
		return Collections.unmodifiableMap(m);
	}
}
