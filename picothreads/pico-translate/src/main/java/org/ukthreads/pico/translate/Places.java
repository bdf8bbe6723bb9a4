// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.zip.ZipFile;

/**
 * Jars and folders from which single files are read (a ClassPath reads them whole). The first entry
 * of a name wins. Thread-safe; jars stay open.
 */
final class Places {
	private final Path[] paths;
	private final JarFile[] jars;

	Places(List<Path> paths) {
		this.paths = paths.toArray(new Path[0]);
		jars = new JarFile[this.paths.length];
	}

	/** Null if paths[k] is a folder or does not exist. */
	private synchronized JarFile jar(int k) throws IOException {
		File f = paths[k].toFile();
		if (jars[k] == null && f.isFile())
			jars[k] = new JarFile(f, false, ZipFile.OPEN_READ, Runtime.version());
		return jars[k];
	}

	private boolean has(int k, String entry) throws IOException {
		JarFile j = jar(k);
		return j != null ? j.getJarEntry(entry) != null
			: Files.isRegularFile(paths[k].resolve(entry));
	}

	/** The jar or folder that has a file, or null. */
	Path of(String entry) {
		int k = index(entry);
		return k < 0 ? null : paths[k];
	}

	private int index(String entry) {
		try {
			for (int k = 0; k < paths.length; k++)
				if (has(k, entry))
					return k;
			return -1;
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	/** The content of a file, or null. */
	byte[] get(String entry) {
		int k = index(entry);
		if (k < 0)
			return null;
		try {
			JarFile j = jar(k);
			if (j == null)
				return Files.readAllBytes(paths[k].resolve(entry));
			JarEntry x = j.getJarEntry(entry);
			try (InputStream in = j.getInputStream(x)) {
				return in.readAllBytes();
			}
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}
}
