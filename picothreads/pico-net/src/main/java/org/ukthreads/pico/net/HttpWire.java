// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ProtocolException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.ukthreads.pico.NeverBlocks;

/**
 * A connection to an HTTP server, with bytes that were read ahead. It is idle between two
 * calls.
 */
final class HttpWire {
	/** The charset for sending: the platform's, as in the JDK, if it contains ASCII. */
	static final Charset CHARSET = Arrays.equals(new byte[] {'/', ':'}, "/:".getBytes())
		? Charset.defaultCharset() : StandardCharsets.ISO_8859_1;
	private static final long IDLE_NANOS = 5_000_000_000L;
	private static final int MOST = 64 << 10;

	final Socket socket;
	/** Which calls may reuse it: scheme, host, port, proxy, factory, verifier. */
	final List<Object> key;
	/** The request line contains the whole URL. */
	final boolean proxied;
	private final InputStream in;
	final OutputStream out;
	private final byte[] buffer = new byte[8192];
	private int at;
	private int end;
	private long idleSince;

	HttpWire(Socket socket, List<Object> key, boolean proxied) throws IOException {
		this.socket = socket;
		this.key = key;
		this.proxied = proxied;
		in = socket.getInputStream();
		out = socket.getOutputStream();
	}

	private boolean fill() throws IOException {
		int n = in.read(buffer, 0, buffer.length);
		at = 0;
		end = Math.max(0, n);
		return n > 0;
	}

	/** Reads a line within a body. */
	String line() throws IOException {
		return line(MOST);
	}

	/** Reads a line and returns it without its end; null: the peer closed before the first byte. */
	String line(int most) throws IOException {
		StringBuilder b = new StringBuilder();
		for (;;) {
			if (b.length() > most)
				throw new ProtocolException("Header size too big: " + b.length() + " > " + most);
			if (at == end && !fill()) {
				if (b.length() > 0)
					throw new SocketException("Unexpected end of file from server");
				return null;
			}
			int c = buffer[at++] & 0xff;
			if (c == '\r' && (at < end || fill()) && buffer[at] == '\n')
				at++;
			if (c == '\r' || c == '\n')
				return b.toString();
			b.append((char) c);
		}
	}

	int read(byte[] b, int off, int len) throws IOException {
		if (at == end) {
			if (len >= buffer.length)
				return in.read(b, off, len);
			if (!fill())
				return -1;
		}
		int n = Math.min(len, end - at);
		System.arraycopy(buffer, at, b, off, n);
		at += n;
		return n;
	}

	int buffered() {
		return end - at;
	}

	/** Returns the number of bytes that can be read without waiting. */
	int available() throws IOException {
		return buffered() + in.available();
	}

	void send(String head) throws IOException {
		out.write(head.getBytes(CHARSET));
	}

	void close() {
		try {
			socket.close();
		} catch (IOException e) {
			/* It is unusable in any case. */
			return;
		}
	}

	/* --- idle connections --- */

	@NeverBlocks
	private static final class Idle {
		private static final boolean KEEP = !"false".equals(
			System.getProperty("http.keepAlive"));
		private static final int MOST = Integer.getInteger("http.maxConnections", 5);
		private static final Map<List<Object>, ArrayDeque<HttpWire>> ALL = new HashMap<>();

		private static boolean reaping;

		static synchronized HttpWire take(List<Object> key) {
			ArrayDeque<HttpWire> q = ALL.get(key);
			return q == null ? null : q.poll();
		}

		/** Moves connections that were idle too long into `old`; false: none is left. */
		static synchronized boolean expire(List<HttpWire> old) {
			long now = System.nanoTime();
			for (Iterator<ArrayDeque<HttpWire>> i = ALL.values().iterator(); i.hasNext();) {
				ArrayDeque<HttpWire> q = i.next();
				while (!q.isEmpty() && now - q.getLast().idleSince > IDLE_NANOS)
					old.add(q.removeLast());
				if (q.isEmpty())
					i.remove();
			}
			reaping = !ALL.isEmpty();
			return reaping;
		}

		static synchronized boolean give(HttpWire w) {
			ArrayDeque<HttpWire> q = ALL.computeIfAbsent(w.key, k -> new ArrayDeque<>());
			if (!KEEP || q.size() >= MOST)
				return false;
			w.idleSince = System.nanoTime();
			q.push(w);
			return true;
		}

		/** Returns true if the caller must start the thread that closes idle connections. */
		static synchronized boolean needsReaper() {
			boolean start = !reaping && !ALL.isEmpty();
			reaping |= start;
			return start;
		}
	}

	/**
	 * Closes idle connections. Like the JDK's Keep-Alive-Timer, the thread ends when none is
	 * left.
	 */
	private static final class Reaper implements Runnable {
		@Override
		public void run() {
			try {
				List<HttpWire> old = new ArrayList<>();
				boolean more;
				do {
					Thread.sleep(1000);
					more = Idle.expire(old);
					for (HttpWire w : old)
						w.close();
					old.clear();
				} while (more);
			} catch (InterruptedException e) {
				Thread.currentThread().interrupt();
			}
		}
	}

	/** Takes the youngest idle connection, or null. */
	static HttpWire take(List<Object> key) {
		HttpWire w = Idle.take(key);
		while (w != null && w.socket.isClosed())
			w = Idle.take(key);
		return w;
	}

	/** Waits for the first bytes or the end; false: the socket's timeout is over. */
	boolean speaks() throws IOException {
		try {
			if (at == end)
				fill();
			return true;
		} catch (SocketTimeoutException e) {
			return false;
		}
	}

	/** Returns true if the peer of this idle connection has neither closed it nor sent anything. */
	boolean alive() {
		try {
			socket.setSoTimeout(1);
			in.read(buffer, 0, 1);
			return false;
		} catch (SocketTimeoutException e) {
			return true;
		} catch (IOException e) {
			return false;
		}
	}

	/** Makes the connection idle, after the response was read to its end. */
	void release() {
		if (buffered() > 0 || !Idle.give(this)) {
			close();
			return;
		}
		if (Idle.needsReaper()) {
			Thread t = new Thread(new Reaper(), "Keep-Alive-Timer");
			t.setDaemon(true);
			t.start();
		}
	}
}
