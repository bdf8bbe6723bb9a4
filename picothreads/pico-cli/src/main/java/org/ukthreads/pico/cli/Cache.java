// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.ukthreads.pico.translate.Stored;
import org.ukthreads.pico.translate.read.ClassPath;

/*
 * The translations on disk. There is one file for each. Its name is a hash of everything that the
 * translation depends on: the contents of the class path in order, the options, the translator, and
 * the version of Java.
 *
 *   KEY.pico     a translation (see Stored), written to a temporary file and renamed
 *   KEY.N.tmp    a file that is being written, or whose writer died; deleted after an hour
 *   KEY.lock     locked while a child translates in the background; KEY.log: why it failed
 *   sums         the hashes of files, with their size and time of change
 *   classes-*    archives of our own classes (bin/pico makes them)
 *
 * There are no locks. Two processes that make the same translation write the same bytes. A reader
 * has its file open and mapped, so deleting the file does not disturb it. An incomplete file counts
 * as none. If a file cannot be written (the disk is full, the folder belongs to another user), the
 * run reports it and goes on.
 */
final class Cache {
	private static final String NAME = ".pico";
	private static final long HOUR = 3_600_000;

	private final Path dir;
	private final long limit;

	/** Returns null if the cache is switched off. */
	static Cache open() {
		String dir = System.getProperty("pico.cache", variable("PICO_CACHE"));
		if ("off".equals(dir))
			return null;
		if (dir == null) {
			String base = System.getenv("XDG_CACHE_HOME");
			String home = System.getenv("HOME");
			dir = base != null && base.startsWith("/") ? base + "/pico"
				: (home != null && home.startsWith("/") ? home
				: System.getProperty("user.home")) + "/.cache/pico";
		}
		String mb = variable("PICO_CACHE_MB");
		long limit = 1024;
		if (mb != null)
			try {
				limit = Long.parseLong(mb);
			} catch (NumberFormatException e) {
				Main.fail("PICO_CACHE_MB needs a number, not " + mb);
			}
		return new Cache(Paths.get(dir), limit << 20);
	}

	private static String variable(String name) {
		String s = System.getenv(name);
		return s == null || s.isEmpty() ? null : s;
	}

	Cache(Path dir, long limit) {
		this.dir = dir;
		this.limit = limit;
	}

	/* --- keys --- */

	/** Returns the name of the translation of this class path with these options. */
	String key(List<Path> path, List<String> options) throws IOException {
		MessageDigest all = sha();
		Map<String, String> sums = sums();
		int known = sums.size();
		add(all, "java " + System.getProperty("java.runtime.version") + ' '
			+ System.getProperty("java.vm.vendor"));
		add(all, sum(Main.self(), sums));
		for (String o : options)
			add(all, "option " + o);
		for (Path p : path)
			add(all, p.toAbsolutePath() + " " + sum(p, sums));
		if (sums.size() != known)
			save(sums);
		return hex(all.digest());
	}

	private static MessageDigest sha() {
		try {
			return MessageDigest.getInstance("SHA-256");
		} catch (NoSuchAlgorithmException e) {
			throw new IllegalStateException(e);
		}
	}

	private static void add(MessageDigest d, String s) {
		d.update(s.getBytes(StandardCharsets.UTF_8));
		d.update((byte) '\n');
	}

	private static String hex(byte[] b) {
		char[] c = new char[2 * b.length];
		for (int k = 0; k < c.length; k++)
			c[k] = Character.forDigit(b[k >> 1] >> (k % 2 == 0 ? 4 : 0) & 15, 16);
		return new String(c);
	}

	/** Returns the hash of a file, or of the files in a folder that the translator reads. */
	private static String sum(Path p, Map<String, String> sums) throws IOException {
		if (Files.isDirectory(p)) {
			MessageDigest d = sha();
			List<Path> files = new ArrayList<>();
			list(p, files);
			files.sort(Comparator.naturalOrder());
			for (Path f : files)
				add(d, p.relativize(f) + " " + sum(f, sums));
			return hex(d.digest());
		}
		BasicFileAttributes a;
		try {
			a = Files.readAttributes(p, BasicFileAttributes.class);
		} catch (NoSuchFileException e) {
			return "none";
		}
		String state = p.toAbsolutePath() + "\t" + a.size() + ' '
			+ a.lastModifiedTime().to(TimeUnit.NANOSECONDS) + ' ' + a.fileKey();
		String sum = sums.get(state);
		if (sum != null)
			return sum;
		MessageDigest d = sha();
		byte[] buf = new byte[1 << 16];
		try (InputStream in = Files.newInputStream(p)) {
			for (int n; (n = in.read(buf)) >= 0;)
				d.update(buf, 0, n);
		}
		sum = hex(d.digest());
		/* A file that was written just now may change again within the same clock tick. */
		if (System.currentTimeMillis() - a.lastModifiedTime().toMillis() > 2_000)
			sums.put(state, sum);
		return sum;
	}

	private static void list(Path p, List<Path> to) throws IOException {
		try (DirectoryStream<Path> s = Files.newDirectoryStream(p)) {
			for (Path f : s)
				if (Files.isDirectory(f))
					list(f, to);
				else if (f.toString().endsWith(".class") || f.endsWith(ClassPath.RULES))
					to.add(f);
		}
	}

	private static final int MANY = 5_000;

