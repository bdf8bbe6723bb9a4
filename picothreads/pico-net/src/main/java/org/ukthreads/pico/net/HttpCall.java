// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Authenticator;
import java.net.Authenticator.RequestorType;
import java.net.CookieHandler;
import java.net.HttpRetryException;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.PasswordAuthentication;
import java.net.ProtocolException;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/*
 * The work of one HttpURLConnection, as the JDK does it:
 *
 *   NEW --connect--> a connection (idle or new) --getOutputStream--> the body
 *    \------------------------ getInputStream --------------------------> head, body
 *                              ^ redirect, 401: the same again on another connection --/
 *
 * If the server closes the connection without a response, as happens to idle connections, the
 * request is sent once more on a new one. Output is kept until it is sent, unless the program
 * asked for streaming.
 *
 * Left out: Digest and NTLM, response caches, 305, passwords before they are asked for.
 */
final class HttpCall {
	private static final int LEAVE_MILLIS = 5000;
	private static final int MOST_REDIRECTS = Integer.getInteger("http.maxRedirects", 20);
	private static final String ACCEPT = "text/html, image/gif, image/jpeg, */*; q=0.2";
	private final HttpURLConnection c;
	private final HttpFace face;
	private final Proxy proxy;
	private final HttpAsked asked = new HttpAsked();
	/** The head of the last request. */
	private String sent;
	private HttpWire wire;
	private ByteArrayOutputStream kept;
	private HttpSend streamed;
	private HttpHead head;
	/** The response that came instead of 100 Continue. */
	private HttpHead early;
	private HttpBody body;
	/** The head says that the body is empty: then the JDK has no error stream, either. */
	private boolean empty;
	private IOException failure;
	private boolean usingProxy;
	private String authorization;
	private boolean reading;

	/** proxy null: the system chooses. */
	HttpCall(HttpURLConnection c, HttpFace face, Proxy proxy) {
		this.c = c;
		this.face = face;
		this.proxy = proxy;
	}

	/* --- the connection --- */

	synchronized void connect() throws IOException {
		if (failure != null)
			throw again(failure);
		if (wire != null || head != null)
			return;
		try {
			wire = open(true);
		} catch (IOException e) {
			if (refused != null) {
				head = refused;
				failure = e;
			}
			throw e;
		}
		face.connected();
	}

	/* --- what the program sets --- */

	void property(boolean connected, String name, String value, boolean more) {
		if (connected)
			throw new IllegalStateException("Already connected");
		if (more)
			asked.add(name, value);
		else
			asked.set(name, value);
	}

	/** Returns the value of a request header, also of one that this class has set. */
	String property(String name) {
		if (name == null || HttpAsked.secret(name))
			return null;
		if (asked.has(name) || sent == null)
			return asked.find(name);
		for (String line : sent.split("\r\n"))
			if (line.regionMatches(true, 0, name + ": ", 0, name.length() + 2))
				return line.substring(name.length() + 2);
		return null;
	}

	Map<String, List<String>> properties(boolean connected) {
		if (connected)
			throw new IllegalStateException("Already connected");
		return asked.map();
	}

	/* --- the destination --- */

	private boolean https() {
		return c.getURL().getProtocol().equalsIgnoreCase("https");
	}

	private int port() {
		return port(c.getURL());
	}

	private static int port(URL u) {
		return u.getPort() < 0 ? u.getDefaultPort() : u.getPort();
	}

	private String host() {
		String h = c.getURL().getHost();
		return h.startsWith("[") ? h.substring(1, h.length() - 1) : h;
	}

	private List<Proxy> proxies() throws IOException {
		if (proxy != null)
			return Collections.singletonList(proxy);
		ProxySelector s = ProxySelector.getDefault();
		URI u = uri();
		List<Proxy> l;
		try {
			l = s == null || u == null ? null : s.select(u);
		} catch (IllegalArgumentException e) {
			throw new IOException("Failed to select a proxy", e);
		}
		return l == null || l.isEmpty() ? Collections.singletonList(Proxy.NO_PROXY) : l;
	}

