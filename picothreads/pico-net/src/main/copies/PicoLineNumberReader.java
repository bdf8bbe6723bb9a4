// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.LineNumberReader;
import java.io.Reader;
import java.io.Writer;
import java.nio.CharBuffer;

/** LineNumberReader over our buffered reader. The superclass holds the line number. */
public class PicoLineNumberReader extends LineNumberReader {
	/** Since Java 16 the end of the input also ends a line. */
	private static final boolean END_COUNTS =
		Double.parseDouble(System.getProperty("java.specification.version")) >= 16;

	private final PicoBufferedReader source;
	/** The last character was \r, so that a \n belongs to it if it comes next. */
	private boolean skipLf;
	/** The last character belongs to a line that has not ended. */
	private boolean inLine;
	private int markedLine;
	private boolean markedSkipLf;
	private boolean markedInLine;

	public PicoLineNumberReader(Reader in) {
		this(in, 8192);
	}

	public PicoLineNumberReader(Reader in, int size) {
		super(in, Math.min(size, 1));
		source = new PicoBufferedReader(in, size);
	}

	private void line() {
		setLineNumber(getLineNumber() + 1);
		inLine = false;
	}

	private void end() {
		if (inLine && END_COUNTS)
			line();
		inLine = false;
	}

	@Override
	public int read() throws IOException {
		synchronized (lock) {
			int c = source.read();
			if (skipLf && c == '\n')
				c = source.read();
			skipLf = c == '\r';
			if (c < 0) {
				end();
			} else if (c == '\n' || c == '\r') {
				line();
				return '\n';
			} else {
				inLine = true;
			}
			return c;
		}
	}

	@Override
	public int read(char[] c, int off, int len) throws IOException {
		synchronized (lock) {
			int n = source.read(c, off, len);
			if (n < 0)
				end();
			for (int k = off; k < off + n; k++) {
				boolean second = skipLf && c[k] == '\n';
				skipLf = c[k] == '\r';
				if (second)
					continue;
				if (c[k] == '\n' || c[k] == '\r')
					line();
				else
					inLine = true;
			}
			return n;
		}
	}

	@Override
	public String readLine() throws IOException {
		synchronized (lock) {
			String s = source.readLine(skipLf);
			skipLf = false;
			if (s == null)
				end();
			else
				line();
			return s;
		}
	}

	@Override
	public long skip(long n) throws IOException {
		return PicoReader.skip(this, n);
	}

	@Override
	public boolean ready() throws IOException {
		return source.ready();
	}

	@Override
	public void mark(int most) throws IOException {
		synchronized (lock) {
			source.mark(skipLf ? most + 1 : most);
			markedLine = getLineNumber();
			markedSkipLf = skipLf;
			markedInLine = inLine;
		}
	}

	@Override
	public void reset() throws IOException {
		synchronized (lock) {
			source.reset();
			setLineNumber(markedLine);
			skipLf = markedSkipLf;
			inLine = markedInLine;
		}
	}

	@Override
	public void close() throws IOException {
		source.close();
	}

	// = PicoFilterReader: as in PicoReader
}
