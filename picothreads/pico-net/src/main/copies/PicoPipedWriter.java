// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.PipedReader;
import java.io.PipedWriter;
import java.io.Writer;

/** PipedWriter. Its other end must also belong to the translated program. */
public class PicoPipedWriter extends PipedWriter {
	private volatile Pipe pipe;
	private volatile boolean closed;

	public PicoPipedWriter() {}

	public PicoPipedWriter(PipedReader to) throws IOException {
		connect(to);
	}

	@Override
	public void connect(PipedReader to) throws IOException {
		if (to == null)
			throw new NullPointerException();
		if (pipe != null)
			throw new IOException("Already connected");
		if (closed)
			throw new IOException("Pipe closed");
		if (!(to instanceof PicoPipedReader))
			throw new IOException("the other end of the pipe is not translated: " + to.getClass());
		Pipe p = ((PicoPipedReader) to).pipe;
		p.connect();
		pipe = p;
	}

	@Override
	public void write(int c) throws IOException {
		write(new char[] {(char) c}, 0, 1);
	}

	@Override
	public void write(char[] c, int off, int len) throws IOException {
		Pipe p = pipe;
		if (p == null)
			throw new IOException("Pipe not connected");
		PicoReader.check(c, off, len);
		if (len > 0)
			p.write(c, off, len);
	}

	@Override
	public void write(String s, int off, int len) throws IOException {
		write(s.substring(off, off + len).toCharArray(), 0, len);
	}

	// = PicoFilterWriter: as in PicoWriter

	@Override
	public void flush() throws IOException {
		Pipe p = pipe;
		if (p != null)
			p.flush();
	}

	@Override
	public void close() {
		closed = true;
		Pipe p = pipe;
		if (p != null)
			p.closeOut();
	}
}
