/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An append-only file of records with checksums. The file is also the queue of the disk frontier.
 *
 *   magic "PIRANHA1"  then records of  int length | int CRC-32 of the payload | payload
 *
 * One write call writes a record. After kill -9 the kernel still has all complete writes, and at
 * most the last record is torn. recover() takes a record for torn if it extends past the end of
 * the file and no valid record follows its start. It moves the torn bytes to FILE.cut and
 * truncates the file. Any other invalid record is damage: the file is refused and left unchanged.
 * salvage() then moves the damaged bytes to FILE.damaged and keeps all valid records, before and
 * after them. After a power failure only what was synced (by sync(), at close and on request) is
 * certain.
 *
 * Rejected: one file per URL, or a database. The frontier only appends and scans.
 */
package org.ukthreads.pico.piranha.frontier;

import java.io.Closeable;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.zip.CRC32;

final class Journal implements Closeable {
	private static final byte[] MAGIC = "PIRANHA1".getBytes(StandardCharsets.US_ASCII);
	private static final int HEADER = 8;
	private static final int MAX_RECORD = 64 << 20;
	/**
	 * The smallest record: the length of an empty URL, and a count. So a run of zeros is not a
	 * record.
	 */
	private static final int MIN_RECORD = 6;

	private final File file;
	private final RandomAccessFile writer;
	private final RandomAccessFile reader;
	private long end;
	private long cursor = MAGIC.length;

	private Journal(File file) throws IOException {
		this.file = file;
		writer = new RandomAccessFile(file, "rw");
		lock(file);
		reader = new RandomAccessFile(file, "r");
		if (writer.length() < MAGIC.length) {
			writer.setLength(0);
			writer.write(MAGIC);
		} else {
			byte[] magic = new byte[MAGIC.length];
			writer.readFully(magic);
			if (!java.util.Arrays.equals(magic, MAGIC)) {
				writer.close();
				reader.close();
				throw new IOException(file + " is not a frontier of Piranha");
			}
		}
		end = writer.length();
	}

	static Journal open(File file) throws IOException {
		return new Journal(file);
	}

	private void lock(File file) throws IOException {
		try {
			FileLock lock = writer.getChannel().tryLock();
			if (lock != null) {
				return;     /* held until the process ends or the file is closed */
			}
		} catch (OverlappingFileLockException e) {
			// This process has it open already, which is as bad.
		}
		writer.close();
		throw new IOException(file + " is in use by another crawl");
	}

	void append(byte[] payload) throws IOException {
		if (payload.length > MAX_RECORD) {
			throw new IOException("record too large: " + payload.length + " bytes");
		}
		byte[] record = record(payload);
		writer.seek(end);
		writer.write(record);
		end += record.length;
	}

	private static byte[] record(byte[] payload) {
		CRC32 crc = new CRC32();
		crc.update(payload);
		ByteBuffer record = ByteBuffer.allocate(HEADER + payload.length);
		record.putInt(payload.length).putInt((int) crc.getValue()).put(payload);
		return record.array();
	}

	boolean atEnd() {
		return cursor == end;
	}

	/** Returns the next record after the cursor; empty at the end of the file. */
	Optional<byte[]> next() throws IOException {
		if (cursor == end) {
			return Optional.empty();
		}
		Optional<byte[]> record = check();
		if (!record.isPresent()) {
			throw new IOException("the journal is damaged at byte " + cursor);
		}
		cursor += HEADER + record.get().length;
		return record;
	}

	/**
	 * Does what next() does, but truncates the file at a torn record. Throws an IOException for
	 * damage.
	 */
	Optional<byte[]> recover() throws IOException {
		if (cursor == end) {
			return Optional.empty();
		}
		Optional<byte[]> record = check();
		if (record.isPresent()) {
			cursor += HEADER + record.get().length;
		} else {
			refuseDamage();
			aside(file, ".cut", cursor, end);
			writer.setLength(cursor);
			end = cursor;
		}
		return record;
	}

