// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.CheckedOutputStream;
import java.util.zip.Checksum;

/** CheckedOutputStream. */
public class PicoCheckedOutputStream extends CheckedOutputStream {
	private boolean shut;

	public PicoCheckedOutputStream(OutputStream out, Checksum sum) {
		super(out, sum);
	}

	@Override
	public void write(int b) throws IOException {
		out.write(b);
		getChecksum().update(b);
	}

	@Override
	public void write(byte[] b) throws IOException {
		write(b, 0, b.length);
	}

	@Override
	public void write(byte[] b, int off, int len) throws IOException {
		out.write(b, off, len);
		getChecksum().update(b, off, len);
	}

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
