// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Replaces the calls for files in a simulated program: static methods (Files, FileChannel.open)
 * and final ones (getFD, sync, getChannel). Paths are those of the JDK, because they are only
 * names.
 */
public final class FileCalls {
	private FileCalls() {}

	private static boolean on() {
		return OpenFiles.on();
	}

	private static Disk.Inode find(Path p) {
		return OpenFiles.disk().find(OpenFiles.path(p));
	}

	private static Disk.Inode there(Path p) throws NoSuchFileException {
		Disk.Inode i = find(p);
		if (i == null)
			throw new NoSuchFileException(p.toString());
		return i;
	}

	/* --- java.io --- */

	public static FileDescriptor getFD(FileOutputStream s) throws IOException {
		return s instanceof SimFileOutputStream && ((SimFileOutputStream) s).handle != null
			? ((SimFileOutputStream) s).descriptor : s.getFD();
	}

	public static FileDescriptor getFD(FileInputStream s) throws IOException {
		return s instanceof SimFileInputStream && ((SimFileInputStream) s).handle != null
			? ((SimFileInputStream) s).descriptor : s.getFD();
	}

	public static FileDescriptor getFD(RandomAccessFile s) throws IOException {
		return s instanceof SimRandomAccessFile && ((SimRandomAccessFile) s).handle != null
			? ((SimRandomAccessFile) s).descriptor : s.getFD();
	}

	public static void sync(FileDescriptor d) throws java.io.SyncFailedException {
		OpenFiles.Handle h = OpenFiles.of(d);
		if (h == null)
			d.sync();
		else
			h.disk.sync(h.inode);
	}

	public static FileChannel getChannel(FileOutputStream s) {
		return s instanceof SimFileOutputStream && ((SimFileOutputStream) s).handle != null
			? new SimFileChannel(((SimFileOutputStream) s).handle) : s.getChannel();
	}

	public static FileChannel getChannel(FileInputStream s) {
		return s instanceof SimFileInputStream && ((SimFileInputStream) s).handle != null
			? new SimFileChannel(((SimFileInputStream) s).handle) : s.getChannel();
	}

	public static FileChannel getChannel(RandomAccessFile s) {
		return s instanceof SimRandomAccessFile && ((SimRandomAccessFile) s).handle != null
			? new SimFileChannel(((SimRandomAccessFile) s).handle) : s.getChannel();
	}

	public static File toFile(Path p) {
		return new SimFile(p.toString());
	}

	public static File createTempFile(String prefix, String suffix) throws IOException {
		return createTempFile(prefix, suffix, (File) null);
	}

	public static File createTempFile(String prefix, String suffix, File dir)
			throws IOException {
		if (!on())
			return File.createTempFile(prefix, suffix, dir);
		String in = dir != null ? dir.getPath() : System.getProperty("java.io.tmpdir");
		for (;;) {
			File f = new SimFile(in, prefix + Long.toUnsignedString(Sim.random().nextLong())
				+ (suffix == null ? ".tmp" : suffix));
			if (f.createNewFile())
				return f;
		}
	}

	/* --- java.nio.file --- */

	private static OpenFiles.Handle open(Path p, OpenOption... how) throws IOException {
		List<OpenOption> o = Arrays.asList(how);
		boolean append = o.contains(StandardOpenOption.APPEND);
		boolean write = append || o.contains(StandardOpenOption.WRITE);
		Disk d = OpenFiles.disk();
		String path = OpenFiles.path(p);
		Disk.Inode i = d.find(path);
		if (i != null && write && o.contains(StandardOpenOption.CREATE_NEW))
			throw new FileAlreadyExistsException(p.toString());
		if (i != null && i.directory)
			throw new IOException(p + ": Is a directory");
		if (i == null && !(write && (o.contains(StandardOpenOption.CREATE)
				|| o.contains(StandardOpenOption.CREATE_NEW))))
			throw new NoSuchFileException(p.toString());
		if (i == null) {
			OpenFiles.parent(path);
			i = d.create(path, false);
		} else if (write && o.contains(StandardOpenOption.TRUNCATE_EXISTING) && i.size > 0) {
			i.truncate(0);
		}
		return new OpenFiles.Handle(d, i, append);
	}

	public static FileChannel open(Path p, Set<? extends OpenOption> how,
			FileAttribute<?>... attributes) throws IOException {
		return on() ? new SimFileChannel(open(p, how.toArray(new OpenOption[0])))
			: FileChannel.open(p, how, attributes);
	}

	public static FileChannel openChannel(Path p, OpenOption... how) throws IOException {
		return on() ? new SimFileChannel(open(p, how)) : FileChannel.open(p, how);
	}

