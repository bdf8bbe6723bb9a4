// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UnsupportedEncodingException;
import java.nio.charset.Charset;
import java.util.Locale;

/**
 * PrintStream that encodes text itself, over a stream that may park. The superclass writes
 * nothing.
 */
public class PicoPrintStream extends PrintStream {
	private final boolean auto;
	private final Charset charset;
	private boolean trouble;
	private boolean closed;

	public PicoPrintStream(OutputStream out) {
		this(out, false);
	}

	public PicoPrintStream(OutputStream out, boolean autoFlush) {
		this(out, autoFlush, Charset.defaultCharset());
	}

	public PicoPrintStream(OutputStream out, boolean autoFlush, String charset)
			throws UnsupportedEncodingException {
		this(out, autoFlush, PicoInputStreamReader.lookUp(charset));
	}

	public PicoPrintStream(OutputStream out, boolean autoFlush, Charset charset) {
		super(new ByteArrayOutputStream(0));
		if (out == null)
			throw new NullPointerException("Null output stream");
		this.out = out;
		auto = autoFlush;
		this.charset = charset;
	}

	// = PicoPrintWriter: files

	/** Java 18. */
	public Charset charset() {
		return charset;
	}

	// = PicoPrintWriter: errors

	@Override
	public boolean checkError() {
		if (!closed)
			flush();
		OutputStream o = out;
		return trouble || o instanceof PrintStream && ((PrintStream) o).checkError();
	}

	@Override
	public void flush() {
		synchronized (this) {
			try {
				check();
				out.flush();
			} catch (IOException e) {
				setError();
			}
		}
	}

	@Override
	public void close() {
		synchronized (this) {
			if (closed)
				return;
			closed = true;
			try {
				out.flush();
				out.close();
			} catch (IOException e) {
				setError();
			}
		}
	}

	private void check() throws IOException {
		if (closed)
			throw new IOException("Stream closed");
	}

	@Override
	public void write(int b) {
		synchronized (this) {
			try {
				check();
				out.write(b);
				if (b == '\n' && auto)
					out.flush();
			} catch (InterruptedIOException e) {
				Thread.currentThread().interrupt();
			} catch (IOException e) {
				setError();
			}
		}
	}

	@Override
	public void write(byte[] b, int off, int len) {
		bytes(b, off, len, auto);
	}

	/** Java 14 has this method, without the exception. */
	@Override
	public void write(byte[] b) throws IOException {
		bytes(b, 0, b.length, auto);
	}

	public void writeBytes(byte[] b) {
		bytes(b, 0, b.length, auto);
	}

	private void bytes(byte[] b, int off, int len, boolean flush) {
		synchronized (this) {
			try {
				check();
				out.write(b, off, len);
				if (flush)
					out.flush();
			} catch (InterruptedIOException e) {
				Thread.currentThread().interrupt();
			} catch (IOException e) {
				setError();
			}
		}
	}

	private void text(String s, boolean line) {
		byte[] b = (line ? s + System.lineSeparator() : s).getBytes(charset);
		bytes(b, 0, b.length, auto && (line || s.indexOf('\n') >= 0));
	}

	@Override
	public void println() {
		text("", true);
	}

	@Override
	public PrintStream format(String format, Object... args) {
		text(String.format(format, args), false);
		return this;
	}

	@Override
	public PrintStream format(Locale l, String format, Object... args) {
		text(String.format(l, format, args), false);
		return this;
	}

	@Override
	public PrintStream printf(String format, Object... args) {
		return format(format, args);
	}

	@Override
	public PrintStream printf(Locale l, String format, Object... args) {
		return format(l, format, args);
	}

	@Override
	public PrintStream append(CharSequence s) {
		text(String.valueOf(s), false);
		return this;
	}

	@Override
	public PrintStream append(CharSequence s, int from, int to) {
		text((s == null ? "null" : s).subSequence(from, to).toString(), false);
		return this;
	}

	@Override
	public PrintStream append(char c) {
		text(String.valueOf(c), false);
		return this;
	}

	// each: @Override public T m(..) { text(String.valueOf(..), false); }
	void print(boolean b); void print(char c); void print(int k); void print(long k);
	void print(float x); void print(double x); void print(char[] c); void print(String s);
	void print(Object o);

	// each: @Override public T m(..) { text(String.valueOf(..), true); }
	void println(boolean b); void println(char c); void println(int k);
	void println(long k); void println(float x); void println(double x);
	void println(char[] c); void println(String s); void println(Object o);
}
