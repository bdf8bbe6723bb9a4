// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.CheckedInputStream;
import java.util.zip.Checksum;

/** CheckedInputStream. */
public class PicoCheckedInputStream extends CheckedInputStream {
	public PicoCheckedInputStream(InputStream in, Checksum sum) {
		super(in, sum);
	}

	@Override
	public int read() throws IOException {
		int c = in.read();
		if (c >= 0)
			getChecksum().update(c);
		return c;
	}

	// = PicoFilterInputStream: read

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		int n = in.read(b, off, len);
		if (n > 0)
			getChecksum().update(b, off, n);
		return n;
	}

	@Override
	public long skip(long n) throws IOException {
		return PicoInputStream.skip(this, n);
	}

	// = PicoFilterInputStream: available and close

	// = PicoFilterInputStream: as in PicoInputStream
}
