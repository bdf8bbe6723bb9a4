/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client of the test web.
 *
 *   state      left when                          next
 *   READING    a whole request head has arrived   WAITING
 *   WAITING    the step's delay is over           WRITING
 *   WRITING    the step's bytes are sent          WAITING (next step), READING, or closed
 *
 * Runs on the server's only thread. A request that arrives early (pipelining) stays in the buffer
 * until the previous answer is sent.
 */
package org.ukthreads.pico.piranha.web;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

final class Connection implements Comparable<Connection> {
	private static final int MAX_HEAD = 16 << 10;

	final SocketChannel channel;
	final SelectionKey key;
	final int host;
	private byte[] head = new byte[512];
	private int filled;
	private Reply reply;
	private Hit hit;
	long dueNanos;

	Connection(SocketChannel channel, SelectionKey key, int host) {
		this.channel = channel;
		this.key = key;
		this.host = host;
	}

	@Override
	public int compareTo(Connection other) {
		return Long.compare(dueNanos - other.dueNanos, 0);
	}

	/** Reads what has arrived. Returns false if the peer has gone. */
	boolean read(ByteBuffer scratch) throws IOException {
		scratch.clear();
		int n = channel.read(scratch);
		if (n < 0) {
			return false;
		}
		scratch.flip();
		if (filled + n > MAX_HEAD) {
			return false;
		}
		if (filled + n > head.length) {
			head = java.util.Arrays.copyOf(head, Math.max(filled + n, head.length * 2));
		}
		scratch.get(head, filled, n);
		filled += n;
		return true;
	}

	boolean busy() {
		return reply != null;
	}

	/** Starts to answer the next whole request in the buffer. Returns false if there is none. */
	boolean next(TestWeb web) {
		int end = endOfHead();
		if (end < 0) {
			return false;
		}
		String text = new String(head, 0, end, StandardCharsets.ISO_8859_1);
		System.arraycopy(head, end, head, 0, filled - end);
		filled -= end;
		int space = text.indexOf(' ');
		String path = text.substring(space + 1, text.indexOf(' ', space + 1));
		String lower = text.toLowerCase(Locale.ROOT);
		boolean close = lower.contains("\r\nconnection: close");
		hit = web.record(host, path, header(text, lower, "user-agent"));
		reply = web.reply(host, path, close);
		dueNanos = System.nanoTime() + reply.steps.peek().delayNanos;
		return true;
	}

	/** Sends what is due. Returns true if the answer is complete. */
	boolean write() throws IOException {
		Reply.Step step = reply.steps.peek();
		int last = step.bytes.length - 1;
		if (last >= 0) {
			channel.write(step.bytes);
			if (step.bytes[last].hasRemaining()) {
				key.interestOps(SelectionKey.OP_WRITE);
				return false;
			}
		}
		reply.steps.poll();
		if (!reply.steps.isEmpty()) {
			dueNanos = System.nanoTime() + reply.steps.peek().delayNanos;
		}
		return reply.steps.isEmpty();
	}

	/**
	 * Ends an answer that was sent or given up. Returns true if the connection may serve another
	 * request.
	 */
	boolean finish() {
		boolean keep = !reply.close;
		reply = null;
		hit.ended(System.nanoTime());
		return keep;
	}

	void abandoned() {
		if (reply != null) {
			finish();
		}
	}

	private int endOfHead() {
		for (int i = 3; i < filled; i++) {
			if (head[i] == '\n' && head[i - 1] == '\r' && head[i - 2] == '\n') {
				return i + 1;
			}
		}
		return -1;
	}

	private static String header(String text, String lower, String name) {
		int at = lower.indexOf("\r\n" + name + ":");
		if (at < 0) {
			return "";
		}
		int from = at + name.length() + 3;
		return text.substring(from, text.indexOf("\r\n", from)).trim();
	}
}
