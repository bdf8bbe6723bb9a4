/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 GET in plain blocking style, over java.net.Socket.
 *
 * It reads what a server sends, not what the server promises. A body ends by length, by chunks or
 * with the stream, and is truncated at the size limit. gzip and deflate are decoded under the
 * same limit. It follows no redirects and keeps no cookies: the crawler decides where to go.
 *
 * Rejected: HttpURLConnection (it hides the bytes that an archive must hold, retries on its own,
 * and pools connections out of our control); OkHttp and others (their blocking calls are below
 * interceptors and callbacks, which does not suit a thread that must park anywhere).
 */
package org.ukthreads.pico.piranha.http;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.ProtocolException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPInputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;

public final class HttpClient {
	private static final int MAX_HEADERS = 200;
	private static final int IDLE_PER_ORIGIN = 256;
	private static final int IDLE_TOTAL = 1024;

	private final String agent;
	private final HttpLimits limits;
	private final boolean keepAlive;
	private final boolean record;
	private final Optional<Proxy> proxy;
	private final Budget budget;
	private final IdleWires idle = new IdleWires(IDLE_PER_ORIGIN, IDLE_TOTAL);

	/** record: keep the bytes of each exchange. No proxy, and no limit of memory for bodies. */
	public HttpClient(String agent, HttpLimits limits, boolean keepAlive, boolean record) {
		this(agent, limits, keepAlive, record, Optional.<Proxy>empty(),
				new Budget(Long.MAX_VALUE / 2));
	}

	/** budget: the memory that large bodies may take together. */
	public HttpClient(String agent, HttpLimits limits, boolean keepAlive, boolean record,
			Optional<Proxy> proxy, Budget budget) {
		this.proxy = proxy;
		this.budget = budget;
		this.agent = agent;
		this.limits = limits;
		this.keepAlive = keepAlive;
		this.record = record;
	}

