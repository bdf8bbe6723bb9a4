// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;

/** PipedOutputStream. Its other end must also belong to the translated program. */
public class PicoPipedOutputStream extends PipedOutputStream {
	private volatile Pipe pipe;

	public PicoPipedOutputStream() {}

	public PicoPipedOutputStream(PipedInputStream to) throws IOException {
		connect(to);
	}

	@Override
	public void connect(PipedInputStream to) throws IOException {
		if (to == null)
			throw new NullPointerException();
		if (pipe != null)
			throw new IOException("Already connected");
		if (!(to instanceof PicoPipedInputStream))
			throw new IOException("the other end of the pipe is not translated: " + to.getClass());
		Pipe p = ((PicoPipedInputStream) to).pipe;
		p.connect();
		pipe = p;
	}

	private Pipe pipe() throws IOException {
		Pipe p = pipe;
		if (p == null)
			throw new IOException("Pipe not connected");
		return p;
	}

	@Override
	public void write(int b) throws IOException {
		pipe().write(new byte[] {(byte) b}, 0, 1);
	}

	@Override
	public void write(byte[] b) throws IOException {
		write(b, 0, b.length);
	}

	@Override
	public void write(byte[] b, int off, int len) throws IOException {
		Pipe p = pipe();
		PicoInputStream.check(b, off, len);
		if (len > 0)
			p.write(b, off, len);
	}

	@Override
	public void flush() {
		Pipe p = pipe;
		if (p != null)
			p.flush();
	}

	@Override
	public void close() {
		Pipe p = pipe;
		if (p != null)
			p.closeOut();
	}
}
