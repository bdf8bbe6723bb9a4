/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * A set of URLs in 16 bytes each: the first 128 bits of their SHA-256, in an open-addressed
 * table. With 10^9 URLs the probability that two of them share a value is below 10^-20. Not
 * thread-safe.
 */
final class Fingerprints {
	private final MessageDigest digest;
	private long[] table = new long[2 << 10];   /* pairs; 0,0 is an empty slot */
	private int size;

	Fingerprints() {
		try {
			digest = MessageDigest.getInstance("SHA-256");
		} catch (NoSuchAlgorithmException e) {
			throw new IllegalStateException("every JDK has SHA-256", e);
		}
	}

	/** Adds a URL. Returns true if it was not there. */
	boolean add(String url) {
		long[] print = print(url);
		if (2 * (size + 1) > table.length / 2) {
			grow();
		}
		if (!insert(table, print[0], print[1])) {
			return false;
		}
		size++;
		return true;
	}

	boolean contains(String url) {
		long[] print = print(url);
		int mask = table.length / 2 - 1;
		for (int i = (int) print[0] & mask;; i = (i + 1) & mask) {
			if (table[2 * i] == 0 && table[2 * i + 1] == 0) {
				return false;
			}
			if (table[2 * i] == print[0] && table[2 * i + 1] == print[1]) {
				return true;
			}
		}
	}

	int size() {
		return size;
	}

	void clear() {
		table = new long[2 << 4];
		size = 0;
	}

	private static boolean insert(long[] table, long high, long low) {
		int mask = table.length / 2 - 1;
		int i = (int) high & mask;
		while (table[2 * i] != 0 || table[2 * i + 1] != 0) {
			if (table[2 * i] == high && table[2 * i + 1] == low) {
				return false;
			}
			i = (i + 1) & mask;
		}
		table[2 * i] = high;
		table[2 * i + 1] = low;
		return true;
	}

	private void grow() {
		long[] larger = new long[table.length * 2];
		for (int i = 0; i < table.length; i += 2) {
			if (table[i] != 0 || table[i + 1] != 0) {
				insert(larger, table[i], table[i + 1]);
			}
		}
		table = larger;
	}

	private long[] print(String url) {
		ByteBuffer bytes = ByteBuffer.wrap(digest.digest(url.getBytes(StandardCharsets.UTF_8)));
		return new long[] {bytes.getLong(), bytes.getLong() | 1};
	}
}
