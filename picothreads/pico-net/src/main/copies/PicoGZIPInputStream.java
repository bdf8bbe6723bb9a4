// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.zip.CRC32;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;
import org.ukthreads.pico.Alloc;

/*
 * GZIPInputStream (RFC 1952) of one or more members. The constructor of the superclass reads a
 * header. It gets one from memory, and the real one is read here, by code that may park. A
 * constructor cannot park, so `new` is replaced by pico$new (rewrite.Constructors).
 */
public class PicoGZIPInputStream extends GZIPInputStream implements Inflate {
	private static final byte[] HEADER = {31, (byte) 139, 8, 0, 0, 0, 0, 0, 0, 0};
	private static final byte[] EMPTY = {3, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	private static final int HCRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16;
	/** Whether another member is looked for only if the underlying stream has bytes available. */
	private static final boolean ASKS = asks();

	/** Older JDKs call available(), newer updates of the same versions do not. */
	private static boolean asks() {
		boolean[] asked = {false};
		byte[] member = Arrays.copyOf(HEADER, HEADER.length + EMPTY.length);
		System.arraycopy(EMPTY, 0, member, HEADER.length, EMPTY.length);
		InputStream in = new ByteArrayInputStream(member) {
			@Override
			public int available() {
				asked[0] = true;
				return super.available();
			}
		};
		try {
			return new GZIPInputStream(in).read() < 0 && asked[0];
		} catch (IOException e) {
			throw new AssertionError(e);
		}
	}

	private boolean closed;

	private PicoGZIPInputStream(Alloc a, InputStream in, int size) throws IOException {
		super(new ByteArrayInputStream(HEADER), size);
		if (in == null)
			throw new NullPointerException();
		this.in = in;
		crc.reset();
	}

	public PicoGZIPInputStream(InputStream in) throws IOException {
		this(in, 512);
	}

	public PicoGZIPInputStream(InputStream in, int size) throws IOException {
		this(null, in, size);
		header(in);
	}

	public static PicoGZIPInputStream pico$new(InputStream in) throws IOException {
		return pico$new(in, 512);
	}

	public static PicoGZIPInputStream pico$new(InputStream in, int size) throws IOException {
		PicoGZIPInputStream g = new PicoGZIPInputStream(null, in, size);
		g.header(in);
		return g;
	}

	private static int octet(InputStream in, CRC32 sum) throws IOException {
		int c = in.read();
		if (c < 0)
			throw new EOFException();
		sum.update(c);
		return c;
	}

	private static int two(InputStream in, CRC32 sum) throws IOException {
		int low = octet(in, sum);
		return octet(in, sum) << 8 | low;
	}

	private static int text(InputStream in, CRC32 sum) throws IOException {
		int n = 1;
		while (octet(in, sum) != 0)
			n++;
		return n;
	}

	/** Reads a header and returns its length. */
	private int header(InputStream in) throws IOException {
		CRC32 sum = new CRC32();
		if (two(in, sum) != GZIP_MAGIC)
			throw new ZipException("Not in GZIP format");
		if (octet(in, sum) != 8)
			throw new ZipException("Unsupported compression method");
		int flags = octet(in, sum);
		for (int k = 0; k < 6; k++)
			octet(in, sum);
		int n = 10;
		if ((flags & EXTRA) != 0) {
			int m = two(in, sum);
			n += m + 2;
			while (m-- > 0)
				octet(in, sum);
		}
		if ((flags & NAME) != 0)
			n += text(in, sum);
		if ((flags & COMMENT) != 0)
			n += text(in, sum);
		if ((flags & HCRC) != 0) {
			int is = (int) sum.getValue() & 0xffff;
			if (two(in, sum) != is)
				throw new ZipException("Corrupt GZIP header");
			n += 2;
		}
		return n;
	}

	private static long four(InputStream in) throws IOException {
		CRC32 unused = new CRC32();
		long low = two(in, unused);
		return (long) two(in, unused) << 16 | low;
	}

	/** Called after a member. Returns true if no other member follows; other data is ignored. */
	private boolean last() throws IOException {
		int n = inf.getRemaining();
		InputStream all = n == 0 ? in : new PicoSequenceInputStream(
			new ByteArrayInputStream(buf, len - n, n), new Lent(in));
		if (four(all) != crc.getValue() || four(all) != (inf.getBytesWritten() & 0xffffffffL))
			throw new ZipException("Corrupt GZIP trailer");
		if (ASKS && in.available() <= 0 && n <= 26)
			return true;
		int used = 8;
		try {
			used += header(all);
		} catch (IOException e) {
			return true;
		}
		inf.reset();
		crc.reset();
		if (n > used)
			inf.setInput(buf, len - n + used, n - used);
		return false;
	}

	/** The underlying stream; closing this one does not close it. */
	private static final class Lent extends PicoFilterInputStream {
		Lent(InputStream in) {
			super(in);
		}

		@Override
		public void close() {}
	}

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		check();
		if (eos)
			return -1;
		PicoInputStream.check(b, off, len);
		if (len == 0)
			return 0;
		for (;;) {
			int n = Inflate.read(this, inf, b, off, len);
			if (n > 0) {
				crc.update(b, off, n);
				return n;
			}
			if (last()) {
				eos = true;
				return -1;
			}
		}
	}

	@Override
	public int available() throws IOException {
		check();
		return eos || inf.finished() ? 0 : 1;
	}

	// = PicoInflaterInputStream: skip

	// = PicoInflaterInputStream: filling and closing

	// = PicoFilterInputStream: as in PicoInputStream
}
