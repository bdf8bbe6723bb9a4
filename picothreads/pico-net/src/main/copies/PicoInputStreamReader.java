// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UnsupportedEncodingException;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;

/** InputStreamReader with a decoder of its own. The superclass reads nothing. */
public class PicoInputStreamReader extends InputStreamReader {
	private final InputStream source;
	private final CharsetDecoder decoder;
	private final ByteBuffer bytes = ByteBuffer.allocate(8192);
	private final CharBuffer chars = CharBuffer.allocate(2);
	private boolean closed;

	public PicoInputStreamReader(InputStream in) {
		this(in, Charset.defaultCharset());
	}

	public PicoInputStreamReader(InputStream in, String charset)
			throws UnsupportedEncodingException {
		this(in, lookUp(charset));
	}

	public PicoInputStreamReader(InputStream in, Charset cs) {
		this(in, cs.newDecoder().onMalformedInput(CodingErrorAction.REPLACE)
			.onUnmappableCharacter(CodingErrorAction.REPLACE));
	}

	public PicoInputStreamReader(InputStream in, CharsetDecoder decoder) {
		super(new ByteArrayInputStream(new byte[0]), decoder.charset());
		if (in == null)
			throw new NullPointerException();
		lock = in;
		source = in;
		this.decoder = decoder;
		bytes.flip();
		chars.flip();
	}

	static Charset lookUp(String name) throws UnsupportedEncodingException {
		if (name == null)
			throw new NullPointerException("charsetName");
		try {
			return Charset.forName(name);
		} catch (IllegalArgumentException e) {
			throw new UnsupportedEncodingException(name);
		}
	}

	private void check() throws IOException {
		if (closed)
			throw new IOException("Stream closed");
	}

	@Override
	public String getEncoding() {
		return closed ? null : super.getEncoding();
	}

	@Override
	public int read() throws IOException {
		return PicoReader.read(this);
	}

	@Override
	public int read(char[] c, int off, int len) throws IOException {
		if (off < 0 || len < 0 || len > c.length - off)
			throw new IndexOutOfBoundsException();
		synchronized (lock) {
			check();
			if (len == 0)
				return 0;
			int n = 0;
			if (chars.hasRemaining()) {
				n = Math.min(len, chars.remaining());
				chars.get(c, off, n);
				if (n == len || !isReady())
					return n;
			}
			int r = fresh(c, off + n, len - n);
			return r < 0 && n > 0 ? n : r + n;
		}
	}

	private int fresh(char[] c, int off, int len) throws IOException {
		if (len > 1)
			return decode(CharBuffer.wrap(c, off, len).slice());
		/* Decodes into `chars`, because a surrogate pair needs two characters. */
		chars.clear();
		int n = decode(chars);
		chars.flip();
		if (n <= 0)
			return -1;
		c[off] = chars.get();
		return 1;
	}

	/** Does not remember the end of the source: a later read tries again (a file that grows). */
	private int decode(CharBuffer to) throws IOException {
		boolean end = false;
		for (;;) {
			CoderResult r = decoder.decode(bytes, to, end);
			if (r.isError())
				r.throwException();
			if (r.isOverflow() || end || !to.hasRemaining() || to.position() > 0 && !isMore())
				break;
			end = !fill();
			if (end && to.position() == 0 && !bytes.hasRemaining())
				break;
		}
		if (end)
			decoder.reset();
		return to.position() > 0 ? to.position() : -1;
	}

	/** Reads bytes from the source; false: the end. */
	private boolean fill() throws IOException {
		bytes.compact();
		try {
			int n = source.read(bytes.array(), bytes.position(), bytes.remaining());
			if (n == 0)
				throw new IOException("Underlying input stream returned zero bytes");
			bytes.position(bytes.position() + Math.max(n, 0));
			return n > 0;
		} finally {
			bytes.flip();
		}
	}

	private boolean isMore() {
		try {
			return source.available() > 0;
		} catch (IOException e) {
			return false;
		}
	}

	private boolean isReady() {
		return bytes.hasRemaining() || isMore();
	}

	@Override
	public boolean ready() throws IOException {
		synchronized (lock) {
			check();
			return chars.hasRemaining() || isReady();
		}
	}

	@Override
	public long skip(long n) throws IOException {
		return PicoReader.skip(this, n);
	}

	@Override
	public void close() throws IOException {
		synchronized (lock) {
			if (closed)
				return;
			closed = true;
			source.close();
		}
	}

	// = PicoFilterReader: as in PicoReader
}
