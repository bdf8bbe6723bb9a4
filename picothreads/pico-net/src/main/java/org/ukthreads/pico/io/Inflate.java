// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import java.util.zip.ZipException;

/** What the three inflating streams share; the JDK's types leave no common superclass. */
interface Inflate {
	/** Gives the inflater more to do; may park. */
	void more() throws IOException;

	/** At least a byte; -1: the inflater has come to its end. */
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

	/** What the superclass closes, so that ours is closed with none of its frames below. */
	static InputStream nothing() {
		return new ByteArrayInputStream(new byte[0]);
	}
}
