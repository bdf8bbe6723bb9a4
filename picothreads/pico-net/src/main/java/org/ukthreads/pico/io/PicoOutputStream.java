// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.OutputStream;

/** The superclass of the program's own output streams. */
public abstract class PicoOutputStream extends OutputStream {
	@Override
	public void write(byte[] b) throws IOException {
		write(b, 0, b.length);
	}

	@Override
	public void write(byte[] b, int off, int len) throws IOException {
		if ((off | len | off + len | b.length - off - len) < 0)
			throw new IndexOutOfBoundsException(off + ", " + len + " of " + b.length);
		for (int k = 0; k < len; k++)
			write(b[off + k]);
	}
}
