// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.UnsupportedEncodingException;
import java.io.Writer;
import java.nio.charset.Charset;
import java.util.Locale;

/** PrintWriter. */
public class PicoPrintWriter extends PrintWriter {
	private final boolean auto;
	private boolean trouble;

	public PicoPrintWriter(Writer out) {
		this(out, false);
	}

	public PicoPrintWriter(Writer out, boolean autoFlush) {
		super(out, autoFlush);
		auto = autoFlush;
	}

	public PicoPrintWriter(OutputStream out) {
		this(out, false);
	}

	public PicoPrintWriter(OutputStream out, boolean autoFlush) {
		this(out, autoFlush, Charset.defaultCharset());
	}

	public PicoPrintWriter(OutputStream out, boolean autoFlush, Charset charset) {
		this(writer(out, charset), autoFlush);
	}

	private static Writer writer(OutputStream out, Charset charset) {
		return new PicoBufferedWriter(new PicoOutputStreamWriter(out, charset));
	}

	private void check() throws IOException {
		if (out == null)
			throw new IOException("Stream closed");
	}

	@Override
	public boolean checkError() {
		if (out != null)
			flush();
		if (out instanceof PrintWriter)
			return trouble || ((PrintWriter) out).checkError();
		return trouble;
	}

	@Override
	public void close() {
		try {
			synchronized (lock) {
				if (out != null) {
					Writer w = out;
					out = null;
					w.close();
				}
			}
		} catch (IOException e) {
			trouble = true;
		}
	}

	@Override
	public void write(int c) {
		write(new char[] {(char) c}, 0, 1);
	}

	// each: @Override public T m(..) {
	//	try { synchronized (lock) { check(); out.m(..); } } catch (IOException e) { trouble = true; } }
	void flush(); void write(char[] c, int off, int len);
	void write(String s, int off, int len);

	@Override
	public void println() {
		try {
			synchronized (lock) {
				check();
				out.write(System.lineSeparator());
				if (auto)
					out.flush();
			}
		} catch (IOException e) {
			trouble = true;
		}
	}

	@Override
	public PrintWriter printf(String f, Object... args) {
		return format(f, args);
	}

	@Override
	public PrintWriter printf(Locale l, String f, Object... args) {
		return format(l, f, args);
	}

	@Override
	public PrintWriter format(String f, Object... args) {
		return format(Locale.getDefault(Locale.Category.FORMAT), f, args);
	}

	@Override
	public PrintWriter format(Locale l, String f, Object... args) {
		String s = String.format(l, f, args);
		synchronized (lock) {
			write(s);
			if (auto)
				flush();
		}
		return this;
	}

	// = PicoFilterWriter: as in PicoWriter; public Writer > public PrintWriter; throws IOException { > {

	// each: @Override public T m(..) { write(String.valueOf(..)); }
	void print(boolean x); void print(char x); void print(int x); void print(long x);
	void print(float x); void print(double x); void print(String x); void print(Object x);

	@Override
	public void print(char[] x) {
		write(x);
	}

	// each: @Override public T m(..) { synchronized (lock) { print(..); println(); } }
	void println(boolean x); void println(char x); void println(int x);
	void println(long x); void println(float x); void println(double x);
	void println(char[] x); void println(String x); void println(Object x);

	/* --- files --- */

	public PicoPrintWriter(String file) throws FileNotFoundException {
		this(new FileOutputStream(file), false);
	}

	public PicoPrintWriter(String file, String charset)
			throws FileNotFoundException, UnsupportedEncodingException {
		this(new File(file), charset);
	}

	public PicoPrintWriter(String file, Charset charset) throws IOException {
		this(new FileOutputStream(file), false, charset);
	}

	public PicoPrintWriter(File file) throws FileNotFoundException {
		this(new FileOutputStream(file), false);
	}

	public PicoPrintWriter(File file, String charset)
			throws FileNotFoundException, UnsupportedEncodingException {
		this(file, PicoInputStreamReader.lookUp(charset), 0);
	}

	public PicoPrintWriter(File file, Charset charset) throws IOException {
		this(file, charset, 0);
	}

	private PicoPrintWriter(File file, Charset charset, int unused) throws FileNotFoundException {
		this(new FileOutputStream(file), false, charset);
	}

	/* --- errors --- */

	@Override
	protected void setError() {
		trouble = true;
	}

	@Override
	protected void clearError() {
		trouble = false;
	}
}
