// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

// = PicoHttpURLConnection: imports
import java.security.cert.Certificate;
import java.util.Arrays;
import java.util.Optional;
import javax.net.ssl.HostnameVerifier;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;

/** PicoHttpURLConnection with TLS, which must be an HttpsURLConnection. Both use HttpCall. */
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

	// = PicoHttpURLConnection: with TLS or without
}