	private static final OpenOption[] FRESH = {StandardOpenOption.CREATE,
		StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE};

	private static OpenOption[] writing(OpenOption... how) {
		if (how.length == 0)
			return FRESH;
		OpenOption[] o = Arrays.copyOf(how, how.length + 1);
		o[how.length] = StandardOpenOption.WRITE;
		return o;
	}

	public static byte[] readAllBytes(Path p) throws IOException {
		return on() ? open(p).inode.all() : Files.readAllBytes(p);
	}

	public static List<String> readAllLines(Path p) throws IOException {
		return readAllLines(p, StandardCharsets.UTF_8);
	}

	public static List<String> readAllLines(Path p, Charset c) throws IOException {
		List<String> l = new ArrayList<>();
		BufferedReader r = newBufferedReader(p, c);
		for (String s; (s = r.readLine()) != null;)
			l.add(s);
		r.close();
		return l;
	}

	public static Stream<String> lines(Path p) throws IOException {
		return readAllLines(p).stream();
	}

	public static Stream<String> lines(Path p, Charset c) throws IOException {
		return readAllLines(p, c).stream();
	}

	public static String readString(Path p) throws IOException {
		return new String(readAllBytes(p), StandardCharsets.UTF_8);
	}

	public static String readString(Path p, Charset c) throws IOException {
		return new String(readAllBytes(p), c);
	}

	public static InputStream newInputStream(Path p, OpenOption... how) throws IOException {
		return on() ? new ByteArrayInputStream(open(p).inode.all())
			: Files.newInputStream(p, how);
	}

	public static OutputStream newOutputStream(Path p, OpenOption... how) throws IOException {
		if (!on())
			return Files.newOutputStream(p, how);
		OpenFiles.Handle h = open(p, writing(how));
		return new FilterOutputStream(null) {
			@Override
			public void write(int b) throws IOException {
				h.write(new byte[] {(byte) b}, 0, 1);
			}

			@Override
			public void write(byte[] b, int off, int len) throws IOException {
				h.write(b, off, len);
			}

			@Override
			public void flush() {}

			@Override
			public void close() {
				h.open = false;
			}
		};
	}

	public static BufferedReader newBufferedReader(Path p) throws IOException {
		return newBufferedReader(p, StandardCharsets.UTF_8);
	}

	public static BufferedReader newBufferedReader(Path p, Charset c) throws IOException {
		return new BufferedReader(new InputStreamReader(newInputStream(p), c));
	}

	public static BufferedWriter newBufferedWriter(Path p, OpenOption... how)
			throws IOException {
		return newBufferedWriter(p, StandardCharsets.UTF_8, how);
	}

	public static BufferedWriter newBufferedWriter(Path p, Charset c, OpenOption... how)
			throws IOException {
		return new BufferedWriter(new OutputStreamWriter(newOutputStream(p, how), c));
	}

	public static Path write(Path p, byte[] b, OpenOption... how) throws IOException {
		if (!on())
			return Files.write(p, b, how);
		open(p, writing(how)).write(b, 0, b.length);
		return p;
	}

	public static Path write(Path p, Iterable<? extends CharSequence> lines, OpenOption... how)
			throws IOException {
		return write(p, lines, StandardCharsets.UTF_8, how);
	}

	public static Path write(Path p, Iterable<? extends CharSequence> lines, Charset c,
			OpenOption... how) throws IOException {
		StringBuilder b = new StringBuilder();
		for (CharSequence s : lines)
			b.append(s).append(System.lineSeparator());
		return write(p, b.toString().getBytes(c), how);
	}

	public static Path writeString(Path p, CharSequence s, OpenOption... how)
			throws IOException {
		return write(p, s.toString().getBytes(StandardCharsets.UTF_8), how);
	}

	public static Path writeString(Path p, CharSequence s, Charset c, OpenOption... how)
			throws IOException {
		return write(p, s.toString().getBytes(c), how);
	}

	public static boolean exists(Path p, LinkOption... how) {
		return on() ? find(p) != null : Files.exists(p, how);
	}

	public static boolean notExists(Path p, LinkOption... how) {
		return on() ? find(p) == null : Files.notExists(p, how);
	}

	public static boolean isDirectory(Path p, LinkOption... how) {
		return on() ? find(p) != null && find(p).directory : Files.isDirectory(p, how);
	}

	public static boolean isRegularFile(Path p, LinkOption... how) {
		return on() ? find(p) != null && !find(p).directory : Files.isRegularFile(p, how);
	}

	public static long size(Path p) throws IOException {
		return on() ? there(p).size : Files.size(p);
	}

