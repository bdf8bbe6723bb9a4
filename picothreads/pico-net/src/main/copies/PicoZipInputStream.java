// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.GregorianCalendar;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipInputStream;

/*
 * ZipInputStream (PKWARE's APPNOTE: local headers, deflated and stored entries, data
 * descriptors, ZIP64). It uses the inflater and the buffer of the superclass.
 *
 *   header | name | extra | data | [descriptor: (signature) crc, sizes]   ... directory
 */
public class PicoZipInputStream extends ZipInputStream implements Inflate {
	private static final long LOCAL = 0x04034b50L, DESCRIPTOR = 0x08074b50L;
	private static final long BIG = 0xffffffffL;
	private static final int ENCRYPTED = 1, DESCRIBED = 8, UTF8 = 0x800;

	private final Charset charset;
	private final CRC32 sum = new CRC32();
	private ZipEntry entry;
	/** The flags of the entry. */
	private int flags;
	private int method;
	/** The bytes of a stored entry that are still to come. */
	private long left;
	private boolean entryEnd;
	private boolean closed;

	public PicoZipInputStream(InputStream in) {
		this(in, StandardCharsets.UTF_8);
	}

	public PicoZipInputStream(InputStream in, Charset charset) {
		super(in, charset);
		this.charset = charset;
		this.in = new PicoPushbackInputStream(in, buf.length);
	}

	private static long number(byte[] b, int at, int bytes) {
		long n = 0;
		for (int k = bytes - 1; k >= 0; k--)
			n = n << 8 | b[at + k] & 0xff;
		return n;
	}

	private byte[] exactly(int n) throws IOException {
		byte[] b = new byte[n];
		if (PicoInputStream.readNBytes(in, b, 0, n) < n)
			throw new EOFException();
		return b;
	}

	@Override
	public ZipEntry getNextEntry() throws IOException {
		check();
		if (entry != null)
			closeEntry();
		sum.reset();
		inf.reset();
		entry = local();
		entryEnd = false;
		return entry;
	}

	/** Reads a local header; null: something else follows. */
	private ZipEntry local() throws IOException {
		byte[] h = new byte[30];
		if (PicoInputStream.readNBytes(in, h, 0, 30) < 30 || number(h, 0, 4) != LOCAL)
			return null;
		flags = (int) number(h, 6, 2);
		byte[] name = exactly((int) number(h, 26, 2));
		ZipEntry e = createZipEntry(decoded(name));
		if ((flags & ENCRYPTED) != 0)
			throw new ZipException("encrypted ZIP entry not supported");
		method = (int) number(h, 8, 2);
		if (method == ZipEntry.STORED || method == ZipEntry.DEFLATED)
			e.setMethod(method);
		e.setTime(time((int) number(h, 10, 2), (int) number(h, 12, 2)));
		long size = number(h, 22, 4);
		long packed = number(h, 18, 4);
		byte[] extra = exactly((int) number(h, 28, 2));
		if ((flags & DESCRIBED) != 0) {
			if (method != ZipEntry.DEFLATED)
				throw new ZipException("only DEFLATED entries can have EXT descriptor");
		} else {
			int at = size == BIG || packed == BIG ? big(extra) : -1;
			if (at >= 0 && size == BIG) {
				size = number(extra, at, 8);
				at += 8;
			}
			if (at >= 0 && packed == BIG)
				packed = number(extra, at, 8);
			e.setCrc(number(h, 14, 4));
			e.setSize(size);
			e.setCompressedSize(packed);
		}
		if (extra.length > 0)
			e.setExtra(extra);
		left = method == ZipEntry.STORED ? e.getSize() : 0;
		return e;
	}

	/** Returns where the sizes in the ZIP64 field begin; -1: there is none. */
	private static int big(byte[] extra) {
		for (int at = 0; at + 4 <= extra.length;) {
			int n = (int) number(extra, at + 2, 2);
			if (number(extra, at, 2) == 1)
				return n >= 16 && at + 20 <= extra.length ? at + 4 : -1;
			at += 4 + n;
		}
		return -1;
	}

