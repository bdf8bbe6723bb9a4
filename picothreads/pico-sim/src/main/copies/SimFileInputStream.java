// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;

/** Replaces `new FileInputStream(..)` in a simulated program. */
public class SimFileInputStream extends FileInputStream {
	final OpenFiles.Handle handle;
	final FileDescriptor descriptor;

	public SimFileInputStream(String name) throws FileNotFoundException {
		this(new File(name));
	}

	public SimFileInputStream(File f) throws FileNotFoundException {
		super(OpenFiles.on() ? new FileDescriptor() : real(f));
		handle = OpenFiles.on() ? OpenFiles.open(OpenFiles.path(f), false, false, false) : null;
		descriptor = handle == null ? null : OpenFiles.descriptor(handle);
	}

	public SimFileInputStream(FileDescriptor d) {
		super(d);
		handle = OpenFiles.of(d);
		descriptor = d;
	}

	private static FileDescriptor real(File f) throws FileNotFoundException {
		try {
			return new FileInputStream(f).getFD();
		} catch (FileNotFoundException e) {
			throw e;
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
	}

	// = SimRandomAccessFile: read

	@Override
	public long skip(long n) throws IOException {
		if (handle == null)
			return super.skip(n);
		handle.check();
		handle.at += (int) n;
		return n;
	}

	@Override
	public int available() throws IOException {
		if (handle == null)
			return super.available();
		handle.check();
		return Math.max(0, handle.inode.size - handle.at);
	}

	/* These exist since Java 9. Without them, the JDK's would read from the system's descriptor. */

	public byte[] readAllBytes() throws IOException {
		return readNBytes(Integer.MAX_VALUE);
	}

	public byte[] readNBytes(int most) throws IOException {
		if (most < 0)
			throw new IllegalArgumentException("len < 0");
		java.io.ByteArrayOutputStream b = new java.io.ByteArrayOutputStream();
		byte[] some = new byte[8192];
		for (int n; b.size() < most
				&& (n = read(some, 0, Math.min(some.length, most - b.size()))) >= 0;)
			b.write(some, 0, n);
		return b.toByteArray();
	}

	public long transferTo(java.io.OutputStream to) throws IOException {
		byte[] all = readAllBytes();
		to.write(all);
		return all.length;
	}

	@Override
	public void close() throws IOException {
		if (handle != null)
			handle.open = false;
		else
			super.close();
	}
}
