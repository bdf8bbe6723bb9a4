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

	// = PicoBufferedReader: checked

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

	// = PicoFilterWriter: as in PicoWriter

	@Override
	public void newLine() throws IOException {
		write(System.lineSeparator());
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

	/* --- flush --- */

	@Override
	public void flush() throws IOException {
		synchronized (lock) {
			check();
			drain();
			sink.flush();
		}
	}
}
