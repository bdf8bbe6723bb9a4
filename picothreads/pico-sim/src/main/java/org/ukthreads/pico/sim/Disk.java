// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/*
 * The disk of a node, in memory: the names and the files now, and what of them would survive a
 * power failure.
 *
 *   write            changes the file, and is noted until the file is synced
 *   create, rename,  change the names at once, and are noted in order until any file is synced (a
 *   delete           journaling file system commits its metadata then)
 *   sync             makes the content of the file, and all names, safe
 *   power failure    keeps the first few noted writes of each file (the seed draws how many, and
 *                    whether the last of them is torn), and the first few changes of names
 *
 * The simulation reads files of the machine that it runs on: it copies a file when it is first
 * opened. It never changes them.
 */
final class Disk {
	/** A file's content. */
	static final class Inode {
		byte[] bytes = new byte[0];
		int size;
		boolean directory;
		long modified;
		private byte[] safe = new byte[0];
		private final List<Write> writes = new ArrayList<>();

		private static final class Write {
			final int at;
			/** Null: this write sets the length to `at`. */
			final byte[] bytes;

			Write(int at, byte[] bytes) {
				this.at = at;
				this.bytes = bytes;
			}
		}

		int read(int at, byte[] to, int off, int len) {
			if (at >= size)
				return len == 0 ? 0 : -1;
			int n = Math.min(len, size - at);
			System.arraycopy(bytes, at, to, off, n);
			return n;
		}

		void write(int at, byte[] from, int off, int len) {
			put(at, from, off, len);
			writes.add(new Write(at, Arrays.copyOfRange(from, off, off + len)));
		}

		private void put(int at, byte[] from, int off, int len) {
			if (at + len > bytes.length)
				bytes = Arrays.copyOf(bytes, Math.max(at + len, 2 * bytes.length));
			System.arraycopy(from, off, bytes, at, len);
			size = Math.max(size, at + len);
		}

		void truncate(int length) {
			cut(length);
			writes.add(new Write(length, null));
		}

		private void cut(int length) {
			if (length > bytes.length)
				bytes = Arrays.copyOf(bytes, length);
			else if (length < size)
				Arrays.fill(bytes, length, size, (byte) 0);
			size = length;
		}

		byte[] all() {
			return Arrays.copyOf(bytes, size);
		}

		private void sync() {
			safe = all();
			writes.clear();
		}

		private void powerFailure(Random draw) {
			bytes = safe.clone();
			size = safe.length;
			int kept = writes.isEmpty() ? 0 : draw.nextInt(writes.size() + 1);
			for (int k = 0; k < kept; k++) {
				Write w = writes.get(k);
				int n = w.bytes == null ? 0 : w.bytes.length;
				if (k == kept - 1 && n > 1 && draw.nextBoolean())
					n = draw.nextInt(n);
				if (w.bytes == null)
					cut(w.at);
				else
					put(w.at, w.bytes, 0, n);
			}
			sync();
		}
	}

	private static final class Change {
		final String name;
		/** Null: the name was deleted. */
		final Inode now;
		/** The old name; null: this is no rename. */
		final String before;

		Change(String name, Inode now, String before) {
			this.name = name;
			this.now = now;
			this.before = before;
		}

		void make(Map<String, Inode> names) {
			if (before != null)
				names.put(before, null);
			names.put(name, now);
		}
	}

	private final Node node;
	/** By absolute path. Null: deleted, although the machine may have such a file. */
	private final TreeMap<String, Inode> names = new TreeMap<>();
	private TreeMap<String, Inode> safe = new TreeMap<>();
	private final List<Change> changes = new ArrayList<>();

	Disk(Node node) {
		this.node = node;
	}

	private void change(String name, Inode now, String before) {
		Change c = new Change(name, now, before);
		c.make(names);
		changes.add(c);
	}

	/** Returns null if there is no such file. */
	Inode find(String path) {
		Inode i = names.get(path);
		if (i != null || names.containsKey(path))
			return i;
		i = Real.load(path);
		if (i != null) {
			i.sync();
			names.put(path, i);
			safe.put(path, i);
		}
		return i;
	}

	Inode create(String path, boolean directory) {
		Inode i = new Inode();
		i.directory = directory;
		touch(i);
		change(path, i, null);
		return i;
	}

	void touch(Inode i) {
		i.modified = node.run.millis();
	}

	void delete(String path) {
		change(path, null, null);
	}

	/**
	 * Renames in one step, and replaces what has the new name. A folder takes all its content
	 * along.
	 */
	void rename(String from, String to) {
		List<String> below = new ArrayList<>();
		for (String n : children(from, true))
			below.add(n);
		change(to, names.get(from), from);
		for (String n : below)
			change(to + n.substring(from.length()), find(n), n);
	}

	/**
	 * Returns the absolute paths in a folder, sorted. With deep, also those in folders below it.
	 */
	Set<String> children(String path, boolean deep) {
		String dir = path.equals("/") ? "/" : path + "/";
		java.util.TreeSet<String> l = new java.util.TreeSet<>();
		Inode self = find(path);
		if (self != null && self.directory && !changedHere(path))
			for (String n : Real.list(path))
				if (!names.containsKey(dir + n) || names.get(dir + n) != null)
					l.add(dir + n);
		for (Map.Entry<String, Inode> e : names.tailMap(dir, false).entrySet()) {
			if (!e.getKey().startsWith(dir))
				break;
			if (e.getValue() != null
					&& (deep || e.getKey().indexOf('/', dir.length()) < 0))
				l.add(e.getKey());
		}
		return l;
	}

	/** True if the folder was made in the simulation. */
	private boolean changedHere(String path) {
		return !Real.isDirectory(path);
	}

	void sync(Inode i) {
		i.sync();
		for (Change c : changes)
			c.make(safe);
		changes.clear();
	}

	void powerFailure(Random draw) {
		int kept = changes.isEmpty() ? 0 : draw.nextInt(changes.size() + 1);
		Map<Inode, Boolean> all = new IdentityHashMap<>();
		List<Inode> order = new ArrayList<>();
		for (int k = 0; k < kept; k++)
			changes.get(k).make(safe);
		changes.clear();
		for (Inode i : safe.values())
			if (i != null && all.put(i, true) == null)
				order.add(i);
		for (Inode i : order)
			i.powerFailure(draw);
		names.clear();
		names.putAll(safe);
		safe = new TreeMap<>(names);
	}
}
