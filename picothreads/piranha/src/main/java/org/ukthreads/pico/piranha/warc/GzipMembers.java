/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.warc;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** The gzip members of a WARC file: one per record, so that each record can be read alone. */
final class GzipMembers {
	private static final byte[] HEAD = {0x1f, (byte) 0x8b, 8, 0, 0, 0, 0, 0, 0, (byte) 0xff};
	private static final int TAIL = 8;

	private GzipMembers() {
	}

	static byte[] compress(byte[] data) {
		ByteArrayOutputStream out = new ByteArrayOutputStream(64 + data.length / 2);
		out.write(HEAD, 0, HEAD.length);
		Deflater deflater = new Deflater(Deflater.BEST_SPEED, true);
		try {
			deflater.setInput(data);
			deflater.finish();
			byte[] some = new byte[8192];
			while (!deflater.finished()) {
				out.write(some, 0, deflater.deflate(some));
			}
		} finally {
			deflater.end();
		}
		CRC32 crc = new CRC32();
		crc.update(data);
		little(out, (int) crc.getValue());
		little(out, data.length);
		return out.toByteArray();
	}

	/** Returns where the last whole member of the file ends; 0: there is none. */
	static long soundLength(File file) throws IOException {
		try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
			long sound = 0;
			for (long end = member(in, 0); end > 0; end = member(in, sound)) {
				sound = end;
			}
			return sound;
		}
	}

	/**
	 * Returns where the member that begins at start ends; 0: it is torn, or the file ends at
	 * start.
	 */
	private static long member(RandomAccessFile in, long start) throws IOException {
		byte[] some = new byte[8192];
		byte[] out = new byte[1 << 16];
		in.seek(start);
		if (in.read(some, 0, HEAD.length) < HEAD.length) {
			return 0;
		}
		for (int i = 0; i < HEAD.length; i++) {
			if (some[i] != HEAD[i]) {
				return 0;
			}
		}
		Inflater inflater = new Inflater(true);
		try {
			while (!inflater.finished()) {
				if (inflater.inflate(out) == 0 && inflater.needsInput()) {
					int n = in.read(some);
					if (n < 0) {
						return 0;
					}
					inflater.setInput(some, 0, n);
				}
			}
			// getBytesRead() counts the bytes that were used, not those that were given.
			long end = start + HEAD.length + inflater.getBytesRead() + TAIL;
			return end <= in.length() ? end : 0;
		} catch (DataFormatException e) {
			return 0;
		} finally {
			inflater.end();
		}
	}

	private static void little(ByteArrayOutputStream out, int value) {
		for (int shift = 0; shift < 32; shift += 8) {
			out.write(value >>> shift);
		}
	}
}