	/** A write that was killed leaves less than its record, and nothing after it. */
	private void refuseDamage() throws IOException {
		long at = cursor;
		long valid = resync(at + 1);
		cursor = at;
		if (valid < end || !torn()) {
			throw new IOException(file + " is damaged at byte " + at + " (" + (end - at)
					+ " bytes from its end). Nothing was changed. Replace the file by a copy, or"
					+ " continue without the damaged part: --resume --salvage");
		}
	}

	/** True if the record at the cursor extends past the end of the file. */
	private boolean torn() throws IOException {
		if (end - cursor < HEADER) {
			return true;
		}
		reader.seek(cursor);
		int length = reader.readInt();
		return length == 0 || length > end - cursor - HEADER;
	}

	/** Returns where the first valid record at or after `from` begins; without one, the end. */
	private long resync(long from) throws IOException {
		byte[] some = new byte[64 << 10];
		for (long at = from; at <= end - HEADER - MIN_RECORD;) {
			int n = (int) Math.min(some.length, end - at);
			reader.seek(at);
			reader.readFully(some, 0, n);
			ByteBuffer b = ByteBuffer.wrap(some, 0, n);
			for (int k = 0; k + 4 <= n; k++) {
				int length = b.getInt(k);
				if (length >= MIN_RECORD && length <= MAX_RECORD
						&& length <= end - at - k - HEADER) {
					cursor = at + k;
					if (check().isPresent()) {
						return cursor;
					}
				}
			}
			at += Math.max(1, n - 3);
		}
		return end;
	}

	private void aside(File of, String suffix, long from, long to) throws IOException {
		byte[] some = new byte[64 << 10];
		try (FileOutputStream out = new FileOutputStream(of.getPath() + suffix, true)) {
			reader.seek(from);
			for (long left = to - from; left > 0;) {
				int n = (int) Math.min(some.length, left);
				reader.readFully(some, 0, n);
				out.write(some, 0, n);
				left -= n;
			}
			out.getFD().sync();
		}
	}

	/**
	 * Writes the valid records into a new file that then replaces the journal. Moves the other
	 * bytes to FILE.damaged. Returns a message that says what was lost; "": nothing.
	 */
	static String salvage(File file) throws IOException {
		if (!file.exists()) {
			return "";
		}
		File fresh = new File(file.getPath() + ".new");
		long lost = 0;
		int places = 0;
		try (Journal from = new Journal(file)) {
			try (FileOutputStream out = new FileOutputStream(fresh)) {
				out.write(MAGIC);
				while (from.cursor < from.end) {
					long at = from.cursor;
					Optional<byte[]> record = from.check();
					if (record.isPresent()) {
						out.write(record(record.get()));
						from.cursor = at + HEADER + record.get().length;
						continue;
					}
					from.cursor = from.resync(at + 1);
					from.aside(file, ".damaged", at, from.cursor);
					lost += from.cursor - at;
					places++;
				}
				out.getFD().sync();
			}
			if (lost > 0 && !fresh.renameTo(file) || lost == 0 && !fresh.delete()) {
				throw new IOException("cannot rename or delete " + fresh);
			}
		}
		return lost == 0 ? "" : lost + " damaged bytes in " + places + " places were moved to "
				+ file + ".damaged";
	}

	void rewind() {
		cursor = MAGIC.length;
	}

	void sync() throws IOException {
		writer.getFD().sync();
	}

	@Override
	public void close() throws IOException {
		sync();
		writer.close();
		reader.close();
	}

	private Optional<byte[]> check() throws IOException {
		if (end - cursor < HEADER) {
			return Optional.empty();
		}
		reader.seek(cursor);
		int length = reader.readInt();
		int sum = reader.readInt();
		if (length < MIN_RECORD || length > MAX_RECORD || length > end - cursor - HEADER) {
			return Optional.empty();
		}
		byte[] payload = new byte[length];
		reader.readFully(payload);
		CRC32 crc = new CRC32();
		crc.update(payload);
		return (int) crc.getValue() == sum ? Optional.of(payload) : Optional.empty();
	}
}
