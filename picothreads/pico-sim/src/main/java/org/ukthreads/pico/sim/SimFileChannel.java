// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;

/**
 * A channel of a file on a simulated disk. It cannot map files, and every lock succeeds at once.
 */
final class SimFileChannel extends FileChannel {
	private final OpenFiles.Handle handle;

	SimFileChannel(OpenFiles.Handle handle) {
		this.handle = handle;
	}

	private void check() throws IOException {
		if (!isOpen() || !handle.open)
			throw new ClosedChannelException();
	}

	@Override
	public int read(ByteBuffer to) throws IOException {
		int n = read(to, handle.at);
		handle.at += Math.max(0, n);
		return n;
	}

	@Override
	public int read(ByteBuffer to, long at) throws IOException {
		check();
		byte[] b = new byte[to.remaining()];
		int n = handle.inode.read((int) at, b, 0, b.length);
		if (n > 0)
			to.put(b, 0, n);
		return n;
	}

	@Override
	public long read(ByteBuffer[] to, int off, int len) throws IOException {
		long all = 0;
		for (int k = off; k < off + len; k++) {
			int n = read(to[k]);
			if (n < 0)
				return all > 0 ? all : -1;
			all += n;
		}
		return all;
	}

	@Override
	public int write(ByteBuffer from) throws IOException {
		check();
		if (handle.append)
			handle.at = handle.inode.size;
		int n = write(from, handle.at);
		handle.at += n;
		return n;
	}

	@Override
	public int write(ByteBuffer from, long at) throws IOException {
		check();
		byte[] b = new byte[from.remaining()];
		from.get(b);
		handle.inode.write((int) at, b, 0, b.length);
		handle.disk.touch(handle.inode);
		return b.length;
	}

	@Override
	public long write(ByteBuffer[] from, int off, int len) throws IOException {
		long n = 0;
		for (int k = off; k < off + len; k++)
			n += write(from[k]);
		return n;
	}

	@Override
	public long position() throws IOException {
		check();
		return handle.at;
	}

	@Override
	public FileChannel position(long at) throws IOException {
		check();
		handle.at = (int) at;
		return this;
	}

	@Override
	public long size() throws IOException {
		check();
		return handle.inode.size;
	}

	@Override
	public FileChannel truncate(long n) throws IOException {
		check();
		if (n < handle.inode.size)
			handle.inode.truncate((int) n);
		handle.at = (int) Math.min(handle.at, n);
		return this;
	}

	@Override
	public void force(boolean metadata) throws IOException {
		check();
		handle.disk.sync(handle.inode);
	}

	@Override
	public long transferTo(long at, long n, WritableByteChannel to) throws IOException {
		ByteBuffer b = ByteBuffer.allocate((int) Math.min(n, Math.max(0, size() - at)));
		read(b, at);
		b.flip();
		return to.write(b);
	}

	@Override
	public long transferFrom(ReadableByteChannel from, long at, long n) throws IOException {
		ByteBuffer b = ByteBuffer.allocate((int) Math.min(n, 1 << 16));
		from.read(b);
		b.flip();
		return write(b, at);
	}

	@Override
	public MappedByteBuffer map(MapMode mode, long at, long n) {
		throw new UnsupportedOperationException("no mapped files in a simulation");
	}

	@Override
	public FileLock lock(long at, long n, boolean shared) throws IOException {
		check();
		return new FileLock(this, at, n, shared) {
			private boolean valid = true;

			@Override
			public boolean isValid() {
				return valid && acquiredBy().isOpen();
			}

			@Override
			public void release() {
				valid = false;
			}
		};
	}

	@Override
	public FileLock tryLock(long at, long n, boolean shared) throws IOException {
		return lock(at, n, shared);
	}

	@Override
	protected void implCloseChannel() {
		handle.open = false;
	}
}
