// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** FilterInputStream, for subclasses of the program. */
public class PicoFilterInputStream extends FilterInputStream {
	protected PicoFilterInputStream(InputStream in) {
		super(in);
	}

	// each: @Override public T m(..) throws IOException { return in.m(..); }
	int read(); int read(byte[] b, int off, int len);

	/* --- read --- */

	@Override
	public int read(byte[] b) throws IOException {
		return read(b, 0, b.length);
	}

	/* --- skip --- */

	@Override
	public long skip(long n) throws IOException {
		return in.skip(n);
	}

	/* --- available and close --- */

	// each: @Override public T m(..) throws IOException { return in.m(..); }
	int available(); void close();

	/* --- as in PicoInputStream --- */

	public byte[] readAllBytes() throws IOException {
		return PicoInputStream.readNBytes(this, Integer.MAX_VALUE);
	}

	public byte[] readNBytes(int n) throws IOException {
		return PicoInputStream.readNBytes(this, n);
	}

	public int readNBytes(byte[] b, int off, int len) throws IOException {
		return PicoInputStream.readNBytes(this, b, off, len);
	}

	public void skipNBytes(long n) throws IOException {
		PicoInputStream.skipNBytes(this, n);
	}

	public long transferTo(OutputStream out) throws IOException {
		return PicoInputStream.transfer(this, out);
	}
}
