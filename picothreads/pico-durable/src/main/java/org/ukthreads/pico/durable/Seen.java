// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import org.ukthreads.pico.NeverBlocks;

/*
 * The number of the last record of each thread that this vault has stored or read. An older record
 * under the same name was put back by somebody (rollback), even if its signature is right.
 *
 * In memory there are two arrays with open addressing and 64 bits of a hash of the id: about 32
 * bytes for each thread. With a file the numbers survive a restart, too. A number is appended when
 * its record is safe: a crash in between leaves a number that is too low, never one too high, so no
 * good record is refused. The file is rewritten when most of it is old. It belongs beside the key:
 * whoever can write the store must not be able to write it.
 *
 *   file: pairs of 8 bytes: hash, number; number 0: the thread has ended
 *
 * Rejected: a signed sum over all records in the store itself. To check one record, it needs the
 * numbers of many, and it does not notice that all records were put back together.
 */
@NeverBlocks
final class Seen implements Closeable {
	private long[] hashes = new long[64];
	private long[] numbers = new long[64];
	private int used;
	private FileChannel file;
	private Path path;
	private long written;

	private static long hash(String id) {
		try {
			byte[] h = MessageDigest.getInstance("SHA-256").digest(
				id.getBytes(StandardCharsets.UTF_8));
			long x = ByteBuffer.wrap(h).getLong();
			return x == 0 ? 1 : x;
		} catch (GeneralSecurityException e) {
			throw new IllegalStateException(e);
		}
	}

	private int slot(long hash) {
		int k = (int) hash & hashes.length - 1;
		while (hashes[k] != 0 && hashes[k] != hash)
			k = k + 1 & hashes.length - 1;
		return k;
	}

	/** Returns the last number of a thread; 0: none. */
	synchronized long last(String id) {
		return numbers[slot(hash(id))];
	}

	/** Called when a record is safe. */
	synchronized void saw(String id, long number) {
		long h = hash(id);
		if (numbers[slot(h)] >= number)
			return;
		put(h, number);
		append(h, number);
	}

	/** Called when a thread has ended: a new one may have its name. */
	synchronized void ended(String id) {
		long h = hash(id);
		if (numbers[slot(h)] == 0)
			return;
		put(h, 0);
		append(h, 0);
	}

	private void put(long hash, long number) {
		int k = slot(hash);
		numbers[k] = number;
		if (hashes[k] != 0)
			return;
		hashes[k] = hash;
		if (++used * 4 > hashes.length * 3)
			grow();
	}

	/** Makes the arrays twice as large, or only tidies them if many threads have ended. */
	private void grow() {
		long[] h = hashes;
		long[] n = numbers;
		int live = 0;
		for (long x : n)
			live += x != 0 ? 1 : 0;
		int size = live * 2 > h.length ? h.length * 2 : h.length;
		hashes = new long[size];
		numbers = new long[size];
		used = 0;
		for (int k = 0; k < h.length; k++)
			if (n[k] != 0) {
				int s = slot(h[k]);
				hashes[s] = h[k];
				numbers[s] = n[k];
				used++;
			}
	}

	/* --- the file --- */

	synchronized void open(Path p) throws IOException {
		if (Files.exists(p)) {
			ByteBuffer b = ByteBuffer.wrap(Files.readAllBytes(p));
			while (b.remaining() >= 16)
				put(b.getLong(), b.getLong());
		}
		path = p;
		rewrite();
	}

	private void append(long hash, long number) {
		if (file == null)
			return;
		try {
			ByteBuffer b = ByteBuffer.allocate(16);
			b.putLong(hash).putLong(number).flip();
			while (b.hasRemaining())
				file.write(b);
			if (++written > 4L * used + 1_000)
				rewrite();
		} catch (IOException e) {
			/* Without this number an older record is not refused after a restart. */
			System.err.println(path + ": " + e);
		}
	}

	private void rewrite() throws IOException {
		if (file != null)
			file.close();
		grow();
		Path dir = FileStore.make(path.toAbsolutePath().getParent(), true);
		Path tmp = Files.createTempFile(dir, "seen", null);
		try (FileChannel c = FileChannel.open(tmp, StandardOpenOption.WRITE)) {
			ByteBuffer b = ByteBuffer.allocate(1 << 16);
			for (int k = 0; k < hashes.length; k++) {
				if (numbers[k] != 0)
					b.putLong(hashes[k]).putLong(numbers[k]);
				if (b.remaining() < 16 || k == hashes.length - 1) {
					b.flip();
					while (b.hasRemaining())
						c.write(b);
					b.clear();
				}
			}
			c.force(true);
		}
		Files.move(tmp, path, StandardCopyOption.ATOMIC_MOVE,
			StandardCopyOption.REPLACE_EXISTING);
		file = FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
		written = used;
	}

	@Override
	public synchronized void close() throws IOException {
		if (file != null)
			file.close();
		file = null;
	}
}
