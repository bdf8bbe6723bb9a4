// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.PipedReader;
import java.io.PipedWriter;
import java.io.Writer;
import java.nio.CharBuffer;

/** PipedReader. Its other end must also belong to the translated program. */
public class PicoPipedReader extends PipedReader {
	private static final int SIZE = 1024;

	final Pipe pipe;

	public PicoPipedReader() {
		this(SIZE);
	}

	public PicoPipedReader(int size) {
		super(Math.min(Pipe.checked(size), 1));
		pipe = new Pipe(new char[size], size);
	}

	public PicoPipedReader(PipedWriter from) throws IOException {
		this(from, SIZE);
	}

	public PicoPipedReader(PipedWriter from, int size) throws IOException {
		this(size);
		connect(from);
	}

	@Override
	public int read() throws IOException {
		return PicoReader.read(this);
	}

	@Override
	public int read(char[] c, int off, int len) throws IOException {
		PicoReader.check(c, off, len);
		return len == 0 ? 0 : pipe.read(c, off, len);
	}

	@Override
	public long skip(long n) throws IOException {
		return PicoReader.skip(this, n);
	}

	@Override
	public boolean ready() throws IOException {
		return pipe.ready();
	}

	@Override
	public void close() {
		pipe.closeIn();
	}

	// = PicoFilterReader: as in PicoReader
}
