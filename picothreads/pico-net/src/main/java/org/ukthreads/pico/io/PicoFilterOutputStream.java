// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** FilterOutputStream. */
public class PicoFilterOutputStream extends FilterOutputStream {
	private boolean shut;

	public PicoFilterOutputStream(OutputStream out) {
		super(out);
	}

	@Override
	public void write(int b) throws IOException {
		out.write(b);
	}

	@Override
	public void write(byte[] b, int off, int len) throws IOException {
		if ((off | len | b.length - (len + off) | off + len) < 0)
			throw new IndexOutOfBoundsException();
		for (int k = 0; k < len; k++)
			write(b[off + k]);
	}

	/** Flushes `ours`, and closes `under` in any case. */
	static void shut(OutputStream ours, OutputStream under) throws IOException {
		try {
			ours.flush();
		} finally {
			under.close();
		}
	}

	/* --- write --- */

	@Override
	public void write(byte[] b) throws IOException {
		write(b, 0, b.length);
	}

	/* --- flush and close --- */

	@Override
	public void flush() throws IOException {
		out.flush();
	}

	@Override
	public void close() throws IOException {
		if (shut)
			return;
		shut = true;
		PicoFilterOutputStream.shut(this, out);
	}
}
