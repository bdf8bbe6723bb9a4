// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.ukthreads.pico.NeverBlocks;

/*
 * A folder with a file for each key. A value is written to a new file, synced, and renamed over the
 * old one; then the folder is synced. A reader finds the old value or the new one. The time at
 * which a thread is due is the modification time of its file, so no file is read to find it out.
 *
 * Only one process at a time may write: the folder is locked, and the lock ends with the process.
 * Tools look at it without the lock (reader).
 */
@NeverBlocks
public final class FileStore implements Store {
	private static final String END = ".pico";
	private final Path dir;
	private final boolean sync;
	private final Path place;
	private final FileChannel lockFile;
	/**
	 * Folders that this process has open. A second store must not even open the lock's file: POSIX
	 * frees all locks of the process on a file when any of its descriptors is closed.
	 */
	private static final Set<Path> OPEN = ConcurrentHashMap.newKeySet();
	private static final Queue<FileChannel> KEPT = new ConcurrentLinkedQueue<>();

	public FileStore(Path dir) throws IOException {
		this(dir, true);
	}

	/** Opens a store, which may be in use, to look at it: it takes no changes. */
	public static FileStore reader(Path dir) throws IOException {
		if (!Files.isDirectory(dir))
			throw new java.nio.file.NoSuchFileException(dir.toString());
		return new FileStore(dir, (Void) null);
	}

	/** Makes a reader. The parameter only distinguishes this constructor. */
	private FileStore(Path dir, Void reader) {
		this.dir = dir;
		sync = false;
		place = dir;
		lockFile = null;
	}

	/** @param sync false: changes survive a crash of the process, but not of the machine */
	public FileStore(Path dir, boolean sync) throws IOException {
		this.dir = make(dir, sync);
		this.sync = sync;
		place = dir.toRealPath();
		if (!OPEN.add(place))
			throw new IOException(dir + " is in use by this process");
		FileChannel f = null;
		try {
			f = FileChannel.open(dir.resolve("lock"), StandardOpenOption.CREATE,
				StandardOpenOption.WRITE);
			if (f.tryLock() == null)
				throw new IOException(dir + " is in use by another process");
			lockFile = f;
			clear();
		} catch (OverlappingFileLockException e) {
			/*
			 * Another class loader of this process has it. The file must not be closed: see OPEN.
			 */
			KEPT.add(f);
			OPEN.remove(place);
			throw new IOException(dir + " is in use by this process", e);
		} catch (IOException | RuntimeException e) {
			if (f != null)
				f.close();
			OPEN.remove(place);
			throw e;
		}
	}

	/** Makes the folder and the missing ones above it. With {@code sync} they survive a crash. */
	static Path make(Path dir, boolean sync) throws IOException {
		Path old = dir.toAbsolutePath();
		while (!Files.exists(old))
			old = old.getParent();
		Files.createDirectories(dir);
		for (Path p = dir.toAbsolutePath(); sync && !p.equals(old); p = p.getParent())
			syncFolder(p.getParent());
		return dir;
	}

	/**
	 * Deletes values that never reached their files because a process died or the disk was full.
	 */
	private void clear() {
		String[] names = dir.toFile().list();
		if (names != null)
			for (String n : names)
				if (n.matches("new\\.[0-9]+"))
					dir.resolve(n).toFile().delete();
	}

	private Path file(String key) throws IOException {
		return dir.resolve(URLEncoder.encode(key, "UTF-8").replace("*", "%2A") + END);
	}

	@Override
	public void apply(List<Change> changes) throws IOException {
		if (lockFile == null)
			throw new IOException(dir + " was opened for reading only");
		try {
			make(changes);
		} catch (IOException | RuntimeException e) {
			clear();
			throw e;
		}
	}

	private void make(List<Change> changes) throws IOException {
		for (int k = 0; k < changes.size(); k++)
			if (changes.get(k).value != null)
				write(dir.resolve("new." + k), changes.get(k));
		for (int k = 0; k < changes.size(); k++) {
			Change c = changes.get(k);
			if (c.value != null) {
				Files.move(dir.resolve("new." + k), file(c.key),
					StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
			} else {
				/* The changes before this one must be on disk before this file is gone. */
				if (k > 0 && changes.get(k - 1).value != null)
					syncFolder();
				Files.deleteIfExists(file(c.key));
			}
		}
		syncFolder();
	}

	private void syncFolder() throws IOException {
		if (sync)
			syncFolder(dir);
	}

	private void write(Path f, Change change) throws IOException {
		try (FileChannel c = FileChannel.open(f, StandardOpenOption.CREATE,
				StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
			ByteBuffer b = ByteBuffer.wrap(change.value);
			while (b.hasRemaining())
				c.write(b);
			if (change.due != 0)
				Files.setLastModifiedTime(f,
					FileTime.fromMillis(Math.min(change.due, NEVER)));
			if (sync)
				c.force(true);
		}
	}

	/** The year 2100. Some file systems cannot store later times. */
	private static final long NEVER = 4_102_444_800_000L;

	@Override
	public long due(String key) throws IOException {
		long t = Files.getLastModifiedTime(file(key)).toMillis();
		return t >= NEVER ? Long.MAX_VALUE : t;
	}

	/** Makes what was made, renamed and removed in the folder survive a crash of the machine. */
	static void syncFolder(Path dir) throws IOException {
		if (File.separatorChar == '\\')
			return;
		try (FileChannel c = FileChannel.open(dir, StandardOpenOption.READ)) {
			c.force(true);
		}
	}

	@Override
	public List<String> keys() throws IOException {
		List<String> l = new ArrayList<>();
		String[] names = dir.toFile().list();
		if (names == null)
			throw new FileNotFoundException(dir.toString());
		for (String n : names)
			if (n.endsWith(END)) {
				String key = key(n.substring(0, n.length() - END.length()));
				if (key != null && file(key).getFileName().toString().equals(n))
					l.add(key);
			}
		return l;
	}

	/** Returns null if the file is not one of a store. */
	private static String key(String name) throws IOException {
		try {
			return URLDecoder.decode(name, "UTF-8");
		} catch (IllegalArgumentException e) {
			return null;
		}
	}

	@Override
	public byte[] get(String key) throws IOException {
		try {
			return Files.readAllBytes(file(key));
		} catch (NoSuchFileException e) {
			return null;
		}
	}

	@Override
	public void close() throws IOException {
		if (lockFile == null || !lockFile.isOpen())
			return;
		lockFile.close();
		OPEN.remove(place);
	}
}