	public static FileTime getLastModifiedTime(Path p, LinkOption... how) throws IOException {
		return on() ? FileTime.fromMillis(there(p).modified)
			: Files.getLastModifiedTime(p, how);
	}

	public static Path createFile(Path p, FileAttribute<?>... how) throws IOException {
		if (!on())
			return Files.createFile(p, how);
		open(p, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
		return p;
	}

	public static Path createDirectory(Path p, FileAttribute<?>... how) throws IOException {
		if (!on())
			return Files.createDirectory(p, how);
		if (find(p) != null)
			throw new FileAlreadyExistsException(p.toString());
		OpenFiles.parent(OpenFiles.path(p));
		OpenFiles.disk().create(OpenFiles.path(p), true);
		return p;
	}

	public static Path createDirectories(Path p, FileAttribute<?>... how) throws IOException {
		if (!on())
			return Files.createDirectories(p, how);
		Disk.Inode i = find(p);
		if (i != null && !i.directory)
			throw new FileAlreadyExistsException(p.toString());
		new SimFile(p.toString()).mkdirs();
		return p;
	}

	private static Path temporary(String in, String prefix, String suffix) {
		return Paths.get(in == null ? System.getProperty("java.io.tmpdir") : in,
			(prefix == null ? "" : prefix) + Long.toUnsignedString(Sim.random().nextLong())
			+ (suffix == null ? "" : suffix));
	}

	public static Path createTempDirectory(String prefix, FileAttribute<?>... how)
			throws IOException {
		return on() ? createDirectory(temporary(null, prefix, null))
			: Files.createTempDirectory(prefix, how);
	}

	public static Path createTempFile(String prefix, String suffix, FileAttribute<?>... how)
			throws IOException {
		return on() ? createFile(temporary(null, prefix, suffix == null ? ".tmp" : suffix))
			: Files.createTempFile(prefix, suffix, how);
	}

	public static Path createTempFile(Path dir, String prefix, String suffix,
			FileAttribute<?>... how) throws IOException {
		return on() ? createFile(temporary(dir.toString(), prefix,
			suffix == null ? ".tmp" : suffix)) : Files.createTempFile(dir, prefix, suffix, how);
	}

	public static void delete(Path p) throws IOException {
		if (!on()) {
			Files.delete(p);
			return;
		}
		Disk.Inode i = there(p);
		String path = OpenFiles.path(p);
		if (i.directory && !OpenFiles.disk().children(path, false).isEmpty())
			throw new DirectoryNotEmptyException(p.toString());
		OpenFiles.disk().delete(path);
	}

	public static boolean deleteIfExists(Path p) throws IOException {
		if (!on())
			return Files.deleteIfExists(p);
		if (find(p) == null)
			return false;
		delete(p);
		return true;
	}

	private static void makeRoom(Path to, CopyOption... how) throws IOException {
		List<CopyOption> o = Arrays.asList(how);
		if (find(to) != null && !o.contains(StandardCopyOption.REPLACE_EXISTING)
				&& !o.contains(StandardCopyOption.ATOMIC_MOVE))
			throw new FileAlreadyExistsException(to.toString());
		OpenFiles.parent(OpenFiles.path(to));
	}

	public static Path move(Path from, Path to, CopyOption... how) throws IOException {
		if (!on())
			return Files.move(from, to, how);
		there(from);
		makeRoom(to, how);
		OpenFiles.disk().rename(OpenFiles.path(from), OpenFiles.path(to));
		return to;
	}

	public static Path copy(Path from, Path to, CopyOption... how) throws IOException {
		if (!on())
			return Files.copy(from, to, how);
		Disk.Inode i = there(from);
		makeRoom(to, how);
		if (i.directory)
			return createDirectory(to);
		return write(to, i.all());
	}

	public static Stream<Path> list(Path p) throws IOException {
		if (!on())
			return Files.list(p);
		if (!there(p).directory)
			throw new NotDirectoryException(p.toString());
		List<Path> l = new ArrayList<>();
		for (String s : OpenFiles.disk().children(OpenFiles.path(p), false))
			l.add(p.resolve(s.substring(s.lastIndexOf('/') + 1)));
		return l.stream();
	}

	public static Stream<Path> walk(Path p, java.nio.file.FileVisitOption... how)
			throws IOException {
		if (!on())
			return Files.walk(p, how);
		there(p);
		List<Path> l = new ArrayList<>();
		l.add(p);
		String root = OpenFiles.path(p);
		for (String s : OpenFiles.disk().children(root, true))
			l.add(p.resolve(s.substring(root.equals("/") ? 1 : root.length() + 1)));
		return l.stream();
	}
}
