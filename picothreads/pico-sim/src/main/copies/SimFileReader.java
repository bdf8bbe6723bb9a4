// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileNotFoundException;
import java.io.FileReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.CharBuffer;
import java.nio.charset.Charset;

/** Replaces `new FileReader(..)` in a simulated program. */
public class SimFileReader extends FileReader {
	private final InputStreamReader in;

	public SimFileReader(String name) throws FileNotFoundException {
		this(new File(name));
	}

	public SimFileReader(File f) throws FileNotFoundException {
		this(f, Charset.defaultCharset());
	}

	public SimFileReader(String name, Charset c) throws FileNotFoundException {
		this(new File(name), c);
	}

	public SimFileReader(File f, Charset c) throws FileNotFoundException {
		super(new FileDescriptor());
		in = new InputStreamReader(new SimFileInputStream(f), c);
	}

	public SimFileReader(FileDescriptor d) {
		super(d);
		in = new InputStreamReader(new SimFileInputStream(d));
	}

	// each: @Override public T m(..) throws IOException { return in.m(..); }
	int read(); int read(char[] b); int read(char[] b, int off, int len);
	int read(CharBuffer b); long skip(long n); boolean ready(); void close();
}
