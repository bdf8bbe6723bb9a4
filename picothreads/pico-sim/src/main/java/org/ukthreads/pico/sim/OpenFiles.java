// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/** Shared by the classes of files: the disk, the normalized names, and the open files. */
final class OpenFiles {
	private OpenFiles() {}

	/** True if the program's files are on a simulated disk. Otherwise they are the system's. */
	static boolean on() {
		Run r = Sim.current;
		return r != null && r.sim().files;
	}

	static Disk disk() {
		return Sim.current.node().disk;
	}

	static String path(File f) {
		return Paths.get(f.getAbsolutePath()).normalize().toString();
	}

	static String path(java.nio.file.Path p) {
		return p.toAbsolutePath().normalize().toString();
	}

	/** Throws a NoSuchFileException if the folder of the file does not exist. */
	static void parent(String path) throws IOException {
		int k = path.lastIndexOf('/');
		String dir = k <= 0 ? "/" : path.substring(0, k);
		Disk.Inode i = disk().find(dir);
		if (i == null || !i.directory)
			throw new NoSuchFileException(path);
	}

	/** An open file and its position. */
	static final class Handle {
		final Disk disk;
		final Disk.Inode inode;
		final boolean append;
		int at;
		boolean open = true;

		Handle(Disk disk, Disk.Inode inode, boolean append) {
			this.disk = disk;
			this.inode = inode;
			this.append = append;
		}

		void check() throws IOException {
			if (!open)
				throw new IOException("Stream Closed");
		}

		int read(byte[] b, int off, int len) throws IOException {
			check();
			int n = inode.read(at, b, off, len);
			at += Math.max(0, n);
			return n;
		}

		void write(byte[] b, int off, int len) throws IOException {
			check();
			if (append)
				at = inode.size;
			inode.write(at, b, off, len);
			disk.touch(inode);
			at += len;
		}
	}

	/**
	 * Opens a file for java.io, to read or to write. A file to write is made if it does not
	 * exist.
	 */
	static Handle open(String path, boolean write, boolean truncate, boolean append)
			throws FileNotFoundException {
		Disk d = disk();
		Disk.Inode i = d.find(path);
		if (i != null && i.directory)
			throw new FileNotFoundException(path + " (Is a directory)");
		if (i == null && !write)
			throw new FileNotFoundException(path + " (No such file or directory)");
		if (i == null) {
			try {
				parent(path);
			} catch (IOException e) {
				throw new FileNotFoundException(path + " (No such file or directory)");
			}
			i = d.create(path, false);
		} else if (truncate && i.size > 0) {
			i.truncate(0);
		}
		return new Handle(d, i, append);
	}

	private static final Map<FileDescriptor, Handle> DESCRIPTORS =
		Collections.synchronizedMap(new WeakHashMap<>());

	/** Returns a descriptor that sync() knows. */
	static FileDescriptor descriptor(Handle h) {
		FileDescriptor d = new FileDescriptor();
		DESCRIPTORS.put(d, h);
		return d;
	}

	/** Returns null if the descriptor is the system's. */
	static Handle of(FileDescriptor d) {
		return DESCRIPTORS.get(d);
	}
}
