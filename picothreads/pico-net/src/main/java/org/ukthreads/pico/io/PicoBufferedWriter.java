// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.Writer;

/** BufferedWriter with a buffer of its own. */
public class PicoBufferedWriter extends BufferedWriter {
	private final Writer sink;
	private char[] buf;
	private int count;

	public PicoBufferedWriter(Writer out) {
		this(out, 8192);
	}

	public PicoBufferedWriter(Writer out, int size) {
		super(out, checked(size));
		sink = out;
		buf = new char[size];
	}

	private static int checked(int size) {
		if (size <= 0)
			throw new IllegalArgumentException("Buffer size <= 0");
		return 1;
	}

	private void check() throws IOException {
		if (buf == null)
			throw new IOException("Stream closed");
	}

	private void drain() throws IOException {
		if (count > 0) {
			int n = count;
			count = 0;
			sink.write(buf, 0, n);
		}
	}

	@Override
	public void write(int c) throws IOException {
		synchronized (lock) {
			check();
			if (count == buf.length)
				drain();
			buf[count++] = (char) c;
		}
	}

	@Override
	public void write(char[] c) throws IOException {
		write(c, 0, c.length);
	}

	@Override
	public void write(char[] c, int off, int len) throws IOException {
		synchronized (lock) {
			check();
			if (off < 0 || len < 0 || len > c.length - off)
				throw new IndexOutOfBoundsException();
			if (len >= buf.length) {
				drain();
				sink.write(c, off, len);
				return;
			}
			if (len > buf.length - count)
				drain();
			System.arraycopy(c, off, buf, count, len);
			count += len;
		}
	}

	@Override
	public void write(String s) throws IOException {
		write(s, 0, s.length());
	}

	@Override
	public void write(String s, int off, int len) throws IOException {
		synchronized (lock) {
			check();
			while (len > 0) {
				int n = Math.min(buf.length - count, len);
				s.getChars(off, off + n, buf, count);
				off += n;
				len -= n;
				count += n;
				if (count == buf.length)
					drain();
			}
		}
	}

	@Override
	public Writer append(CharSequence s) throws IOException {
		write(String.valueOf(s));
		return this;
	}

	@Override
	public Writer append(CharSequence s, int from, int to) throws IOException {
		return append((s == null ? "null" : s).subSequence(from, to));
	}

	@Override
	public Writer append(char c) throws IOException {
		write(c);
		return this;
	}

	@Override
	public void newLine() throws IOException {
		write(System.lineSeparator());
	}

	@Override
	public void flush() throws IOException {
		synchronized (lock) {
			check();
			drain();
			sink.flush();
		}
	}

	@Override
	public void close() throws IOException {
		synchronized (lock) {
			if (buf == null)
				return;
			try {
				drain();
			} finally {
				buf = null;
				sink.close();
			}
		}
	}
}
