/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One open connection: a socket, a read buffer, and the deadline of the fetch under way.
 *
 * Every blocking call of a fetch is here (connect, TLS handshake, read, write). Each is a plain
 * call of java.net that returns plainly, so a translated thread can park in it. Before each read
 * the socket's time-out is set to what is left until the deadline (see TimedSocket), so a server
 * that sends a byte now and then cannot hold a thread for ever.
 *
 * The owner is the thread that fetches, and between fetches the pool; never both.
 */
package org.ukthreads.pico.piranha.http;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

final class Wire implements Closeable {
	private static final int BUFFER = 16 << 10;
	private static final int MAX_LINE = 16 << 10;

	private final TimedSocket plain;
	private final Socket socket;        /* the same as plain, or TLS over it */
	private final InputStream in;
	private final OutputStream out;
	private final String peer;
	private final byte[] buffer = new byte[BUFFER];
	private int at;
	private int end;
	private boolean recording;
	private ByteArrayOutputStream record = new ByteArrayOutputStream(0);
	private long received;

	private Wire(TimedSocket plain, Socket socket) throws IOException {
		this.plain = plain;
		this.socket = socket;
		this.in = socket.getInputStream();
		this.out = socket.getOutputStream();
		this.peer = socket.getInetAddress().getHostAddress();
	}

	/**
	 * The name is looked up in a separate call, because a lookup waits, too, and must not do so
	 * in a constructor.
	 */
	static Wire open(Target target, HttpLimits limits, long deadline) throws IOException {
		return open(target, Optional.<Proxy>empty(), limits, deadline);
	}

	static Wire open(Target target, Optional<Proxy> proxy, HttpLimits limits, long deadline)
			throws IOException {
		InetAddress[] addresses = InetAddress.getAllByName(
				proxy.isPresent() ? proxy.get().host : target.name());
		for (int i = 0; i < addresses.length - 1; i++) {
			try {
				return open(addresses[i], target, proxy, limits, deadline);
			} catch (IOException e) {
				// Try the next address of the host.
			}
		}
		return open(addresses[addresses.length - 1], target, proxy, limits, deadline);
	}

	private static Wire open(InetAddress address, Target target, Optional<Proxy> proxy,
			HttpLimits limits, long deadline) throws IOException {
		TimedSocket socket = new TimedSocket();
		try {
			socket.limit(limits.readMillis, deadline);
			socket.open(new InetSocketAddress(address, proxy.isPresent() ? proxy.get().port
					: target.port()), limits.connectMillis);
			socket.setTcpNoDelay(true);
			if (proxy.isPresent() && target.secure()) {
				tunnel(socket, proxy.get(), target);
			}
			return new Wire(socket, target.secure() ? secured(socket, target) : socket);
		} catch (IOException e) {
			socket.close();
			throw e;
		}
	}

	/** Reads the answer byte by byte, because what follows it belongs to the tunnel. */
	private static void tunnel(TimedSocket socket, Proxy proxy, Target target)
			throws IOException {
		socket.getOutputStream().write(proxy.connect(target));
		InputStream in = socket.getInputStream();
		ByteArrayOutputStream head = new ByteArrayOutputStream(256);
		while (!head.toString("ISO-8859-1").endsWith("\r\n\r\n")) {
			int b = in.read();
			if (b < 0 || head.size() > MAX_LINE) {
				throw new EOFException("the proxy did not answer CONNECT");
			}
			head.write(b);
		}
		String text = head.toString("ISO-8859-1");
		if (!text.matches("(?s)HTTP/1\\.[01] 2[0-9][0-9].*")) {
			throw new ProtocolException("the proxy refuses: "
					+ text.substring(0, text.indexOf('\r')));
		}
	}

	private static Socket secured(Socket plain, Target target) throws IOException {
		SSLSocketFactory factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
		SSLSocket tls = (SSLSocket) factory.createSocket(plain, target.name(), target.port(),
				true);
		SSLParameters parameters = tls.getSSLParameters();
		parameters.setEndpointIdentificationAlgorithm("HTTPS");
		tls.setSSLParameters(parameters);
		tls.startHandshake();
		return tls;
	}

	/** Begins a new fetch on this connection. */
	void begin(boolean record, int readMillis, long deadline) {
		this.recording = record;
		this.record = new ByteArrayOutputStream(record ? BUFFER : 0);
		this.received = 0;
		plain.limit(readMillis, deadline);
	}

	/** Moves the deadline of the fetch under way. */
	void extend(long nanos) {
		plain.extend(nanos);
	}

	void send(byte[] request) throws IOException {
		out.write(request);
		out.flush();
	}

	/**
	 * Forgets what was read so far, which was a provisional answer: the archive holds the final
	 * one.
	 */
	void forget() {
		if (recording) {
			record.reset();
			record.write(buffer, at, end - at);
		}
	}

	String peer() {
		return peer;
	}

	byte[] recorded() {
		return record.toByteArray();
	}

	long received() {
		return received;
	}

	/**
	 * True if the buffer has bytes that belong to no answer, so the connection must not be used
	 * again.
	 */
	boolean dirty() {
		return at < end;
	}

	/** Reads a line and returns it without its end. */
	String line() throws IOException {
		ByteArrayOutputStream line = new ByteArrayOutputStream(64);
		while (true) {
			if (at == end && !fill()) {
				throw new EOFException("the connection was closed inside the headers");
			}
			byte b = buffer[at++];
			if (b == '\n') {
				String text = new String(line.toByteArray(), StandardCharsets.ISO_8859_1);
				return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
			}
			line.write(b);
			if (line.size() > MAX_LINE) {
				throw new IOException("a header line of more than " + MAX_LINE + " bytes");
			}
		}
	}

	/** Appends up to n bytes to the sink. Returns their number, or -1 at the end of the stream. */
	int read(ByteArrayOutputStream sink, int n) throws IOException {
		if (at == end && !fill()) {
			return -1;
		}
		int some = Math.min(n, end - at);
		sink.write(buffer, at, some);
		at += some;
		return some;
	}

	/** Waits for bytes. Returns false if the peer has closed. */
	boolean fill() throws IOException {
		int n = in.read(buffer, 0, buffer.length);
		at = 0;
		end = Math.max(n, 0);
		if (n > 0) {
			received += n;
			if (recording) {
				record.write(buffer, 0, n);
			}
		}
		return n > 0;
	}

	@Override
	public void close() {
		try {
			socket.close();
		} catch (IOException e) {
			// Nothing is lost, because the fetch is over.
		}
	}
}
