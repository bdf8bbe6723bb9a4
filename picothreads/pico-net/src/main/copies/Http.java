// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URL;
import java.net.URLConnection;

/*
 * Makes our connections for URLs of http and https. The getters below call those of the
 * superclass, which call back for the header fields; so they first wait for the response.
 *
 * Rejected: the JDK's own connections (2,000 lines less). Each open request would block an OS
 * thread. From some hundreds on, requests would begin only as fast as the Watch takes carriers.
 * And they would not use a simulation's network.
 */
public final class Http {
	private Http() {}

	/** Replaces URL.openConnection. */
	public static URLConnection openConnection(URL u) throws IOException {
		URLConnection c = ours(u, null);
		return c != null ? c : u.openConnection();
	}

	public static URLConnection openConnection(URL u, Proxy p) throws IOException {
		if (p == null)
			throw new IllegalArgumentException("proxy can not be null");
		URLConnection c = ours(u, p);
		return c != null ? c : u.openConnection(p);
	}

	/** Replaces URL.openStream. */
	public static InputStream openStream(URL u) throws IOException {
		return openConnection(u).getInputStream();
	}

	/** Returns null for another scheme, or if the program has its own handler for it. */
	private static URLConnection ours(URL u, Proxy p) throws IOException {
		String s = u.getProtocol();
		boolean http = s.equalsIgnoreCase("http");
		if (!http && !s.equalsIgnoreCase("https") || !theirs(p == null ? u.openConnection()
				: u.openConnection(p)))
			return null;
		return http ? new PicoHttpURLConnection(u, p) : new PicoHttpsURLConnection(u, p);
	}

	/**
	 * Returns true for a connection of the JDK. Opening it to find out has no effect before it
	 * connects.
	 */
	private static boolean theirs(URLConnection c) {
		return c.getClass().getName().startsWith("sun.net.www.protocol.http");
	}

	private static void await(URLConnection c) {
		if (c instanceof HttpFace)
			((HttpFace) c).call().head();
	}

	// each: public static T m(HttpURLConnection c, ..) throws IOException {
	//	await(c); return c.m(..); }
	int getResponseCode(); String getResponseMessage();

	// each: public static T m(URLConnection c, ..) { await(c); return c.m(..); }
	int getContentLength(); long getContentLengthLong(); String getContentType();
	String getContentEncoding(); long getDate(); long getExpiration(); long getLastModified();
	int getHeaderFieldInt(String name, int other);
	long getHeaderFieldLong(String name, long other);
	long getHeaderFieldDate(String name, long other);
}
