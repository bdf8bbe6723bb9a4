// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.net.SocketTimeoutException;
import org.ukthreads.pico.io.PicoInputStream;

/** The body of a response. At its end the connection is free for another call. */
final class HttpBody extends PicoInputStream {
	static final long CHUNKED = -1;
	static final long TO_THE_END = -2;

	/** Older JDKs accept a body that is shorter than its length as complete. */
	private static final boolean STRICT = version() >= 25;

	private static int version() {
		String v = System.getProperty("java.specification.version");
		return v.startsWith("1.") ? 8 : Integer.parseInt(v);
	}

	private final HttpWire wire;
	private final HttpHead head;
	private final boolean chunked;
	private final boolean keep;
	/** Bytes that are missing from the body or the chunk; TO_THE_END: unknown. */
	private long left;
	private boolean first = true;
	/** The whole body, if it came with the head: then the connection is free at once. */
	private byte[] here = {};
	private int at;
	private boolean over;
	private boolean closed;
	/** Why the body broke off; every later read says so. */
	private IOException broken;

	HttpBody(HttpWire wire, HttpHead head, long length) throws IOException {
		this.wire = wire;
		this.head = head;
		this.keep = head.keepAlive() && length != TO_THE_END;
		chunked = length == CHUNKED;
		left = chunked ? 0 : length;
		if (length >= 0 && length <= wire.buffered()) {
			here = new byte[(int) length];
			for (int n = 0; n < here.length;)
				n += wire.read(here, n, here.length - n);
			left = 0;
			end(true);
		}
	}

	private void end(boolean whole) {
		over = true;
		if (whole && keep)
			wire.release();
		else
			wire.close();
	}

	private void chunk() throws IOException {
		if (!first && !line().isEmpty())
			throw new IOException("missing CR");
		first = false;
		left = size(line().trim());
		if (left == 0) {
			for (String s; !(s = line()).isEmpty();)
				head.trailer(s);
			end(true);
		}
	}

	private String line() throws IOException {
		String line = wire.line();
		if (line == null)
			throw new IOException("Premature EOF");
		return line;
	}

	/** Parses the size of a chunk. The rest of the line is an extension, which is ignored. */
	private static int size(String line) throws IOException {
		int n = 0;
		while (n < line.length() && Character.digit(line.charAt(n), 16) >= 0)
			n++;
		try {
			return Integer.parseInt(line.substring(0, n), 16);
		} catch (NumberFormatException e) {
			throw new IOException("Bogus chunk size");
		}
	}

	@Override
	public int read() throws IOException {
		byte[] one = new byte[1];
		return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
	}

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		if (closed)
			throw new IOException("stream is closed");
		if ((off | len | off + len | b.length - off - len) < 0)
			throw new IndexOutOfBoundsException(off + ", " + len + " of " + b.length);
		if (len == 0)
			return 0;
		if (at < here.length) {
			int n = Math.min(len, here.length - at);
			System.arraycopy(here, at, b, off, n);
			at += n;
			return n;
		}
		if (broken != null)
			throw new IOException(broken.getMessage(), broken);
		try {
			if (!over && chunked && left == 0)
				chunk();
			if (over)
				return -1;
			int n = wire.read(b, off, left == TO_THE_END ? len : (int) Math.min(len, left));
			if (n < 0) {
				end(false);
				if (chunked || left > 0 && STRICT)
					throw new IOException("Premature EOF");
				return -1;
			}
			if (left > 0) {
				left -= n;
				if (left == 0 && !chunked)
					end(true);
			}
			return n;
		} catch (SocketTimeoutException e) {
			/* The program may read again. */
			throw e;
		} catch (IOException e) {
			broken = e;
			if (!over)
				end(false);
			throw e;
		}
	}

	@Override
	public int available() throws IOException {
		if (closed)
			throw new IOException("stream is closed");
		if (over)
			return here.length - at;
		long n = wire.available();
		return (int) (left == TO_THE_END ? n : Math.min(left, n));
	}

	@Override
	public void close() throws IOException {
		if (closed)
			return;
		closed = true;
		if (!over)
			end(false);
	}
}
