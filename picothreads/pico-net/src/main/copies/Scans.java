// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.io.UnsupportedEncodingException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.CharBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.Collections;
import java.util.InputMismatchException;
import java.util.Map;
import java.util.Scanner;
import java.util.WeakHashMap;
import java.util.regex.Pattern;
import org.ukthreads.pico.net.Channels;

/*
 * Scanner is final, so it stays the JDK's, over a Source. Before a call that reads, code that may
 * park fills the source with as much as the call will need, and not a character more: a peer may
 * wait for an answer to what it has sent.
 *
 *   text: | read and passed | at: where the scanner is ..  given: what it has read .. count |
 *
 * The position of the scanner is known after lines, and after tokens between white space. After
 * anything else (patterns, other delimiters), the source reads when the scanner asks it, and
 * pins.
 */
public final class Scans {
	private static final class Source implements Readable, Closeable {
		private final Reader in;
		private char[] text = new char[1024];
		private int at;
		private int given;
		private int count;
		/** The range of the token that was asked for. */
		private int start;
		private int stop;
		private boolean end;
		private IOException failed;
		boolean lost;

		Source(Reader in) {
			this.in = in;
		}

		/** Reads more text; false: there is no more. */
		private boolean more() {
			if (end)
				return false;
			int from = Math.min(at, given);
			if (from > 0) {
				System.arraycopy(text, from, text, 0, count - from);
				at -= from;
				given -= from;
				count -= from;
				start -= from;
				stop -= from;
			}
			if (count == text.length)
				text = Arrays.copyOf(text, count * 2);
			try {
				int n = in.read(text, count, text.length - count);
				end = n < 0;
				count += Math.max(0, n);
			} catch (IOException e) {
				failed = e;
				end = true;
			}
			return !end;
		}

		/**
		 * Returns the character k places after `at`, and reads it first if necessary; -1:
		 * there is none.
		 */
		private int look(int k) {
			while (at + k >= count)
				if (!more())
					return -1;
			return text[at + k];
		}

		/** Returns the length of the line with its end, which may be \r\n. */
		int line() {
			for (int k = 0;; k++) {
				int c = look(k);
				if (c < 0)
					return k;
				if (c == '\r')
					return look(k + 1) == '\n' ? k + 2 : k + 1;
				if (c == '\n' || c == '\u2028' || c == '\u2029' || c == '\u0085')
					return k + 1;
			}
		}

		/** Returns the distance to the first character of a token. */
		int space() {
			int k = 0;
			while (Character.isWhitespace(look(k)))
				k++;
			return k;
		}

		/** Finds the next token, up to the white space after it. */
		void token() {
			int k = space();
			int s = k;
			for (int c; (c = look(k)) >= 0 && !Character.isWhitespace(c);)
				k++;
			start = at + s;
			stop = at + k;
		}

		void pass(int n) {
			at += n;
		}

		void token(boolean passed) {
			at = passed ? stop : start;
		}

		@Override
		public int read(CharBuffer to) throws IOException {
			if (given == count && !more()) {
				if (failed != null)
					throw failed;
				return -1;
			}
			int n = Math.min(to.remaining(), count - given);
			to.put(text, given, n);
			given += n;
			return n;
		}

		@Override
		public void close() throws IOException {
			in.close();
		}
	}

	private static final Map<Scanner, Source> SOURCES =
		Collections.synchronizedMap(new WeakHashMap<>());

	private Scans() {}

	/* --- new Scanner --- */

	private static Scanner over(Reader in) {
		Source t = new Source(in);
		Scanner s = new Scanner(t);
		SOURCES.put(s, t);
		return s;
	}

	/** Returns true if it may park; classes of the JDK itself do not. */
	private static boolean ours(Object in) {
		return in != null && in.getClass().getClassLoader() != null;
	}

	public static Scanner make(InputStream in) {
		return ours(in) ? over(new PicoInputStreamReader(in)) : new Scanner(in);
	}

	public static Scanner make(InputStream in, String charset) {
		return ours(in) ? over(reader(in, charset)) : new Scanner(in, charset);
	}

