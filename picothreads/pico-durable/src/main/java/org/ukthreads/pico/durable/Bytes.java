// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.ukthreads.pico.NeverBlocks;

/**
 * A growing buffer of numbers and text. A number has 7 bits in each byte, the lowest first; signed
 * numbers are zigzag-encoded.
 */
@NeverBlocks
final class Bytes {
	byte[] b;
	int n;

	Bytes(int size) {
		b = new byte[size];
	}

	/** A buffer to read from. */
	Bytes(byte[] from, int at) {
		b = from;
		n = at;
	}

	private void room(int k) {
		if (n + k > b.length)
			b = Arrays.copyOf(b, Math.max(b.length * 2, n + k));
	}

	void put(int x) {
		room(1);
		b[n++] = (byte) x;
	}

	void number(long v) {
		unsigned(v << 1 ^ v >> 63);
	}

	void unsigned(long v) {
		room(10);
		while ((v & ~0x7fL) != 0) {
			b[n++] = (byte) (v | 0x80);
			v >>>= 7;
		}
		b[n++] = (byte) v;
	}

	void bits(long v) {
		room(8);
		for (int k = 0; k < 8; k++)
			b[n++] = (byte) (v >>> 8 * k);
	}

	void raw(byte[] from, int len) {
		room(len);
		System.arraycopy(from, 0, b, n, len);
		n += len;
	}

	/**
	 * Writes twice the length in bytes, then UTF-8. A text with unpaired surrogates is written as
	 * twice the length plus 1, then UTF-16.
	 */
	void text(String s) {
		int len = s.length();
		room(len + 5);
		int mark = n;
		unsigned(len << 1);
		for (int k = 0; k < len; k++) {
			char c = s.charAt(k);
			if (c >= 0x80) {
				n = mark;
				wide(s);
				return;
			}
			b[n++] = (byte) c;
		}
	}

	private void wide(String s) {
		byte[] x = s.getBytes(StandardCharsets.UTF_8);
		if (new String(x, StandardCharsets.UTF_8).equals(s)) {
			unsigned((long) x.length << 1);
			raw(x, x.length);
			return;
		}
		x = s.getBytes(StandardCharsets.UTF_16BE);
		unsigned((long) x.length << 1 | 1);
		raw(x, x.length);
	}

	int get() {
		if (n >= b.length)
			throw new DurableException("the snapshot is cut short");
		return b[n++] & 0xff;
	}

	long number() {
		long v = unsigned();
		return v >>> 1 ^ -(v & 1);
	}

	long unsigned() {
		long v = 0;
		for (int s = 0; s < 64; s += 7) {
			int x = get();
			v |= (long) (x & 0x7f) << s;
			if (x < 0x80)
				return v;
		}
		throw new DurableException("the snapshot contains a number that is too long");
	}

	/** Reads a count of things that take at least a byte each. */
	int count() {
		long v = unsigned();
		if (v < 0 || v > b.length)
			throw new DurableException("the snapshot contains an impossible count: " + v);
		return (int) v;
	}

	long bits() {
		long v = 0;
		for (int k = 0; k < 8; k++)
			v |= (long) get() << 8 * k;
		return v;
	}

	byte[] raw() {
		int len = count();
		if (len > b.length - n)
			throw new DurableException("the snapshot is cut short");
		n += len;
		return Arrays.copyOfRange(b, n - len, n);
	}

	String text() {
		long len = unsigned();
		int k = (int) (len >>> 1);
		if (len >>> 1 > b.length - n)
			throw new DurableException("the snapshot is cut short");
		n += k;
		return new String(b, n - k, k,
			(len & 1) == 0 ? StandardCharsets.UTF_8 : StandardCharsets.UTF_16BE);
	}

	byte[] done() {
		return Arrays.copyOf(b, n);
	}
}
