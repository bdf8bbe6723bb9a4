// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.Writer;

/**
 * The superclass of the program's own writers: the methods of Writer, based on write(char[],
 * ...).
 */
public abstract class PicoWriter extends Writer {
	protected PicoWriter() {}

	protected PicoWriter(Object lock) {
		super(lock);
	}

	@Override
	public void write(int c) throws IOException {
		write(new char[] {(char) c}, 0, 1);
	}

	@Override
	public void write(String s, int off, int len) throws IOException {
		char[] c = new char[len];
		s.getChars(off, off + len, c, 0);
		write(c, 0, len);
	}

	// = PicoFilterWriter: as in PicoWriter
}