	/** Java 10. */
	public static Scanner make(InputStream in, Charset charset) {
		return ours(in) ? over(new PicoInputStreamReader(in, charset))
			: new Scanner(in, charset.name());
	}

	public static Scanner make(Readable in) {
		return in instanceof Reader && ours(in) ? over((Reader) in) : new Scanner(in);
	}

	public static Scanner make(ReadableByteChannel in) {
		return over(new PicoInputStreamReader(Channels.newInputStream(in)));
	}

	public static Scanner make(ReadableByteChannel in, String charset) {
		return over(reader(Channels.newInputStream(in), charset));
	}

	private static Reader reader(InputStream in, String charset) {
		try {
			return new PicoInputStreamReader(in, charset);
		} catch (UnsupportedEncodingException e) {
			throw new IllegalArgumentException(e);
		}
	}

	/* --- replacements for calls of a Scanner --- */

	private interface Call<T> {
		T on(Scanner s);
	}

	private static Source source(Scanner s) {
		Source t = SOURCES.get(s);
		return t == null || t.lost ? null : t;
	}

	/** Returns the source for a call that reads tokens, which must be separated by white space. */
	private static Source tokens(Scanner s) {
		Source t = source(s);
		if (t != null && !s.delimiter().pattern().equals("\\p{javaWhitespace}+"))
			t.lost = true;
		return t == null || t.lost ? null : t;
	}

	private static boolean has(Scanner s, Call<Boolean> c) {
		Source t = tokens(s);
		if (t != null)
			t.token();
		return c.on(s);
	}

	private static <T> T next(Scanner s, Call<T> c) {
		Source t = tokens(s);
		if (t == null)
			return c.on(s);
		t.token();
		try {
			T x = c.on(s);
			t.token(true);
			return x;
		} catch (InputMismatchException e) {
			t.token(false);
			throw e;
		}
	}

	private static <T> T other(Scanner s, Call<T> c) {
		Source t = source(s);
		if (t != null)
			t.lost = true;
		return c.on(s);
	}

	public static boolean hasNextLine(Scanner s) {
		Source t = source(s);
		if (t != null)
			t.line();
		return s.hasNextLine();
	}

	public static String nextLine(Scanner s) {
		Source t = source(s);
		if (t == null)
			return s.nextLine();
		int n = t.line();
		String line = s.nextLine();
		t.pass(n);
		return line;
	}

	public static boolean hasNext(Scanner s) {
		Source t = tokens(s);
		if (t != null)
			t.space();
		return s.hasNext();
	}

	// each: public static T m(Scanner s, ..) { return next(s, x -> x.m(..)); }
	String next(); boolean nextBoolean();
	byte nextByte(); byte nextByte(int radix); short nextShort(); short nextShort(int radix);
	int nextInt(); int nextInt(int radix); long nextLong(); long nextLong(int radix);
	BigInteger nextBigInteger(); BigInteger nextBigInteger(int radix);
	float nextFloat(); double nextDouble(); BigDecimal nextBigDecimal();

	// each: public static T m(Scanner s, ..) { return has(s, x -> x.m(..)); }
	boolean hasNextBoolean(); boolean hasNextByte(); boolean hasNextByte(int radix);
	boolean hasNextShort(); boolean hasNextShort(int radix);
	boolean hasNextInt(); boolean hasNextInt(int radix);
	boolean hasNextLong(); boolean hasNextLong(int radix);
	boolean hasNextBigInteger(); boolean hasNextBigInteger(int radix);
	boolean hasNextFloat(); boolean hasNextDouble(); boolean hasNextBigDecimal();

	// each: public static T m(Scanner s, ..) { return other(s, x -> x.m(..)); }
	String next(String pattern); String next(Pattern pattern);
	Scanner skip(String pattern); Scanner skip(Pattern pattern);
	String findInLine(String pattern); String findInLine(Pattern pattern);
	String findWithinHorizon(String pattern, int most);
	String findWithinHorizon(Pattern pattern, int most);
}
