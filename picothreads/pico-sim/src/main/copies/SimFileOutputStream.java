// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;

/** Replaces `new FileOutputStream(..)` in a simulated program. */
public class SimFileOutputStream extends FileOutputStream {
	final OpenFiles.Handle handle;
	final FileDescriptor descriptor;

	public SimFileOutputStream(String name) throws FileNotFoundException {
		this(new File(name), false);
	}

	public SimFileOutputStream(String name, boolean append) throws FileNotFoundException {
		this(new File(name), append);
	}

	public SimFileOutputStream(File f) throws FileNotFoundException {
		this(f, false);
	}

	public SimFileOutputStream(File f, boolean append) throws FileNotFoundException {
		super(OpenFiles.on() ? new FileDescriptor() : real(f, append));
		handle = OpenFiles.on() ? OpenFiles.open(OpenFiles.path(f), true, !append, append)
			: null;
		descriptor = handle == null ? null : OpenFiles.descriptor(handle);
	}

	public SimFileOutputStream(FileDescriptor d) {
		super(d);
		handle = OpenFiles.of(d);
		descriptor = d;
	}

	private static FileDescriptor real(File f, boolean append) throws FileNotFoundException {
		try {
			return new FileOutputStream(f, append).getFD();
		} catch (FileNotFoundException e) {
			throw e;
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
	}

	// = SimRandomAccessFile: write

	@Override
	public void close() throws IOException {
		if (handle != null)
			handle.open = false;
		else
			super.close();
	}
}
