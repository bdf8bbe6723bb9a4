// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;

/** Reads the machine's own files, and never changes them. */
final class Real {
	private Real() {}

	/** Returns null if there is no such file, or it cannot be read or is larger than 1 GiB. */
	static Disk.Inode load(String path) {
		File f = new File(path);
		Disk.Inode i = new Disk.Inode();
		if (f.isDirectory()) {
			i.directory = true;
			return i;
		}
		if (!f.isFile() || f.length() > 1 << 30)
			return null;
		try {
			i.bytes = Files.readAllBytes(f.toPath());
		} catch (IOException e) {
			return null;
		}
		i.size = i.bytes.length;
		i.modified = f.lastModified();
		return i;
	}

	static boolean isDirectory(String path) {
		return new File(path).isDirectory();
	}

	static String[] list(String path) {
		String[] l = new File(path).list();
		return l == null ? new String[0] : l;
	}
}