	private URI uri() {
		try {
			/* Sequences that are escaped in the URL stay as they are; the rest is escaped. */
			URL u = c.getURL();
			String before = u.getProtocol().toLowerCase(Locale.ROOT) + "://" + u.getHost()
				+ (u.getPort() < 0 ? "" : ":" + u.getPort());
			URI rest = new URI(null, null, u.getPath().isEmpty() ? "/" : u.getPath(),
				u.getQuery(), null);
			return new URI(before + rest.toString().replaceAll("%25([0-9a-fA-F]{2})", "%$1"));
		} catch (URISyntaxException e) {
			return null;
		}
	}

	private HttpWire open(boolean idle) throws IOException {
		IOException last = null;
		for (Proxy p : proxies()) {
			try {
				return open(p, idle);
			} catch (IOException e) {
				last = e;
				ProxySelector s = ProxySelector.getDefault();
				URI u = uri();
				if (p.type() != Proxy.Type.DIRECT && proxy == null && s != null && u != null)
					s.connectFailed(u, p.address(), e);
			}
		}
		throw last;
	}

	private HttpWire open(Proxy p, boolean idle) throws IOException {
		boolean http = p.type() == Proxy.Type.HTTP;
		usingProxy = http;
		proxyAddress = http ? (InetSocketAddress) p.address() : null;
		List<Object> key = new ArrayList<>(Arrays.asList(https(), host().toLowerCase(
			Locale.ROOT), port(), p));
		key.addAll(face.secrets());
		HttpWire w = idle ? HttpWire.take(key) : null;
		/* A streamed body cannot be sent again. */
		while (w != null && streaming() && !w.alive()) {
			w.close();
			w = HttpWire.take(key);
		}
		if (w != null) {
			face.opened(w.socket);
			w.socket.setSoTimeout(c.getReadTimeout());
			return w;
		}
		Socket s = new PicoSocket(p.type() == Proxy.Type.SOCKS ? p : Proxy.NO_PROXY);
		try {
			InetSocketAddress to = http ? (InetSocketAddress) p.address()
				: InetSocketAddress.createUnresolved(host(), port());
			s.connect(p.type() == Proxy.Type.SOCKS ? to : resolved(to),
				c.getConnectTimeout());
			s.setTcpNoDelay(true);
			s.setSoTimeout(c.getReadTimeout());
			if (https()) {
				if (http && !tunnel(s)) {
					s.close();
					return open(p, false);
				}
				s = face.secured(s, host(), port());
			}
			face.opened(s);
			return new HttpWire(s, key, http && !https());
		} catch (IOException | RuntimeException e) {
			s.close();
			throw e;
		}
	}

	private static InetSocketAddress resolved(InetSocketAddress a) throws IOException {
		if (!a.isUnresolved())
			return a;
		try {
			return new InetSocketAddress(Dns.getByName(a.getHostString()), a.getPort());
		} catch (UnknownHostException e) {
			throw (UnknownHostException) new UnknownHostException(a.getHostString())
				.initCause(e);
		}
	}

	/** Returns false if the proxy wants a password and we have one now. */
	private boolean tunnel(Socket s) throws IOException {
		HttpWire w = new HttpWire(s, Collections.emptyList(), false);
		String to = c.getURL().getHost() + ":" + port();
		w.send("CONNECT " + to + " HTTP/1.1\r\nUser-Agent: " + agent() + "\r\nHost: " + to
			+ "\r\nAccept: " + ACCEPT + "\r\nProxy-Connection: keep-alive\r\n"
			+ (forProxy() == null ? "" : "Proxy-Authorization: " + forProxy() + "\r\n")
			+ "\r\n");
		HttpHead h = HttpHead.read(w);
		if (h == null)
			throw new SocketException("Unexpected end of file from server");
		if (h.status == 200)
			return true;
		if (h.status == 407 && TUNNEL_BASIC && tunnels < MOST_REDIRECTS) {
			tunnels++;
			if (told(password(h, proxyAddress)))
				return false;
		}
		/* As in the JDK, the program sees the head of a 407 only. */
		refused = h.status == 407 ? h : null;
		throw new IOException("Unable to tunnel through proxy. Proxy returns \""
			+ h.value(0) + "\"");
	}