	/** Fetches. If a connection of the pool turns out to be closed, it is replaced once. */
	public HttpResponse get(Target target) throws IOException {
		long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limits.totalMillis);
		byte[] request = request(target);
		Optional<Wire> pooled = idle.take(target.origin());
		if (pooled.isPresent()) {
			Wire wire = pooled.get();
			wire.begin(record, limits.readMillis, deadline);
			if (answers(wire, request)) {
				return receive(target, wire, request);
			}
			wire.close();
		}
		Wire wire = Wire.open(target, proxy, limits, deadline);
		wire.begin(record, limits.readMillis, deadline);
		if (!answers(wire, request)) {
			wire.close();
			throw new EOFException("the server closed the connection without an answer");
		}
		return receive(target, wire, request);
	}

	public void close() {
		idle.close();
	}

	/** Sends the request and waits for the first bytes. Returns false if the peer had closed. */
	private static boolean answers(Wire wire, byte[] request) throws IOException {
		try {
			wire.send(request);
			return wire.fill();
		} catch (java.net.SocketTimeoutException e) {
			wire.close();
			throw e;
		} catch (IOException e) {
			return false;
		}
	}

	private HttpResponse receive(Target target, Wire wire, byte[] request) throws IOException {
		boolean reusable = false;
		try {
			int status = status(wire);
			List<String> headers = headers(wire);
			while (status >= 100 && status < 200) {
				wire.forget();
				status = status(wire);
				headers = headers(wire);
			}
			Body body = new Body(wire);
			boolean done = false;
			try {
				boolean complete = status == 204 || status == 304 || body(wire, headers, body);
				reusable = keepAlive && complete && delimited(status, headers) && !wire.dirty()
						&& !HttpResponse.find(headers, "connection").equalsIgnoreCase("close");
				HttpResponse response = response(status, headers, body, wire, request, complete);
				done = true;
				return response;
			} finally {
				if (!done) {
					body.leave.close();
				}
			}
		} finally {
			if (reusable) {
				idle.give(target.origin(), wire);
			} else {
				wire.close();
			}
		}
	}

	private HttpResponse response(int status, List<String> headers, Body body, Wire wire,
			byte[] request, boolean complete) throws IOException {
		byte[] raw = body.bytes.toByteArray();
		body.bytes.reset();
		ByteArrayOutputStream decoded = new ByteArrayOutputStream();
		String damage = "";
		boolean all = false;
		try {
			all = decode(raw, HttpResponse.find(headers, "content-encoding"), body, decoded);
		} catch (ZipException | EOFException e) {
			/* What could be read is decoded. A body that we have truncated is not broken. */
			if (complete) {
				damage = "broken " + HttpResponse.find(headers, "content-encoding") + ": "
						+ e.getMessage() + " (after " + decoded.size() + " bytes)";
			}
		}
		byte[] page = all && decoded.size() == 0 ? raw : decoded.toByteArray();
		if (page.length > limits.maxBytes) {
			page = Arrays.copyOf(page, limits.maxBytes);
		}
		Exchange exchange = new Exchange(request, wire.recorded(), wire.peer(), wire.received(),
				complete);
		return new HttpResponse(status, headers, page, !complete || !all && damage.isEmpty(),
				damage, exchange, body.leave);
	}

	/**
	 * A body as it arrives, with its permits of the budget, which the answer releases. The time
	 * that it waits for permits does not count as the server's.
	 */
	private final class Body {
		private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(1024);
		private final Wire wire;
		private final Budget.Leave leave = budget.new Leave(limits.maxBytes);

		Body(Wire wire) {
			this.wire = wire;
		}

		/** Called before there are more bytes than this, raw or decoded. */
		void grow(long size) throws IOException {
			try {
				wire.extend(leave.grow(size));
			} catch (InterruptedException e) {
				Thread.currentThread().interrupt();
				throw new InterruptedIOException("interrupted");
			}
		}
	}

	private byte[] request(Target target) {
		boolean whole = proxy.isPresent() && !target.secure();
		String text = "GET " + (whole ? target.origin() : "") + target.path()
				+ " HTTP/1.1\r\nHost: " + target.authority()
				+ "\r\nUser-Agent: " + agent
				+ "\r\nAccept: text/html,application/xhtml+xml,*/*;q=0.8"
				+ "\r\nAccept-Encoding: gzip, deflate"
				+ (keepAlive ? "" : "\r\nConnection: close") + "\r\n"
				+ (whole ? proxy.get().credentials() : "") + "\r\n";
		return text.getBytes(StandardCharsets.UTF_8);
	}

	private static int status(Wire wire) throws IOException {
		String line = wire.line();
		if (!line.startsWith("HTTP/1.") || line.length() < 12) {
			throw new ProtocolException("not an HTTP/1 answer: "
					+ line.substring(0, Math.min(40, line.length())));
		}
		try {
			return Integer.parseInt(line.substring(9, 12));
		} catch (NumberFormatException e) {
			throw new ProtocolException("no status in: " + line);
		}
	}

	private static List<String> headers(Wire wire) throws IOException {
		List<String> headers = new ArrayList<>(8);
		for (String line = wire.line(); !line.isEmpty(); line = wire.line()) {
			headers.add(line);
			if (headers.size() > MAX_HEADERS) {
				throw new ProtocolException("more than " + MAX_HEADERS + " headers");
			}
		}
		return headers;
	}

	private static boolean delimited(int status, List<String> headers) {
		return status == 204 || status == 304 || chunked(headers)
				|| !HttpResponse.find(headers, "content-length").isEmpty();
	}

	private static boolean chunked(List<String> headers) {
		return HttpResponse.find(headers, "transfer-encoding").toLowerCase(Locale.ROOT)
				.contains("chunked");
	}

	/** Reads the body. Returns false if it is larger than the limit; the rest is not read. */
	private boolean body(Wire wire, List<String> headers, Body body)
			throws IOException {
		if (chunked(headers)) {
			return chunks(wire, body);
		}
		String length = HttpResponse.find(headers, "content-length");
		if (length.isEmpty()) {
			return toEnd(wire, body);
		}
		return exactly(wire, body, size(length, 10, "bad content length: "));
	}

	/** Parses a number of digits, without a sign. */
	private static long size(String text, int radix, String what) throws ProtocolException {
		try {
			long size = Long.parseLong(text, radix);
			if (Character.digit(text.charAt(0), radix) >= 0) {
				return size;
			}
		} catch (NumberFormatException e) {
			// Reported below.
		}
		throw new ProtocolException(what + text);
	}

	private boolean exactly(Wire wire, Body body, long length)
			throws IOException {
		long left = length;
		while (left > 0) {
			int room = limits.maxBytes - body.bytes.size();
			if (room == 0) {
				return false;
			}
			body.grow(body.bytes.size() + Math.min(left, room));
			int n = wire.read(body.bytes, (int) Math.min(left, room));
			if (n < 0) {
				throw new EOFException("the body ended " + left + " bytes early");
			}
			left -= n;
		}
		return true;
	}

	private boolean chunks(Wire wire, Body body) throws IOException {
		while (true) {
			String line = wire.line();
			int end = line.indexOf(';');
			long size = size((end < 0 ? line : line.substring(0, end)).trim(), 16,
					"bad chunk size: ");
			if (size == 0) {
				headers(wire);      /* the trailers */
				return true;
			}
			if (!exactly(wire, body, size)) {
				return false;
			}
			if (!wire.line().isEmpty()) {
				throw new ProtocolException("a chunk is longer than its size says");
			}
		}
	}

	private boolean toEnd(Wire wire, Body body) throws IOException {
		while (true) {
			int room = limits.maxBytes - body.bytes.size();
			if (room == 0) {
				return false;
			}
			body.grow(body.bytes.size() + 1);
			if (wire.read(body.bytes, room) < 0) {
				return true;
			}
		}
	}

	/**
	 * Decodes the body. Returns false if it is larger than the limit, and true without any bytes
	 * if it is not encoded. Throws an EOFException or a ZipException if it is broken.
	 */
	private boolean decode(byte[] body, String encoding, Body of, ByteArrayOutputStream to)
			throws IOException {
		String name = encoding.toLowerCase(Locale.ROOT);
		if (body.length == 0 || name.isEmpty() || name.equals("identity")) {
			return true;        /* not encoded */
		}
		InputStream raw = new ByteArrayInputStream(body);
		if (name.equals("gzip") || name.equals("x-gzip")) {
			return inflate(new GZIPInputStream(raw), of, to);
		}
		if (name.equals("deflate")) {
			boolean zlib = (body[0] & 0x0f) == 8;
			Inflater inflater = new Inflater(!zlib);
			try {
				return inflate(new InflaterInputStream(raw, inflater), of, to);
			} finally {
				inflater.end();
			}
		}
		throw new ProtocolException("content encoding " + encoding + " was not asked for");
	}

	/** Reads one byte more than the limit, if there is one, to see that the body is larger. */
	private boolean inflate(InputStream in, Body of, ByteArrayOutputStream to)
			throws IOException {
		byte[] some = new byte[8192];
		for (int n = in.read(some); n >= 0; n = in.read(some)) {
			of.grow(to.size() + n);
			to.write(some, 0, n);
			if (to.size() > limits.maxBytes) {
				return false;
			}
		}
		return true;
	}
}