	private Map<String, String> sums() {
		Map<String, String> m = new TreeMap<>();
		try {
			for (String l : Files.readAllLines(dir.resolve("sums"))) {
				int k = l.lastIndexOf('\t');
				if (k > 0 && l.length() == k + 1 + 64 && m.size() < MANY)
					m.put(l.substring(0, k), l.substring(k + 1));
			}
		} catch (IOException e) {
			/* The file does not exist or is not text. The hashes are computed again. */
			m.clear();
		}
		return m;
	}

	private void save(Map<String, String> sums) {
		StringBuilder b = new StringBuilder();
		sums.forEach((k, v) -> b.append(k).append('\t').append(v).append('\n'));
		try {
			Files.createDirectories(dir);
			Path t = temporary("sums");
			try {
				Files.write(t, b.toString().getBytes(StandardCharsets.UTF_8));
				Files.move(t, dir.resolve("sums"), StandardCopyOption.ATOMIC_MOVE);
			} finally {
				Files.deleteIfExists(t);
			}
		} catch (IOException e) {
			/* The next run reads the files again. */
			return;
		}
	}

	private Path temporary(String name) {
		return dir.resolve(name + '.' + ProcessHandle.current().pid() + '-'
			+ System.nanoTime() + ".tmp");
	}

	/* --- a translation in the background: see First --- */

	Path file(String key, String suffix) throws IOException {
		Files.createDirectories(dir);
		return dir.resolve(key + suffix);
	}

	/** Returns a file that is locked until it is closed; null: another process has the lock. */
	FileChannel locked(String key) throws IOException {
		FileChannel c = FileChannel.open(file(key, ".lock"), StandardOpenOption.CREATE,
			StandardOpenOption.WRITE);
		if (c.tryLock() != null)
			return c;
		c.close();
		return null;
	}

	/** True: no process has the lock. */
	boolean isFree(String key) throws IOException {
		try (FileChannel c = locked(key)) {
			return c != null;
		}
	}

	/* --- translations --- */

	/** Returns null if the translation is not in the cache. */
	Stored find(String key) {
		Path p = dir.resolve(key + NAME);
		Stored s = Files.exists(p) ? Stored.read(p) : null;
		if (s != null)
			try {
				Files.setLastModifiedTime(p, FileTime.fromMillis(System.currentTimeMillis()));
			} catch (IOException e) {
				/*
				 * Another process deleted it, or it belongs to another user. It is mapped already.
				 */
				return s;
			}
		return s;
	}

	/**
	 * Stores a translation. Then deletes the translations that were unused for longest, until the
	 * rest fits the limit.
	 */
	void store(String key, boolean flat, Map<String, byte[]> classes, String rules,
			Collection<String> locks) {
		try {
			Files.createDirectories(dir);
			Path t = temporary(key);
			try {
				Stored.write(t, flat, classes, rules, locks);
				if (Files.size(t) <= limit)
					Files.move(t, dir.resolve(key + NAME), StandardCopyOption.ATOMIC_MOVE);
			} finally {
				Files.deleteIfExists(t);
			}
			sweep(dir.resolve(key + NAME));
		} catch (IOException | ArithmeticException e) {
			System.err.println("pico: cannot store this translation in the cache: " + e);
		}
	}

	private List<Path> entries(String suffix) throws IOException {
		List<Path> l = new ArrayList<>();
		if (Files.isDirectory(dir))
			try (DirectoryStream<Path> s = Files.newDirectoryStream(dir, "*" + suffix)) {
				s.forEach(l::add);
			}
		return l;
	}

	private static long time(Path p) {
		return p.toFile().lastModified();
	}

	private void sweep(Path but) throws IOException {
		for (Path p : entries(".tmp"))
			if (System.currentTimeMillis() - time(p) > HOUR)
				Files.deleteIfExists(p);
		List<Path> all = entries(NAME);
		long size = 0;
		for (Path p : all)
			size += p.toFile().length();
		all.sort(Comparator.comparingLong(Cache::time));
		for (Path p : all) {
			if (size <= limit)
				return;
			if (p.equals(but))
				continue;
			size -= p.toFile().length();
			Files.deleteIfExists(p);
		}
	}

	/* --- pico cache --- */

	static void command(List<String> args) throws IOException {
		Cache c = open();
		String what = args.isEmpty() ? "show" : args.get(0);
		if (c == null) {
			System.out.println("{\"dir\":null,\"entries\":0,\"bytes\":0,\"limit\":0}");
			return;
		}
		switch (what) {
		case "show":
			c.show();
			break;
		case "clear":
			c.clear();
			break;
		case "dir":
			System.out.println(c.dir);
			break;
		default:
			Main.fail("pico cache [show|clear|dir]");
		}
	}

	private void show() throws IOException {
		long size = 0;
		List<Path> all = entries(NAME);
		for (Path p : all)
			size += p.toFile().length();
		System.out.println("{\"dir\":\"" + dir.toString().replace("\\", "\\\\")
			.replace("\"", "\\\"") + "\",\"entries\":" + all.size() + ",\"bytes\":" + size
			+ ",\"limit\":" + limit + "}");
	}

	private void clear() throws IOException {
		for (String s : new String[] {NAME, ".tmp", ".jsa", ".lock", ".log"})
			for (Path p : entries(s))
				Files.deleteIfExists(p);
		Files.deleteIfExists(dir.resolve("sums"));
	}
}