	private String decoded(byte[] name) throws ZipException {
		Charset cs = (flags & UTF8) != 0 ? StandardCharsets.UTF_8 : charset;
		try {
			return cs.newDecoder().decode(ByteBuffer.wrap(name)).toString();
		} catch (CharacterCodingException e) {
			throw new ZipException("invalid LOC header (bad entry name)");
		}
	}

	/** Converts a DOS time in the local time zone. */
	private static long time(int time, int date) {
		return new GregorianCalendar((date >> 9) + 1980, (date >> 5 & 15) - 1, date & 31,
			time >> 11, time >> 5 & 63, (time & 31) * 2).getTimeInMillis();
	}

	@Override
	public void closeEntry() throws IOException {
		check();
		byte[] b = new byte[512];
		while (read(b, 0, b.length) >= 0)
			;
		entryEnd = true;
	}

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		check();
		PicoInputStream.check(b, off, len);
		if (len == 0)
			return 0;
		if (entry == null)
			return -1;
		switch (method) {
		case ZipEntry.DEFLATED:
			int n = Inflate.read(this, inf, b, off, len);
			if (n < 0) {
				end();
				return over();
			}
			sum.update(b, off, n);
			return n;
		case ZipEntry.STORED:
			if (left <= 0)
				return over();
			n = in.read(b, off, (int) Math.min(len, left));
			if (n < 0)
				throw new ZipException("unexpected EOF");
			sum.update(b, off, n);
			left -= n;
			if (left == 0)
				checkSum();
			return n;
		default:
			throw new ZipException("invalid compression method");
		}
	}

	private int over() {
		entryEnd = true;
		entry = null;
		return -1;
	}

	/**
	 * Pushes back what the inflater has not used, then reads the descriptor, if any, and
	 * checks the entry.
	 */
	private void end() throws IOException {
		int n = inf.getRemaining();
		if (n > 0)
			((PushbackInputStream) in).unread(buf, len - n, n);
		if ((flags & DESCRIBED) != 0)
			describe();
		if (entry.getSize() != inf.getBytesWritten())
			throw new ZipException("invalid entry size (expected " + entry.getSize()
				+ " but got " + inf.getBytesWritten() + " bytes)");
		if (entry.getCompressedSize() != inf.getBytesRead())
			throw new ZipException("invalid entry compressed size (expected "
				+ entry.getCompressedSize() + " but got " + inf.getBytesRead() + " bytes)");
		checkSum();
	}

	/** Reads the descriptor. The signature is optional; a size has 8 bytes if 4 do not suffice. */
	private void describe() throws IOException {
		int wide = inf.getBytesWritten() > BIG || inf.getBytesRead() > BIG ? 8 : 4;
		byte[] d = exactly(4 + 2 * wide);
		long crc = number(d, 0, 4);
		int at = 4;
		if (crc == DESCRIPTOR && sum.getValue() != DESCRIPTOR) {
			byte[] more = exactly(4);
			byte[] all = new byte[d.length + 4];
			System.arraycopy(d, 0, all, 0, d.length);
			System.arraycopy(more, 0, all, d.length, 4);
			d = all;
			crc = number(d, 4, 4);
			at = 8;
		}
		entry.setCrc(crc);
		entry.setCompressedSize(number(d, at, wide));
		entry.setSize(number(d, at + wide, wide));
	}

	private void checkSum() throws ZipException {
		if (entry.getCrc() != sum.getValue())
			throw new ZipException("invalid entry CRC (expected 0x"
				+ Long.toHexString(entry.getCrc()) + " but got 0x"
				+ Long.toHexString(sum.getValue()) + ")");
	}

	@Override
	public int available() throws IOException {
		check();
		return entryEnd ? 0 : 1;
	}

	@Override
	public long skip(long n) throws IOException {
		check();
		return Inflate.skip(this, n);
	}

	// = PicoInflaterInputStream: filling and closing

	// = PicoFilterInputStream: as in PicoInputStream
}
