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

	// = PicoFilterOutputStream: write

	@Override
	public void write(byte[] b, int off, int len) throws IOException {
		out.write(b, off, len);
		getChecksum().update(b, off, len);
	}

	// = PicoFilterOutputStream: flush and close; PicoChecked > PicoFilter
}
