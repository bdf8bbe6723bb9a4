// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UnsupportedEncodingException;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;

/** OutputStreamWriter with an encoder of its own. The superclass writes nothing. */
public class PicoOutputStreamWriter extends OutputStreamWriter {
	private final OutputStream sink;
	private final CharsetEncoder encoder;
	private final ByteBuffer bytes = ByteBuffer.allocate(8192);
	/** The first half of a surrogate pair, until the second half comes; 0: none. */
	private char half;
	private boolean closed;

	public PicoOutputStreamWriter(OutputStream out) {
		this(out, Charset.defaultCharset());
	}

	public PicoOutputStreamWriter(OutputStream out, String charset)
			throws UnsupportedEncodingException {
		this(out, PicoInputStreamReader.lookUp(charset));
	}

	public PicoOutputStreamWriter(OutputStream out, Charset cs) {
		this(out, cs.newEncoder().onMalformedInput(CodingErrorAction.REPLACE)
			.onUnmappableCharacter(CodingErrorAction.REPLACE));
	}

	public PicoOutputStreamWriter(OutputStream out, CharsetEncoder encoder) {
		super(new ByteArrayOutputStream(0), encoder.charset());
		if (out == null)
			throw new NullPointerException();
		lock = out;
		sink = out;
		this.encoder = encoder;
	}

	@Override
	public String getEncoding() {
		return closed ? null : super.getEncoding();
	}

	private void check() throws IOException {
		if (closed)
			throw new IOException("Stream closed");
	}

	private void drain() throws IOException {
		if (bytes.position() > 0) {
			int n = bytes.position();
			bytes.clear();
			sink.write(bytes.array(), 0, n);
		}
	}

	private void encode(CharBuffer c) throws IOException {
		check();
		if (half != 0 && c.hasRemaining()) {
			CharBuffer pair = CharBuffer.wrap(new char[] {half, c.get(c.position())});
			half = 0;
			if (Character.isLowSurrogate(pair.get(1)))
				c.get();
			else
				pair.limit(1);
			convert(pair, true);
			encoder.reset();
		}
		convert(c, false);
		if (c.hasRemaining())
			half = c.get();
	}

	private void convert(CharBuffer c, boolean end) throws IOException {
		for (;;) {
			CoderResult r = encoder.encode(c, bytes, end);
			if (r.isUnderflow())
				return;
			if (r.isOverflow())
				drain();
			else
				r.throwException();
		}
	}

	@Override
	public void write(int c) throws IOException {
		write(new char[] {(char) c}, 0, 1);
	}

	@Override
	public void write(char[] c, int off, int len) throws IOException {
		synchronized (lock) {
			encode(CharBuffer.wrap(c, off, len));
		}
	}

	@Override
	public void write(String s, int off, int len) throws IOException {
		if (len < 0)
			throw new IndexOutOfBoundsException();
		synchronized (lock) {
			encode(CharBuffer.wrap(s, off, off + len));
		}
	}

	// = PicoFilterWriter: as in PicoWriter

	// = PicoBufferedWriter: flush

	@Override
	public void close() throws IOException {
		synchronized (lock) {
			if (closed)
				return;
			try {
				CharBuffer rest = half == 0 ? CharBuffer.allocate(0)
					: CharBuffer.wrap(new char[] {half});
				convert(rest, true);
				while (encoder.flush(bytes).isOverflow())
					drain();
				drain();
				sink.flush();
			} finally {
				closed = true;
				sink.close();
			}
		}
	}
}
