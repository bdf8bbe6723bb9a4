// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;

/** PipedInputStream. Its other end must also belong to the translated program. */
public class PicoPipedInputStream extends PipedInputStream {
	final Pipe pipe;

	public PicoPipedInputStream() {
		this(PIPE_SIZE);
	}

	public PicoPipedInputStream(int size) {
		super(Math.min(Pipe.checked(size), 1));
		pipe = new Pipe(new byte[size], size);
	}

	public PicoPipedInputStream(PipedOutputStream from) throws IOException {
		this(from, PIPE_SIZE);
	}

	public PicoPipedInputStream(PipedOutputStream from, int size) throws IOException {
		this(size);
		connect(from);
	}

	@Override
	protected void receive(int b) throws IOException {
		pipe.write(new byte[] {(byte) b}, 0, 1);
	}

	@Override
	public int read() throws IOException {
		byte[] one = new byte[1];
		return pipe.read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
	}

	// = PicoFilterInputStream: read

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		PicoInputStream.check(b, off, len);
		return len == 0 ? 0 : pipe.read(b, off, len);
	}

	@Override
	public long skip(long n) throws IOException {
		return PicoInputStream.skip(this, n);
	}

	@Override
	public int available() {
		return pipe.available();
	}

	@Override
	public void close() {
		pipe.closeIn();
	}

	// = PicoFilterInputStream: as in PicoInputStream
}