	/**
	 * Whether Basic may be used for a tunnel. As in the JDK, by default it may not, because
	 * the password would go to the proxy in plain text.
	 */
	private static final boolean TUNNEL_BASIC = !System.getProperty(
		"jdk.http.auth.tunneling.disabledSchemes", "Basic").toLowerCase(Locale.ROOT)
		.contains("basic");

	/* --- the request --- */

	private static String agent() {
		String a = System.getProperty("http.agent");
		String java = "Java/" + System.getProperty("java.version");
		return a == null || a.isEmpty() ? java : a + " " + java;
	}

	private boolean has(String name) {
		return asked.has(name);
	}

	private boolean streaming() {
		return face.fixedLength() >= 0 || face.chunkLength() >= 0;
	}

	private String request() throws IOException {
		URL u = c.getURL();
		String file = u.getFile();
		if (file.isEmpty() || file.charAt(0) == '?')
			file = "/" + file;
		forgetProxys();
		StringBuilder b = new StringBuilder(c.getRequestMethod()).append(' ');
		if (wire.proxied)
			b.append(u.getProtocol()).append("://").append(u.getAuthority());
		b.append(file).append(" HTTP/1.1\r\n");
		boolean close = false;
		String cookie = null;
		for (int k = 0; k < asked.keys.size(); k++) {
			String name = asked.keys.get(k);
			String v = asked.values.get(k);
			if (name.equalsIgnoreCase("Connection"))
				close |= "close".equalsIgnoreCase(v);
			else if (name.equalsIgnoreCase("Cookie") && v != null)
				cookie = cookie == null ? v : cookie + ";" + v;
			else if (!name.equalsIgnoreCase("Content-Length")
					&& !name.equalsIgnoreCase("Transfer-Encoding"))
				b.append(name).append(v == null ? ":" : ": " + v).append("\r\n");
		}
		if (!c.getUseCaches()) {
			line(b, "Cache-Control", "no-cache");
			line(b, "Pragma", "no-cache");
		}
		line(b, "User-Agent", agent());
		String host = u.getHost();
		if (u.getPort() >= 0 && u.getPort() != u.getDefaultPort())
			host += ":" + u.getPort();
		line(b, "Host", host);
		line(b, "Accept", ACCEPT);
		if (c.getIfModifiedSince() != 0)
			line(b, "If-Modified-Since", date(c.getIfModifiedSince()));
		b.append(wire.proxied ? "Proxy-Connection: " : "Connection: ")
			.append(close ? "close" : "keep-alive").append("\r\n");
		if (wire.proxied && forProxy() != null)
			line(b, "Proxy-Authorization", forProxy());
		if (authorization != null && !has("Authorization"))
			b.append("Authorization: ").append(authorization).append("\r\n");
		cookies(b, cookie);
		length(b);
		sent = b.append("\r\n").toString();
		return sent;
	}

	private void line(StringBuilder b, String name, String value) {
		if (!has(name))
			b.append(name).append(": ").append(value).append("\r\n");
	}

	private void length(StringBuilder b) {
		if (streaming() && c.getDoOutput()) {
			type(b);
			if (face.fixedLength() >= 0)
				b.append("Content-Length: ").append(face.fixedLength()).append("\r\n");
			else
				b.append("Transfer-Encoding: chunked\r\n");
		} else if (kept != null) {
			type(b);
			b.append("Content-Length: ").append(kept.size()).append("\r\n");
		} else if (c.getRequestMethod().equals("PUT")) {
			b.append("Content-Length: 0\r\n");
		}
	}

	private void type(StringBuilder b) {
		if (!c.getRequestMethod().equals("PUT"))
			line(b, "Content-type", "application/x-www-form-urlencoded");
	}

