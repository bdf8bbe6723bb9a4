// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Authenticator;
import java.net.Proxy;
import java.net.Socket;
import java.net.URL;
import java.security.cert.Certificate;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.HostnameVerifier;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;

/** PicoHttpURLConnection with TLS: it must be an HttpsURLConnection. HttpCall is in both. */
final class PicoHttpsURLConnection extends HttpsURLConnection implements HttpFace {
	private final HttpCall call;
	private volatile SSLSession session;

	PicoHttpsURLConnection(URL u, Proxy proxy) {
		super(u);
		call = new HttpCall(this, this, proxy);
	}

	@Override
	public Socket secured(Socket plain, String host, int port) throws IOException {
		SSLSocket s = (SSLSocket) Tls.ours(getSSLSocketFactory()).createSocket(plain, host,
			port, true);
		HostnameVerifier v = getHostnameVerifier();
		boolean usual = v == getDefaultHostnameVerifier()
			&& v.getClass().getName().startsWith("javax.net.ssl.HttpsURLConnection$");
		if (usual) {
			SSLParameters p = s.getSSLParameters();
			p.setEndpointIdentificationAlgorithm("HTTPS");
			s.setSSLParameters(p);
		}
		s.startHandshake();
		if (!usual && !HostNames.match(host, s.getSession())
				&& !v.verify(host, s.getSession())) {
			s.close();
			throw new IOException("HTTPS hostname wrong:  should be <" + host + ">");
		}
		return s;
	}

	@Override
	public void opened(Socket s) {
		session = ((SSLSocket) s).getSession();
	}

	@Override
	public List<Object> secrets() {
		return Arrays.asList(getSSLSocketFactory(), getHostnameVerifier());
	}

	private SSLSession session() {
		SSLSession s = session;
		if (s == null)
			throw new IllegalStateException("connection not yet open");
		return s;
	}

	@Override
	public String getCipherSuite() {
		return session().getCipherSuite();
	}

	@Override
	public Certificate[] getLocalCertificates() {
		return session().getLocalCertificates();
	}

	@Override
	public Certificate[] getServerCertificates() throws SSLPeerUnverifiedException {
		return session().getPeerCertificates();
	}

	/** Java 12. */
	public Optional<SSLSession> getSSLSession() {
		return Optional.of(session());
	}

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
