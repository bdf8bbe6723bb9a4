// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Authenticator;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.Socket;
import java.net.URL;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * HttpURLConnection on sockets that park; HttpCall does the work. With TLS the class must
 * extend another one of the JDK: see src/main/copies.
 */
final class PicoHttpURLConnection extends HttpURLConnection implements HttpFace {
	private final HttpCall call;

	PicoHttpURLConnection(URL u, Proxy proxy) {
		super(u);
		call = new HttpCall(this, this, proxy);
	}

	@Override
	public Socket secured(Socket plain, String host, int port) {
		return plain;
	}

	@Override
	public void opened(Socket s) {
		/* Nothing here needs the socket. */
	}

	@Override
	public List<Object> secrets() {
		return Collections.emptyList();
	}

	/* --- with TLS or without --- */

	@Override
	public HttpCall call() {
		return call;
	}

	@Override
	public long fixedLength() {
		return fixedContentLengthLong >= 0 ? fixedContentLengthLong : fixedContentLength;
	}

	@Override
	public int chunkLength() {
		return chunkLength;
	}

	@Override
	public void connected() {
		connected = true;
	}

	@Override
	public void moved(URL to, String m) {
		url = to;
		method = m;
	}

	@Override
	public void connect() throws IOException {
		call.connect();
	}

	@Override
	public void disconnect() {
		call.disconnect();
	}

	@Override
	public boolean usingProxy() {
		return call.usingProxy();
	}

	/** Java 9. */
	public void setAuthenticator(Authenticator a) {
		call.authenticator(a);
	}

	@Override
	public void setRequestProperty(String name, String value) {
		call.property(connected, name, value, false);
	}

	@Override
	public void addRequestProperty(String name, String value) {
		call.property(connected, name, value, true);
	}

	@Override
	public String getRequestProperty(String name) {
		return call.property(name);
	}

	@Override
	public Map<String, List<String>> getRequestProperties() {
		return call.properties(connected);
	}

	@Override
	public InputStream getInputStream() throws IOException {
		return call.input();
	}

	@Override
	public OutputStream getOutputStream() throws IOException {
		return call.output();
	}

	@Override
	public InputStream getErrorStream() {
		return call.error();
	}

	@Override
	public String getHeaderField(String name) {
		return call.head().find(name);
	}

	@Override
	public Map<String, List<String>> getHeaderFields() {
		return call.head().map();
	}

	@Override
	public String getHeaderField(int k) {
		return call.head().value(k);
	}

	@Override
	public String getHeaderFieldKey(int k) {
		return call.head().key(k);
	}
}
