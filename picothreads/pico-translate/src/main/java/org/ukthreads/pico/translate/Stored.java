// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32;
import java.util.zip.CheckedOutputStream;

/*
 * One translation in a file: the classes that the translation changed or added.
 *
 *   int    MAGIC                       numbers as DataOutput writes them
 *   int    CRC of all that follows
 *   long   length of the file
 *   int    1: no jar of the class path has jars in it
 *   text   rules                       text: int length, UTF-8
 *   int    n, then n texts             types whose locks are ours
 *   int    n, then n of: text name, int offset behind the index, int length
 *   ...    the class files
 *
 * The file is mapped, so a run touches only the classes that it loads. A file of another length
 * or sum is treated as missing.
 */
public final class Stored {
	private static final int MAGIC = 0x7069636f;
	private static final int HEAD = 16;
	private final ByteBuffer file;
	private final boolean flat;
	private final String rules;
	private final List<String> locks = new ArrayList<>();
	/** Name to offset in the upper half, length in the lower. */
	private final Map<String, Long> index;
	private final int data;

	private Stored(ByteBuffer b) {
		file = b;
		b.position(HEAD);
		flat = b.getInt() == 1;
		rules = text(b);
		for (int n = b.getInt(); n > 0; n--)
			locks.add(text(b));
		int n = b.getInt();
		index = new HashMap<>(2 * n);
		for (; n > 0; n--) {
			String name = text(b);
			index.put(name, (long) b.getInt() << 32 | b.getInt());
		}
		data = b.position();
	}

	private static String text(ByteBuffer b) {
		byte[] t = new byte[b.getInt()];
		b.get(t);
		return new String(t, StandardCharsets.UTF_8);
	}

	/** Returns null if there is no complete file. */
	public static Stored read(Path p) {
		try (FileChannel c = FileChannel.open(p)) {
			long n = c.size();
			if (n < HEAD || n > Integer.MAX_VALUE)
				return null;
			ByteBuffer b = c.map(FileChannel.MapMode.READ_ONLY, 0, n);
			if (b.getInt(0) != MAGIC || b.getLong(8) != n)
				return null;
			CRC32 sum = new CRC32();
			b.position(8);
			sum.update(b);
			return (int) sum.getValue() != b.getInt(4) ? null : new Stored(b);
		} catch (IOException | RuntimeException e) {
			return null;
		}
	}

	/** Writes a translation. The file is complete only when this returns. */
	public static void write(Path to, boolean flat, Map<String, byte[]> classes, String rules,
			Collection<String> locks) throws IOException {
		ByteArrayOutputStream head = new ByteArrayOutputStream();
		DataOutputStream h = new DataOutputStream(head);
		h.writeInt(flat ? 1 : 0);
		text(h, rules);
		h.writeInt(locks.size());
		for (String l : locks)
			text(h, l);
		h.writeInt(classes.size());
		int at = 0;
		for (Map.Entry<String, byte[]> e : classes.entrySet()) {
			text(h, e.getKey());
			h.writeInt(at);
			h.writeInt(e.getValue().length);
			at = Math.addExact(at, e.getValue().length);
		}
		long n = (long) HEAD + head.size() + at;
		CheckedOutputStream sum = new CheckedOutputStream(OutputStream.nullOutputStream(),
			new CRC32());
		body(new DataOutputStream(sum), n, head, classes);
		try (OutputStream o = Files.newOutputStream(to);
				DataOutputStream d = new DataOutputStream(new BufferedOutputStream(o, 1 << 16))) {
			d.writeInt(MAGIC);
			d.writeInt((int) sum.getChecksum().getValue());
			body(d, n, head, classes);
		}
	}

	private static void body(DataOutputStream d, long n, ByteArrayOutputStream head,
			Map<String, byte[]> classes) throws IOException {
		d.writeLong(n);
		head.writeTo(d);
		for (byte[] b : classes.values())
			d.write(b);
	}

	private static void text(DataOutputStream d, String s) throws IOException {
		byte[] b = s.getBytes(StandardCharsets.UTF_8);
		d.writeInt(b.length);
		d.write(b);
	}

	/** True if the program's class path needs no unfolding (Nested). */
	public boolean isFlat() {
		return flat;
	}

	String rules() {
		return rules;
	}

	List<String> locks() {
		return locks;
	}

	Set<String> names() {
		return index.keySet();
	}

	/** The class file; null if it is not stored here. */
	ByteBuffer mapped(String name) {
		Long at = index.get(name);
		if (at == null)
			return null;
		ByteBuffer f = file.duplicate();
		int from = data + (int) (at >> 32);
		f.limit(from + at.intValue());
		f.position(from);
		return f;
	}

	byte[] get(String name) {
		ByteBuffer f = mapped(name);
		if (f == null)
			return null;
		byte[] b = new byte[f.remaining()];
		f.get(b);
		return b;
	}
}