	private static String date(long millis) {
		SimpleDateFormat f = new SimpleDateFormat("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US);
		f.setTimeZone(TimeZone.getTimeZone("GMT"));
		return f.format(new Date(millis));
	}

	/**
	 * Adds the cookies of the CookieHandler, followed by the program's own, in one header:
	 * servers look at one only.
	 */
	private void cookies(StringBuilder b, String own) throws IOException {
		CookieHandler h = CookieHandler.getDefault();
		URI u = h == null ? null : uri();
		String all = null;
		if (u != null)
			for (Map.Entry<String, List<String>> e : h.get(u, asked.map()).entrySet())
				if (e.getValue().isEmpty())
					continue;
				else if (e.getKey().equalsIgnoreCase("Cookie"))
					all = String.join("; ", e.getValue());
				else if (e.getKey().equalsIgnoreCase("Cookie2"))
					b.append("Cookie2: ").append(String.join("; ", e.getValue()))
						.append("\r\n");
		if (own != null)
			all = all == null ? own : all + ";" + own;
		if (all != null)
			b.append("Cookie: ").append(all).append("\r\n");
	}

	synchronized OutputStream output() throws IOException {
		if (!c.getDoOutput())
			throw new ProtocolException("cannot write to a URLConnection if doOutput=false"
				+ " - call setDoOutput(true)");
		if (c.getRequestMethod().equals("GET"))
			face.moved(c.getURL(), "POST");
		String m = c.getRequestMethod();
		if (m.equals("TRACE"))
			throw new ProtocolException("HTTP method TRACE doesn't support output");
		if (reading || head != null || early != null)
			throw new ProtocolException("Cannot write output after reading input.");
		connect();
		if (!streaming()) {
			if (kept == null)
				kept = new Kept();
			return kept;
		}
		if (streamed == null) {
			wire.send(request());
			if (expects())
				awaitLeave();
			streamed = new HttpSend(wire, face.fixedLength(),
				face.chunkLength() > 0 ? face.chunkLength() : 4096);
		}
		return streamed;
	}

	/** Ignores what is written after its close(). */
	private static final class Kept extends ByteArrayOutputStream {
		private boolean closed;

		@Override
		public void write(int b) {
			if (!closed)
				super.write(b);
		}

		@Override
		public void write(byte[] b, int off, int len) {
			if (!closed)
				super.write(b, off, len);
		}

		@Override
		public void close() {
			closed = true;
		}
	}

	private boolean expects() {
		return "100-continue".equalsIgnoreCase(asked.find("Expect"));
	}

	/**
	 * Waits for 100 Continue, but not for ever: some servers wait for the body and send
	 * nothing.
	 */
	private void awaitLeave() throws IOException {
		int t = c.getReadTimeout();
		wire.socket.setSoTimeout(t > 0 ? t : LEAVE_MILLIS);
		try {
			if (!wire.speaks())
				return;
		} finally {
			wire.socket.setSoTimeout(t);
		}
		HttpHead h = HttpHead.one(wire);
		if (h != null && h.status == 100)
			return;
		early = h;
		if (h != null)
			h.last = true;
		throw new ProtocolException("Server rejected operation");
	}

	/* --- the response --- */

	/** Sends the request, unless that is done, and follows redirects. */
	synchronized void respond() throws IOException {
		if (failure != null)
			throw again(failure);
		if (head != null)
			return;
		try {
			connect();
			if (streaming() && c.getDoOutput() && streamed == null && early == null)
				output();
			reading = true;
			if (streamed != null && !streamed.closed())
				streamed.close();
			if (streamed != null && streamed.failed())
				throw new IOException("Incomplete output stream");
			for (int hops = 0;; hops++) {
				HttpHead h = exchange();
				cookies(h);
				long length = h.length(c.getRequestMethod());
				HttpBody b = new HttpBody(wire, h, length);
				wire = null;
				boolean on;
				try {
					on = goesOn(h, hops);
				} catch (IOException e) {
					b.close();
					/* The program may look at this response. */
					if (!(e instanceof ProtocolException))
						head = h;
					throw e;
				}
				if (!on) {
					head = h;
					body = b;
					empty = length == 0;
					return;
				}
				b.close();
				wire = open(true);
			}
		} catch (IOException e) {
			failure = e;
			if (wire != null)
				wire.close();
			wire = null;
			throw e;
		}
	}

	private HttpHead exchange() throws IOException {
		HttpHead h = early;
		IOException why = null;
		early = null;
		if (h != null)
			return h;
		try {
			send();
			h = HttpHead.read(wire);
		} catch (SocketTimeoutException | ProtocolException e) {
			throw e;
		} catch (IOException e) {
			why = e;
		}
		if (h == null && streamed == null
				&& (POSTS_AGAIN || !c.getRequestMethod().equals("POST"))) {
			wire.close();
			wire = open(false);
			send();
			why = null;
			h = HttpHead.read(wire);
		}
		if (why != null)
			throw why;
		if (h == null)
			throw new SocketException("Unexpected end of file from server");
		return h;
	}

	/** Whether a POST, too, is sent once more to a server that closes without a response. */
	private static final boolean POSTS_AGAIN =
		!"false".equals(System.getProperty("sun.net.http.retryPost"));

	private void send() throws IOException {
		if (streamed != null)
			return;
		byte[] r = request().getBytes(HttpWire.CHARSET);
		if (kept != null) {
			byte[] b = kept.toByteArray();
			byte[] all = Arrays.copyOf(r, r.length + b.length);
			System.arraycopy(b, 0, all, r.length, b.length);
			r = all;
		}
		wire.out.write(r);
	}

	private void cookies(HttpHead h) throws IOException {
		CookieHandler x = CookieHandler.getDefault();
		URI u = x == null ? null : uri();
		if (u != null)
			x.put(u, h.map());
	}

	/** Returns true if another request must be made. */
	private boolean goesOn(HttpHead h, int hops) throws IOException {
		/* A 407 through a tunnel does not come from the proxy. */
		if (h.status == 401 || h.status == 407 && usingProxy && !https())
			return authorized(h, hops);
		if (!c.getInstanceFollowRedirects() || h.status < 300 || h.status > 307
				|| h.status == 304 || h.status == 305 || h.status == 306)
			return false;
		String to = h.find("Location");
		if (to == null)
			return false;
		URL u = new URL(c.getURL(), to);
		if (!u.getProtocol().equalsIgnoreCase(c.getURL().getProtocol()))
			return false;
		if (streamed != null || h.last)
			throw new HttpRetryException("cannot retry due to redirection, in streaming mode",
				h.status, to);
		limit(hops);
		String method = c.getRequestMethod();
		if (method.equals("POST") && h.status != 307
				&& !Boolean.getBoolean("http.strictPostRedirect")) {
			method = "GET";
			kept = null;
		}
		if (!u.getHost().equalsIgnoreCase(c.getURL().getHost()) || port(u) != port())
			forget();
		face.moved(u, method);
		return true;
	}

	private static void limit(int hops) throws IOException {
		if (hops + 1 >= MOST_REDIRECTS)
			throw new ProtocolException("Server redirected too many times (" + (hops + 1)
				+ ")");
	}

	/** Drops the headers that were meant for the old server only. */
	private void forget() {
		authorization = null;
		for (String k : new String[] {"Authorization", "Cookie", "Cookie2"})
			asked.forget(k);
	}

	/**
	 * Drops the password of a proxy unless the request goes to the same proxy again. Older
	 * JDKs send it to other proxies and servers, too; newer JDKs at least to a server, with a
	 * streamed body.
	 */
	private void forgetProxys() {
		InetSocketAddress to = wire.proxied ? proxyAddress : null;
		if (to == null || lastProxy != null && !lastProxy.equals(to))
			asked.forget("Proxy-Authorization");
		lastProxy = to;
	}

	private InetSocketAddress lastProxy;

	private Authenticator authenticator;

	void authenticator(Authenticator a) {
		authenticator = a;
	}

	private InetSocketAddress proxyAddress;
	private String proxyAuthorization;
	/** The proxy that asked for it. */
	private InetSocketAddress askedBy;
	/** The response of a proxy that refused a tunnel. */
	private HttpHead refused;
	private int tunnels;

	/** Returns null if this proxy has not asked. */
	private String forProxy() {
		return proxyAddress.equals(askedBy) ? proxyAuthorization : null;
	}

	/** Stores the proxy's password; false: there is none. */
	private boolean told(String password) {
		proxyAuthorization = password;
		askedBy = proxyAddress;
		return password != null;
	}

	private boolean authorized(HttpHead h, int hops) throws IOException {
		boolean byProxy = h.status == 407;
		if (has(byProxy ? "Proxy-Authorization" : "Authorization"))
			return false;
		String a = password(h, byProxy ? proxyAddress : null);
		if (a == null)
			return false;
		if (streamed != null || h.last)
			throw new HttpRetryException("cannot retry due to " + (byProxy ? "proxy" : "server")
				+ " authentication, in streaming mode", h.status);
		limit(hops);
		if (byProxy)
			told(a);
		else
			authorization = a;
		return true;
	}

	/**
	 * Asks for a password for the proxy `by`, or for the server if that is null; returns null
	 * if there is none.
	 */
	private String password(HttpHead h, InetSocketAddress by) {
		String realm = null;
		for (String s : h.all(by == null ? "WWW-Authenticate" : "Proxy-Authenticate"))
			if (s.regionMatches(true, 0, "Basic", 0, 5))
				realm = realm(s);
		if (realm == null)
			return null;
		PasswordAuthentication a = by == null ? Passwords.ask(authenticator, host(), port(),
			c.getURL().getProtocol(), realm, c.getURL(), RequestorType.SERVER)
			: Passwords.ask(authenticator, by.getHostString(), by.getPort(), "http", realm,
			c.getURL(), RequestorType.PROXY);
		if (a == null)
			return null;
		byte[] b = (a.getUserName() + ":" + new String(a.getPassword()))
			.getBytes(StandardCharsets.ISO_8859_1);
		return "Basic " + Base64.getEncoder().encodeToString(b);
	}

	private static final Pattern REALM = Pattern.compile(
		"[\\s,]realm\\s*=\\s*(?:\"([^\"]*)\"|([^\\s,]*))", Pattern.CASE_INSENSITIVE);

	private static String realm(String challenge) {
		Matcher m = REALM.matcher(challenge);
		return !m.find() ? "" : m.group(1) != null ? m.group(1) : m.group(2);
	}

	/**
	 * Copies the exception: if it were thrown twice, it would have the stack trace of the
	 * first caller.
	 */
	private static IOException again(IOException e) {
		IOException x;
		if (e instanceof SocketTimeoutException)
			x = new SocketTimeoutException(e.getMessage());
		else if (e instanceof java.net.ConnectException)
			x = new java.net.ConnectException(e.getMessage());
		else if (e instanceof UnknownHostException)
			x = new UnknownHostException(e.getMessage());
		else if (e instanceof SocketException)
			x = new SocketException(e.getMessage());
		else
			return e;
		x.initCause(e);
		return x;
	}

	InputStream input() throws IOException {
		if (!c.getDoInput())
			throw new ProtocolException("Cannot read from URLConnection if doInput=false"
				+ " (call setDoInput(true))");
		respond();
		if (head.status < 0)
			throw new IOException("Invalid Http response");
		if (head.status == 404 || head.status == 410)
			throw new FileNotFoundException(c.getURL().toString());
		if (head.status >= 400)
			throw new IOException("Server returned HTTP response code: " + head.status
				+ " for URL: " + c.getURL());
		return body;
	}

	InputStream error() {
		HttpHead h = head;
		return h != null && h.status >= 400 && !empty ? body : null;
	}

	/**
	 * Returns the head, which is empty if there was no response. A response that could not be
	 * followed has its head.
	 */
	HttpHead head() {
		try {
			respond();
		} catch (IOException e) {
			return head != null ? head : HttpHead.NONE;
		}
		return head;
	}

	boolean usingProxy() {
		return usingProxy || proxy != null && proxy.type() == Proxy.Type.HTTP;
	}

	void disconnect() {
		HttpBody b = body;
		if (b != null) {
			try {
				b.close();
			} catch (IOException e) {
				/* The connection is closed, as the caller wants. */
				return;
			}
		}
		HttpWire w = wire;
		/* After connect() alone, the program may begin again. */
		if (!reading && streamed == null)
			wire = null;
		if (w != null)
			w.close();
	}
}
