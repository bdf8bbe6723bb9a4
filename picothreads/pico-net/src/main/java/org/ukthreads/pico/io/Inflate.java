// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import java.util.zip.ZipException;

/** Shared by the three inflating streams, which cannot have a common superclass. */
interface Inflate {
	/** Gives the inflater more input; may park. */
	void more() throws IOException;

	/** Reads at least one byte; -1: the inflater has reached its end. */
	static int read(Inflate s, Inflater inf, byte[] b, int off, int len) throws IOException {
		try {
			for (;;) {
				int n = inf.inflate(b, off, len);
				if (n > 0)
					return n;
				if (inf.finished() || inf.needsDictionary())
					return -1;
				if (inf.needsInput())
					s.more();
			}
		} catch (DataFormatException e) {
			throw new ZipException(e.getMessage() == null ? "Invalid ZLIB data format"
				: e.getMessage());
		}
	}

	static long skip(InputStream in, long n) throws IOException {
		if (n < 0)
			throw new IllegalArgumentException("negative skip length");
		return PicoInputStream.skip(in, n);
	}

	/**
	 * Returns a stream for the superclass to close, so that the real one is closed with no
	 * frame of the superclass on the stack.
	 */
	static InputStream nothing() {
		return new ByteArrayInputStream(new byte[0]);
	}
}
