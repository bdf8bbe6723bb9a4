// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;
import java.io.UTFDataFormatException;

/**
 * DataInputStream. Calls of its final methods go through Data. The superclass reads from a
 * Guard, so that the JDK's own calls of these methods pin instead of losing a frame.
 */
public class PicoDataInputStream extends DataInputStream {
	private InputStream source;

	public PicoDataInputStream(InputStream in) {
		super(new Guard(in));
		source = in;
	}

	int bytes(byte[] b, int off, int len) throws IOException {
		return source.read(b, off, len);
	}

	// each: @Override public T m(..) throws IOException { return source.m(..); }
	int read(); long skip(long n); int available(); void close();

	public byte[] readAllBytes() throws IOException {
		return PicoInputStream.readNBytes(source, Integer.MAX_VALUE);
	}

	public byte[] readNBytes(int n) throws IOException {
		return PicoInputStream.readNBytes(source, n);
	}

	public int readNBytes(byte[] b, int off, int len) throws IOException {
		return PicoInputStream.readNBytes(source, b, off, len);
	}

	public void skipNBytes(long n) throws IOException {
		PicoInputStream.skipNBytes(source, n);
	}

	public long transferTo(OutputStream out) throws IOException {
		return PicoInputStream.transfer(source, out);
	}

	private int must() throws IOException {
		int c = source.read();
		if (c < 0)
			throw new EOFException();
		return c;
	}

	void readFully0(byte[] b) throws IOException {
		readFully0(b, 0, b.length);
	}

	void readFully0(byte[] b, int off, int len) throws IOException {
		if (len < 0)
			throw new IndexOutOfBoundsException();
		if (PicoInputStream.readNBytes(source, b, off, len) < len)
			throw new EOFException();
	}

	int skipBytes0(int n) throws IOException {
		int all = 0;
		long k;
		while (all < n && (k = source.skip(n - all)) > 0)
			all += (int) k;
		return all;
	}

	private long number(int bytes) throws IOException {
		byte[] b = new byte[bytes];
		readFully0(b, 0, bytes);
		long n = 0;
		for (byte x : b)
			n = n << 8 | x & 0xff;
		return n;
	}

	// each: T m(..) throws IOException { return X; }
	boolean readBoolean0() = must() != 0; byte readByte0() = (byte) must();
	int readUnsignedByte0() = must(); short readShort0() = (short) number(2);
	int readUnsignedShort0() = (int) number(2); char readChar0() = (char) number(2);
	int readInt0() = (int) number(4); long readLong0() = number(8);
	float readFloat0() = Float.intBitsToFloat((int) number(4));
	double readDouble0() = Double.longBitsToDouble(number(8));

	/** Reads a line. Like the superclass, it pushes back a byte after \r that is not \n. */
	String readLine0() throws IOException {
		StringBuilder s = new StringBuilder();
		for (;;) {
			int c = source.read();
			if (c < 0)
				return s.length() == 0 ? null : s.toString();
			if (c == '\n')
				return s.toString();
			if (c == '\r') {
				int next = source.read();
				if (next >= 0 && next != '\n') {
					if (!(source instanceof PushbackInputStream))
						source = new PicoPushbackInputStream(source);
					((PushbackInputStream) source).unread(next);
				}
				return s.toString();
			}
			s.append((char) c);
		}
	}

	String readUTF0() throws IOException {
		byte[] b = new byte[readUnsignedShort0()];
		readFully0(b, 0, b.length);
		StringBuilder s = new StringBuilder(b.length);
		for (int k = 0; k < b.length;) {
			int c = b[k] & 0xff;
			int n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : 0;
			if (n == 0)
				throw new UTFDataFormatException("malformed input around byte " + k);
			if (k + n > b.length)
				throw new UTFDataFormatException(
					"malformed input: partial character at end");
			for (int j = 1; j < n; j++) {
				if ((b[k + j] & 0xC0) != 0x80)
					throw new UTFDataFormatException("malformed input around byte "
						+ (k + j));
				c = (j == 1 ? c & (n == 2 ? 0x1f : 0x0f) : c) << 6 | b[k + j] & 0x3f;
			}
			s.append((char) c);
			k += n;
		}
		return s.toString();
	}
}
