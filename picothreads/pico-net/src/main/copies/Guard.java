// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.IOException;
import java.io.InputStream;
import org.ukthreads.pico.Pins;

/** The source of a stream of the JDK. A fiber that waits in it pins: it blocks its OS thread. */
final class Guard extends InputStream {
	private final InputStream in;

	Guard(InputStream in) {
		this.in = in;
	}

	// each: @Override public T m(..) throws IOException {
	//	Pins.enter(); try { return in.m(..); } finally { Pins.exit(); } }
	int read(); int read(byte[] b, int off, int len); long skip(long n);

	// each: @Override public T m(..) { return in.m(..); }
	int available() throws IOException; void close() throws IOException;
	boolean markSupported(); void mark(int limit); void reset() throws IOException;
}
