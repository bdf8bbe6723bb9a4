/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer in steps: each waits and then sends some bytes. At the end the connection is kept or
 * closed. An ordinary page is one step after the simulated delay, a slow page is many steps, and
 * a server that never answers is one step that waits and sends nothing.
 */
package org.ukthreads.pico.piranha.web;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;

final class Reply {
	static final class Step {
		final long delayNanos;
		final ByteBuffer[] bytes;

		Step(long delayNanos, ByteBuffer... bytes) {
			this.delayNanos = delayNanos;
			this.bytes = bytes;
		}
	}

	final ArrayDeque<Step> steps = new ArrayDeque<>();
	final boolean close;

	private Reply(boolean close) {
		this.close = close;
	}

	static Reply of(long delayNanos, boolean close, ByteBuffer... bytes) {
		Reply reply = new Reply(close);
		reply.steps.add(new Step(delayNanos, bytes));
		return reply;
	}

	Reply then(long delayNanos, ByteBuffer... bytes) {
		steps.add(new Step(delayNanos, bytes));
		return this;
	}

	static ByteBuffer head(int status, String type, long length, boolean close, String extra) {
		StringBuilder head = new StringBuilder(160);
		head.append("HTTP/1.1 ").append(status).append(' ').append(reason(status)).append("\r\n");
		if (!type.isEmpty()) {
			head.append("Content-Type: ").append(type).append("\r\n");
		}
		if (length >= 0) {
			head.append("Content-Length: ").append(length).append("\r\n");
		}
		head.append(extra).append(close ? "Connection: close\r\n\r\n" : "\r\n");
		return ascii(head.toString());
	}

	static ByteBuffer ascii(String text) {
		return ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
	}

	private static String reason(int status) {
		switch (status) {
			case 200: return "OK";
			case 301: return "Moved Permanently";
			case 302: return "Found";
			case 404: return "Not Found";
			case 503: return "Service Unavailable";
			default: return "Status";
		}
	}
}
