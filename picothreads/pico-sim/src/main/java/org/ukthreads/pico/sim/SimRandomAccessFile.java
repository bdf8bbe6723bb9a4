// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;

/**
 * Replaces `new RandomAccessFile(..)` in a simulated program. It opens /dev/null, because every
 * constructor of the superclass opens a file.
 */
public class SimRandomAccessFile extends RandomAccessFile {
	final OpenFiles.Handle handle;
	final FileDescriptor descriptor;

	public SimRandomAccessFile(String name, String mode) throws FileNotFoundException {
		this(new File(name), mode);
	}

	public SimRandomAccessFile(File f, String mode) throws FileNotFoundException {
		super(OpenFiles.on() ? new File("/dev/null") : f, OpenFiles.on() ? "r" : mode);
		if (!OpenFiles.on()) {
			handle = null;
			descriptor = null;
			return;
		}
		if (!mode.matches("r|rw|rws|rwd"))
			throw new IllegalArgumentException("mode must be r, rw, rws or rwd: " + mode);
		handle = OpenFiles.open(OpenFiles.path(f), !mode.equals("r"), false, false);
		descriptor = OpenFiles.descriptor(handle);
	}

	@Override
	public int skipBytes(int n) throws IOException {
		if (handle == null)
			return super.skipBytes(n);
		int k = Math.max(0, Math.min(n, handle.inode.size - handle.at));
		handle.at += k;
		return k;
	}

	@Override
	public long getFilePointer() throws IOException {
		return handle == null ? super.getFilePointer() : handle.at;
	}

	@Override
	public void seek(long at) throws IOException {
		if (handle == null)
			super.seek(at);
		else
			handle.at = (int) at;
	}

	@Override
	public long length() throws IOException {
		return handle == null ? super.length() : handle.inode.size;
	}

	@Override
	public void setLength(long n) throws IOException {
		if (handle == null) {
			super.setLength(n);
			return;
		}
		handle.inode.truncate((int) n);
		handle.at = (int) Math.min(handle.at, n);
	}

	@Override
	public void close() throws IOException {
		if (handle != null)
			handle.open = false;
		super.close();
	}

	/* --- read --- */

	@Override
	public int read() throws IOException {
		if (handle == null)
			return super.read();
		byte[] b = new byte[1];
		return handle.read(b, 0, 1) < 0 ? -1 : b[0] & 0xff;
	}

	@Override
	public int read(byte[] b) throws IOException {
		return read(b, 0, b.length);
	}

	@Override
	public int read(byte[] b, int off, int len) throws IOException {
		return handle == null ? super.read(b, off, len) : handle.read(b, off, len);
	}

	/* --- write --- */

	@Override
	public void write(int b) throws IOException {
		if (handle == null)
			super.write(b);
		else
			handle.write(new byte[] {(byte) b}, 0, 1);
	}

	@Override
	public void write(byte[] b) throws IOException {
		write(b, 0, b.length);
	}

	@Override
	public void write(byte[] b, int off, int len) throws IOException {
		if (handle == null)
			super.write(b, off, len);
		else
			handle.write(b, off, len);
	}
}
