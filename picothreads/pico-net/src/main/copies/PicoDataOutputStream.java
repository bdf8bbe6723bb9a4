// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UTFDataFormatException;

/** DataOutputStream. Calls of its final methods go through Data. */
public class PicoDataOutputStream extends DataOutputStream {
	public PicoDataOutputStream(OutputStream out) {
		super(out);
	}

	private void count(int n) {
		written = written + n < 0 ? Integer.MAX_VALUE : written + n;
	}

	@Override
	public void write(int b) throws IOException {
		out.write(b);
		count(1);
	}

	// = PicoFilterOutputStream: write

	@Override
	public void write(byte[] b, int off, int len) throws IOException {
		out.write(b, off, len);
		count(len);
	}

	@Override
	public void flush() throws IOException {
		out.flush();
	}

	@Override
	public void close() throws IOException {
		try {
			flush();
		} finally {
			out.close();
		}
	}

	private void number(long n, int bytes) throws IOException {
		byte[] b = new byte[bytes];
		for (int k = bytes - 1; k >= 0; k--, n >>= 8)
			b[k] = (byte) n;
		write(b, 0, bytes);
	}

	// each: T m(..) throws IOException { X; }
	void writeBoolean0(boolean x) = write(x ? 1 : 0); void writeByte0(int x) = write(x);
	void writeShort0(int x) = number(x, 2); void writeChar0(int x) = number(x, 2);
	void writeInt0(int x) = number(x, 4); void writeLong0(long x) = number(x, 8);
	void writeFloat0(float x) = number(Float.floatToIntBits(x), 4);
	void writeDouble0(double x) = number(Double.doubleToLongBits(x), 8);

	void writeBytes0(String s) throws IOException {
		byte[] b = new byte[s.length()];
		for (int k = 0; k < b.length; k++)
			b[k] = (byte) s.charAt(k);
		write(b, 0, b.length);
	}

	void writeChars0(String s) throws IOException {
		byte[] b = new byte[s.length() * 2];
		for (int k = 0; k < s.length(); k++) {
			b[2 * k] = (byte) (s.charAt(k) >> 8);
			b[2 * k + 1] = (byte) s.charAt(k);
		}
		write(b, 0, b.length);
	}

	void writeUTF0(String s) throws IOException {
		int n = 0;
		for (int k = 0; k < s.length(); k++) {
			char c = s.charAt(k);
			n += c != 0 && c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
		}
		if (n > 65535)
			throw new UTFDataFormatException("encoded string too long: " + n + " bytes");
		byte[] b = new byte[n + 2];
		b[0] = (byte) (n >> 8);
		b[1] = (byte) n;
		int at = 2;
		for (int k = 0; k < s.length(); k++) {
			char c = s.charAt(k);
			if (c != 0 && c < 0x80) {
				b[at++] = (byte) c;
			} else if (c < 0x800) {
				b[at++] = (byte) (0xC0 | c >> 6);
				b[at++] = (byte) (0x80 | c & 0x3f);
			} else {
				b[at++] = (byte) (0xE0 | c >> 12);
				b[at++] = (byte) (0x80 | c >> 6 & 0x3f);
				b[at++] = (byte) (0x80 | c & 0x3f);
			}
		}
		write(b, 0, b.length);
	}
}
