// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.CharBuffer;
import java.util.Arrays;

/** BufferedReader with a buffer of its own. */
public class PicoBufferedReader extends BufferedReader {
	private final Reader source;
	private char[] buf;
	private int pos;
	private int count;
	private int mark = -1;
	private int limit;
	/** The last line ended with \r, so that a \n belongs to it if it comes next. */
	private boolean skipLf;
	private boolean markedSkipLf;

	public PicoBufferedReader(Reader in) {
		this(in, 8192);
	}

	public PicoBufferedReader(Reader in, int size) {
		super(in, checked(size));
		source = in;
		buf = new char[size];
	}

	/** Reads into the buffer; false: the end. */
	private boolean fill() throws IOException {
		if (mark < 0 || pos - mark >= limit) {
			mark = -1;
			pos = 0;
			count = 0;
		} else {
			int kept = pos - mark;
			if (mark > 0)
				System.arraycopy(buf, mark, buf, 0, kept);
			else if (kept == buf.length)
				buf = Arrays.copyOf(buf, Math.min(Math.max(limit, kept + 1), kept * 2));
			mark = 0;
			pos = kept;
			count = kept;
		}
		int n;
		do
			n = source.read(buf, pos, buf.length - pos);
		while (n == 0);
		if (n < 0)
			return false;
		count = pos + n;
		return true;
	}

	@Override
	public int read() throws IOException {
		synchronized (lock) {
			check();
			for (;;) {
				if (pos >= count && !fill())
					return -1;
				char c = buf[pos++];
				if (skipLf) {
					skipLf = false;
					if (c == '\n')
						continue;
				}
				return c;
			}
		}
	}

	@Override
	public int read(char[] c, int off, int len) throws IOException {
		synchronized (lock) {
			check();
			if (off < 0 || len < 0 || len > c.length - off)
				throw new IndexOutOfBoundsException();
			if (len == 0)
				return 0;
			int n = once(c, off, len);
			while (n > 0 && n < len && source.ready()) {
				int r = once(c, off + n, len - n);
				if (r <= 0)
					break;
				n += r;
			}
			return n;
		}
	}

	private int once(char[] c, int off, int len) throws IOException {
		do {
			if (pos >= count) {
				if (len >= buf.length && mark < 0 && !skipLf)
					return source.read(c, off, len);
				if (!fill())
					return -1;
			}
			if (skipLf) {
				skipLf = false;
				if (buf[pos] == '\n')
					pos++;
			}
		} while (pos >= count);
		int n = Math.min(len, count - pos);
		System.arraycopy(buf, pos, c, off, n);
		pos += n;
		return n;
	}

	@Override
	public String readLine() throws IOException {
		return readLine(false);
	}

	/** middle: the last character was \r, so that a \n does not end another line. */
	String readLine(boolean middle) throws IOException {
		synchronized (lock) {
			check();
			skipLf |= middle;
			StringBuilder s = null;
			for (;;) {
				if (pos >= count && !fill())
					return s == null || s.length() == 0 ? null : s.toString();
				if (skipLf) {
					skipLf = false;
					if (buf[pos] == '\n') {
						pos++;
						continue;
					}
				}
				int k = pos;
				while (k < count && buf[k] != '\n' && buf[k] != '\r')
					k++;
				boolean whole = k < count;
				if (whole && s == null) {
					String line = new String(buf, pos, k - pos);
					skipLf = buf[k] == '\r';
					pos = k + 1;
					return line;
				}
				if (s == null)
					s = new StringBuilder(80);
				s.append(buf, pos, k - pos);
				pos = k;
				if (whole) {
					skipLf = buf[k] == '\r';
					pos++;
					return s.toString();
				}
			}
		}
	}

	@Override
	public long skip(long n) throws IOException {
		if (n < 0)
			throw new IllegalArgumentException("skip value is negative");
		long left = n;
		while (left > 0 && read() >= 0)
			left--;
		return n - left;
	}

	@Override
	public boolean ready() throws IOException {
		synchronized (lock) {
			check();
			if (skipLf && (pos < count || source.ready() && fill()) && buf[pos] == '\n') {
				pos++;
				skipLf = false;
			}
			return pos < count || source.ready();
		}
	}

	@Override
	public void mark(int most) throws IOException {
		if (most < 0)
			throw new IllegalArgumentException("Read-ahead limit < 0");
		synchronized (lock) {
			check();
			limit = most;
			mark = pos;
			markedSkipLf = skipLf;
		}
	}

	@Override
	public void reset() throws IOException {
		synchronized (lock) {
			check();
			if (mark < 0)
				throw new IOException("Stream not marked");
			pos = mark;
			skipLf = markedSkipLf;
		}
	}

	@Override
	public void close() throws IOException {
		synchronized (lock) {
			if (buf == null)
				return;
			buf = null;
			source.close();
		}
	}

	// = PicoFilterReader: as in PicoReader

	/* --- checked --- */

	/** Returns 1, the least possible size, because the superclass's buffer is not used. */
	private static int checked(int size) {
		if (size <= 0)
			throw new IllegalArgumentException("Buffer size <= 0");
		return 1;
	}

	private void check() throws IOException {
		if (buf == null)
			throw new IOException("Stream closed");
	}
}
