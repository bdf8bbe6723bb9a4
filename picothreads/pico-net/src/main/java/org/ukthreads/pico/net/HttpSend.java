// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.ukthreads.pico.io.PicoOutputStream;

/** The body of a request that is sent as it is written: with a known length, or in chunks. */
final class HttpSend extends PicoOutputStream {
	private final HttpWire wire;
	/** Bytes still to come; negative: chunks. */
	private long left;
	private final byte[] chunk;
	private int n;
	private boolean closed;
	private boolean failed;

	/** length negative: send chunks of `chunk` bytes. */
	HttpSend(HttpWire wire, long length, int chunk) {
		this.wire = wire;
		left = length;
		this.chunk = new byte[length < 0 ? chunk : 0];
	}

	@Override
	public void write(int b) throws IOException {
		write(new byte[] {(byte) b}, 0, 1);
	}

	@Override
	public void write(byte[] b, int off, int len) throws IOException {
		if (closed)
			throw new IOException("Stream is closed");
		if ((off | len | off + len | b.length - off - len) < 0)
			throw new IndexOutOfBoundsException(off + ", " + len + " of " + b.length);
		if (left >= 0) {
			if (len > left) {
				closed = true;
				failed = true;
				wire.close();
				throw new IOException("too many bytes written");
			}
			wire.out.write(b, off, len);
			left -= len;
			return;
		}
		while (len > 0) {
			int k = Math.min(len, chunk.length - n);
			System.arraycopy(b, off, chunk, n, k);
			n += k;
			off += k;
			len -= k;
			if (n == chunk.length)
				flush();
		}
	}

	@Override
	public void flush() throws IOException {
		if (n == 0)
			return;
		byte[] size = (Integer.toHexString(n) + "\r\n").getBytes(StandardCharsets.US_ASCII);
		byte[] b = new byte[size.length + n + 2];
		System.arraycopy(size, 0, b, 0, size.length);
		System.arraycopy(chunk, 0, b, size.length, n);
		b[b.length - 2] = '\r';
		b[b.length - 1] = '\n';
		n = 0;
		wire.out.write(b);
	}

	/** Returns true if the body did not have the announced length. */
	boolean failed() {
		return failed;
	}

	boolean closed() {
		return closed;
	}

	@Override
	public void close() throws IOException {
		if (closed)
			return;
		closed = true;
		if (left > 0) {
			failed = true;
			wire.close();
			throw new IOException("insufficient data written");
		}
		if (left < 0) {
			flush();
			wire.send("0\r\n\r\n");
		}
	}
}
