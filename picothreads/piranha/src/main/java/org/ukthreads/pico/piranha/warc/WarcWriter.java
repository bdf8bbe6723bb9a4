/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes fetches as WARC/1.1 (ISO 28500:2017), a gzip member per record.
 *
 * A fetch becomes two records: a response with the bytes as received, and its request. The thread
 * that fetched builds and compresses them; only the append is under the lock. The name of the
 * file that is being written ends with .open; close() renames it. After kill -9 the next writer
 * in the same directory truncates such a file after its last whole record. So every file is
 * valid.
 */
package org.ukthreads.pico.piranha.warc;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.text.SimpleDateFormat;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Date;
import java.util.Locale;
import java.util.TimeZone;
import java.util.UUID;

import org.ukthreads.pico.piranha.http.HttpResponse;

public final class WarcWriter implements Closeable {
	private static final String OPEN = ".open";
	private static final String BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

	private final File dir;
	private final String software;
	private final long rotateBytes;
	private final String stamp;
	private File file;
	private FileOutputStream out;       /* guarded by this, as are the next two */
	private long written;
	private int sequence;
	private boolean closed;

	private WarcWriter(File dir, String software, long rotateBytes) {
		this.dir = dir;
		this.software = software;
		this.rotateBytes = rotateBytes;
		SimpleDateFormat format = new SimpleDateFormat("yyyyMMddHHmmssSSS", Locale.ROOT);
		format.setTimeZone(TimeZone.getTimeZone("UTC"));
		this.stamp = format.format(new Date());
	}

	public static WarcWriter open(File dir, String software, long rotateBytes)
			throws IOException {
		if (!dir.isDirectory() && !dir.mkdirs()) {
			throw new IOException("cannot create the directory " + dir);
		}
		recover(dir);
		WarcWriter writer = new WarcWriter(dir, software, rotateBytes);
		writer.nextFile();
		return writer;
	}

	/** Archives one fetch. */
	public void write(String url, Instant when, HttpResponse response) throws IOException {
		String responseId = id();
		String cut = !response.exchange().whole() ? "WARC-Truncated: length\r\n" : "";
		byte[] answer = record("response", responseId, when, "WARC-Target-URI: " + url
				+ "\r\nWARC-IP-Address: " + response.exchange().peer() + "\r\n" + cut,
				"application/http;msgtype=response", response.exchange().response());
		byte[] question = record("request", id(), when, "WARC-Target-URI: " + url
				+ "\r\nWARC-Concurrent-To: " + responseId + "\r\n",
				"application/http;msgtype=request", response.exchange().request());
		append(answer, question);
	}

	@Override
	public synchronized void close() throws IOException {
		if (!closed) {
			closed = true;
			finishFile();
		}
	}

	private synchronized void append(byte[] answer, byte[] question) throws IOException {
		if (closed) {
			throw new IOException("the archive is closed");
		}
		if (written > rotateBytes) {
			finishFile();
			nextFile();
		}
		put(answer, question);
	}

	/**
	 * Writes all or nothing, because on a full disk a part of a record would make the file
	 * invalid.
	 */
	private void put(byte[]... records) throws IOException {
		try {
			for (byte[] record : records) {
				out.write(record);
			}
		} catch (IOException e) {
			out.getChannel().truncate(written);
			throw e;
		}
		for (byte[] record : records) {
			written += record.length;
		}
	}

	private void nextFile() throws IOException {
		String name = String.format(Locale.ROOT, "piranha-%s-%05d.warc.gz", stamp, sequence++);
		file = new File(dir, name + OPEN);
		out = new FileOutputStream(file);
		byte[] info = ("software: " + software + "\r\nformat: WARC File Format 1.1\r\n"
				+ "conformsTo: http://iipc.github.io/warc-specifications/specifications/"
				+ "warc-format/warc-1.1/\r\n").getBytes(StandardCharsets.UTF_8);
		byte[] first = record("warcinfo", id(), Instant.now(),
				"WARC-Filename: " + name + "\r\n", "application/warc-fields", info);
		written = 0;
		put(first);
	}

	private void finishFile() throws IOException {
		out.close();
		finish(file);
	}

	private static byte[] record(String type, String id, Instant when, String fields,
			String contentType, byte[] block) {
		String head = "WARC/1.1\r\nWARC-Type: " + type + "\r\nWARC-Record-ID: " + id
				+ "\r\nWARC-Date: " + when.truncatedTo(ChronoUnit.MILLIS) + "\r\n" + fields
				+ "WARC-Block-Digest: sha1:" + sha1(block) + "\r\nContent-Type: " + contentType
				+ "\r\nContent-Length: " + block.length + "\r\n\r\n";
		byte[] top = head.getBytes(StandardCharsets.UTF_8);
		ByteArrayOutputStream all = new ByteArrayOutputStream(top.length + block.length + 4);
		all.write(top, 0, top.length);
		all.write(block, 0, block.length);
		all.write('\r');
		all.write('\n');
		all.write('\r');
		all.write('\n');
		return GzipMembers.compress(all.toByteArray());
	}

	private static String id() {
		return "<urn:uuid:" + UUID.randomUUID() + ">";
	}

	private static String sha1(byte[] block) {
		try {
			byte[] digest = MessageDigest.getInstance("SHA-1").digest(block);
			StringBuilder text = new StringBuilder(32);     /* 160 bits, 5 at a time */
			for (int bit = 0; bit < 160; bit += 5) {
				int at = bit / 8;
				int pair = (digest[at] & 0xff) << 8 | (at + 1 < 20 ? digest[at + 1] & 0xff : 0);
				text.append(BASE32.charAt(pair >>> (11 - bit % 8) & 31));
			}
			return text.toString();
		} catch (NoSuchAlgorithmException e) {
			throw new IllegalStateException("every JDK has SHA-1", e);
		}
	}

	/**
	 * Recovers the files of a crawl that was killed: truncates them after the last whole record
	 * and renames them.
	 */
	private static void recover(File dir) throws IOException {
		File[] files = dir.listFiles();
		if (files == null) {
			throw new IOException("cannot read the directory " + dir);
		}
		for (File left : files) {
			if (left.getName().endsWith(".warc.gz" + OPEN)) {
				long sound = GzipMembers.soundLength(left);
				try (RandomAccessFile access = new RandomAccessFile(left, "rw")) {
					access.setLength(sound);
				}
				finish(left);
			}
		}
	}

	private static void finish(File open) throws IOException {
		String name = open.getPath();
		File done = new File(name.substring(0, name.length() - OPEN.length()));
		if (open.length() == 0 ? !open.delete() : !open.renameTo(done)) {
			throw new IOException("cannot rename " + open);
		}
	}
}
