// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.SequenceInputStream;
import java.util.Arrays;
import java.util.Collections;
import java.util.Enumeration;

/** SequenceInputStream. The superclass has nothing to read. */
public class PicoSequenceInputStream extends SequenceInputStream {
	private final Enumeration<? extends InputStream> rest;
	private InputStream in;

	public PicoSequenceInputStream(Enumeration<? extends InputStream> e) {
		this(e, true);
		next();
	}

	private PicoSequenceInputStream(Enumeration<? extends InputStream> e, boolean later) {
		super(Collections.emptyEnumeration());
		rest = e;
	}

	/** Replaces the constructor: the methods that it calls may park. */
	public static PicoSequenceInputStream pico$new(Enumeration<? extends InputStream> e) {
		PicoSequenceInputStream s = new PicoSequenceInputStream(e, true);
		s.next();
		return s;
	}

	public PicoSequenceInputStream(InputStream a, InputStream b) {
		this(Collections.enumeration(Arrays.asList(a, b)));
	}

	private void next() {
		in = null;
		if (rest.hasMoreElements()) {
			in = rest.nextElement();
			if (in == null)
				throw new NullPointerException();
		}
	}

	private void closeThis() throws IOException {
		if (in != null)
			in.close();
		next();
	}

	@Override
	public int read() throws IOException {
		for (; in != null; closeThis()) {
			int c = in.read();
			if (c >= 0)
				return c;
		}
		return -1;
	}

	@Override
	public int read(byte[] b) throws IOException {
		return read(b, 0, b.length);
	}

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		if (in == null)
			return -1;
		PicoInputStream.check(b, off, len);
		if (len == 0)
			return 0;
		for (; in != null; closeThis()) {
			int n = in.read(b, off, len);
			if (n > 0)
				return n;
		}
		return -1;
	}

	@Override
	public int available() throws IOException {
		return in == null ? 0 : in.available();
	}

	@Override
	public long skip(long n) throws IOException {
		return PicoInputStream.skip(this, n);
	}

	@Override
	public void close() throws IOException {
		IOException first = null;
		while (in != null)
			try {
				closeThis();
			} catch (IOException e) {
				if (first == null)
					first = e;
				else
					first.addSuppressed(e);
				next();
			}
		if (first != null)
			throw first;
	}

	// = PicoFilterInputStream: as in PicoInputStream
}
