// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.ukthreads.pico.NeverBlocks;

/*
 * Signs records. Without the key nobody can change a record or give it another name:
 *
 *   record: content, key id (4 bytes), HMAC-SHA256 over name, 0, content, key id (32)
 *
 * The id is a part of a hash of the key. There may be several keys: the first seals, all open. To
 * replace a key, put a new one in front (rotate), seal again what is stored (Vault.reseal), and
 * remove the old one (retire).
 *
 * A key file has a line `pico-keys` and then the keys in hexadecimal, one a line, the one in use
 * first. (A file that begins otherwise is one key, byte for byte.)
 *
 * A record of an unknown key makes it check whether the key file has changed since it was read. So
 * in a store full of others' records it asks for the file's time for each, but does not read the
 * file.
 *
 * A key that is gone is not replaced by a new one: a missing file is made only if its store is
 * empty (see ready).
 */
@NeverBlocks
public final class Seal {
	private static final int MAC = 32;
	private static final int ID = 4;
	static final int SIZE = MAC + ID;
	private static final String TITLE = "pico-keys";
	/** No file system's times are coarser than this, ms. */
	private static final long GRAIN = 2_000;

	/** Null: the file does not exist yet, and is made if the store is empty. */
	private volatile Key[] keys;
	private final Path file;
	/** The file that the keys were read from: its time, size and identity. Guarded by this. */
	private String known = "";

	private static final class Key {
		final byte[] id;
		private final SecretKeySpec secret;
		private final ThreadLocal<Mac> macs = ThreadLocal.withInitial(this::mac);

		Key(byte[] secret) {
			if (secret.length < 16)
				throw new IllegalArgumentException("a secret must have at least 16 bytes");
			this.secret = new SecretKeySpec(secret, "HmacSHA256");
			id = Arrays.copyOf(mac().doFinal("pico key id".getBytes(
				StandardCharsets.US_ASCII)), ID);
		}

		private Mac mac() {
			try {
				Mac m = Mac.getInstance("HmacSHA256");
				m.init(secret);
				return m;
			} catch (GeneralSecurityException e) {
				throw new IllegalStateException(e);
			}
		}

		byte[] mac(String name, byte[] b, int n) {
			Mac m = macs.get();
			m.update(name.getBytes(StandardCharsets.UTF_8));
			m.update((byte) 0);
			m.update(b, 0, n);
			return m.doFinal();
		}
	}

	/** @param secret 16 bytes or more */
	public Seal(byte[] secret) {
		this(secret, new byte[0][]);
	}

	/** Seals with the first key; opens what any of them has sealed. */
	public Seal(byte[] secret, byte[]... older) {
		file = null;
		keys = new Key[1 + older.length];
		keys[0] = new Key(secret);
		for (int k = 0; k < older.length; k++)
			keys[k + 1] = new Key(older[k]);
	}

	private Seal(Path file) throws IOException {
		this.file = file;
		if (Files.exists(file, LinkOption.NOFOLLOW_LINKS))
			keys = read(file);
	}

	/**
	 * Uses the keys in a file. If the file does not exist, the vault makes it, with a random key,
	 * when it finds its store empty. Otherwise the vault refuses, because no key could open what is
	 * stored.
	 */
	public static Seal file(Path f) throws IOException {
		return new Seal(f);
	}

	/**
	 * Puts a new key in front of those in the file. Every vault must use it from now on: a vault
	 * that has the file reads it again when it meets an unknown key.
	 */
	public static Seal rotate(Path f) throws IOException {
		return change(f, lines -> lines.add(1, hex(random())));
	}

	/** Removes all keys but the first: what the others sealed is refused from then on. */
	public static Seal retire(Path f) throws IOException {
		return change(f, lines -> lines.subList(2, lines.size()).clear());
	}

	/*
	 * Changes happen one after the other, in this process and in others. Otherwise the key of one
	 * of them would be lost, and with it what it has sealed. The lock is a file of its own,
	 * FILE.lock, which stays, because the key file is replaced at each change.
	 */
	private static synchronized Seal change(Path f, Consumer<List<String>> how) throws IOException {
		lines(f);   /* throws if there is no file */
		try (FileChannel c = FileChannel.open(f.resolveSibling(f.getFileName() + ".lock"),
				StandardOpenOption.CREATE, StandardOpenOption.WRITE);
				FileLock lock = c.lock()) {
			List<String> lines = lines(f);
			how.accept(lines);
			write(f, lines, true);
		}
		return new Seal(f);
	}

	/** Returns the ids of the keys in hexadecimal; the first key seals. */
	public List<String> ids() {
		List<String> l = new ArrayList<>();
		for (Key k : keys())
			l.add(hex(k.id));
		return l;
	}

	/* --- the file --- */

	private static byte[] random() {
		byte[] b = new byte[32];
		new SecureRandom().nextBytes(b);
		return b;
	}

	private static List<String> lines(Path f) throws IOException {
		byte[] b = Files.readAllBytes(f);
		String s = new String(b, StandardCharsets.ISO_8859_1);
		if (s.startsWith(TITLE)) {
			List<String> l = new ArrayList<>(Arrays.asList(s.trim().split("\\s+")));
			if (l.size() > 1)
				return l;
			throw new IOException(f + ": contains no key");
		}
		return new ArrayList<>(Arrays.asList(TITLE, hex(b)));
	}

	private static Key[] read(Path f) throws IOException {
		List<String> l = lines(f);
		Key[] ks = new Key[l.size() - 1];
		try {
			for (int k = 0; k < ks.length; k++)
				ks[k] = new Key(bytes(l.get(k + 1)));
		} catch (IllegalArgumentException e) {
			throw new IOException(f + ": " + e.getMessage(), e);
		}
		return ks;
	}

	private static void write(Path f, List<String> lines, boolean replace) throws IOException {
		Path dir = FileStore.make(f.toAbsolutePath().getParent(), true);
		/*
		 * createTempFile makes a file that only its owner can open, where files have owners.
		 * (Asking the java.nio FileStore about that fails in a chroot whose root is not a mount
		 * point.)
		 */
		Path tmp = Files.createTempFile(dir, "key", null);
		Files.write(tmp, String.join("\n", lines).concat("\n").getBytes(
			StandardCharsets.US_ASCII), StandardOpenOption.SYNC);
		if (replace) {
			Files.move(tmp, f, StandardCopyOption.ATOMIC_MOVE,
				StandardCopyOption.REPLACE_EXISTING);
		} else {
			try {
				Files.createLink(f, tmp);
			} catch (FileAlreadyExistsException e) {
				/* Another process was first: its key is used. */
			}
			Files.delete(tmp);
		}
		/* A record that this key signs may be synced next: the key must be on disk before it. */
		FileStore.syncFolder(dir);
	}

	private static String hex(byte[] b) {
		StringBuilder s = new StringBuilder();
		for (byte x : b)
			s.append(Character.forDigit(x >> 4 & 15, 16)).append(Character.forDigit(x & 15, 16));
		return s.toString();
	}

	private static byte[] bytes(String hex) {
		if (hex.length() % 2 != 0)
			throw new IllegalArgumentException("a key is cut short");
		byte[] b = new byte[hex.length() / 2];
		for (int k = 0; k < b.length; k++)
			try {
				b[k] = (byte) Integer.parseInt(hex.substring(2 * k, 2 * k + 2), 16);
			} catch (NumberFormatException e) {
				throw new IllegalArgumentException("a key is not hexadecimal", e);
			}
		return b;
	}

	/* --- records --- */

	boolean isReady() {
		return keys != null;
	}

	/**
	 * Called when the store is open.
	 *
	 * @param empty true: the store is empty, so that a missing key file may be made
	 */
	void ready(boolean empty) throws IOException {
		if (keys != null)
			return;
		if (!empty && !Files.exists(file, LinkOption.NOFOLLOW_LINKS))
			throw new DurableException("the key file " + file + " is gone, and the store holds"
				+ " records that its key has sealed. Put it back: a new key cannot open them");
		if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS))
			write(file, Arrays.asList(TITLE, hex(random())), false);
		keys = read(file);
	}

	private Key[] keys() {
		if (keys == null) {
			try {
				/* Used without a vault, so there is no store whose key could be missing. */
				ready(true);
			} catch (IOException e) {
				throw new DurableException(file + ": " + e, e);
			}
		}
		return keys;
	}

	byte[] close(String name, Bytes b) {
		Key k = keys()[0];
		b.raw(k.id, ID);
		byte[] m = k.mac(name, b.b, b.n);
		b.raw(m, MAC);
		return b.done();
	}

	/** Returns the record, sealed with the key in use. */
	byte[] again(String name, byte[] b) {
		Bytes x = open(name, b);
		x.n = x.b.length;
		return close(name, x);
	}

	boolean opens(String name, byte[] b) {
		try {
			open(name, b);
			return true;
		} catch (DurableException e) {
			return false;
		}
	}

	/** Returns true if it was sealed with the key in use. */
	boolean isCurrent(byte[] b) {
		int n = b.length - SIZE;
		return n >= 0 && Arrays.equals(Arrays.copyOfRange(b, n, n + ID), keys()[0].id);
	}

	/** Returns the record for reading. Throws a DurableException if the signature is wrong. */
	Bytes open(String name, byte[] b) {
		int n = b.length - SIZE;
		if (n < 0)
			throw new DurableException(name + ": the signature is wrong");
		byte[] id = Arrays.copyOfRange(b, n, n + ID);
		Key k = find(id);
		if (k == null) {
			refresh();
			k = find(id);
		}
		if (k == null)
			throw new DurableException(name + ": the signature is wrong: it names the key "
				+ hex(id) + ", and the keys here are " + ids());
		if (!MessageDigest.isEqual(k.mac(name, b, n + ID), Arrays.copyOfRange(b, n + ID, b.length)))
			throw new DurableException(name + ": the signature is wrong");
		return new Bytes(Arrays.copyOf(b, n), 0);
	}

	private Key find(byte[] id) {
		for (Key k : keys())
			if (Arrays.equals(id, k.id))
				return k;
		return null;
	}

	/** Reads the file again if it has changed since it was read. */
	private synchronized void refresh() {
		if (file == null)
			return;
		try {
			BasicFileAttributes a = Files.readAttributes(file, BasicFileAttributes.class);
			String now = a.lastModifiedTime() + " " + a.size() + " " + a.fileKey();
			if (now.equals(known))
				return;
			keys = read(file);
			/*
			 * A file that was changed just now may change again with the same time: read it once
			 * more.
			 */
			boolean rests = System.currentTimeMillis() - a.lastModifiedTime().toMillis() > GRAIN;
			known = rests ? now : "";
		} catch (IOException e) {
			/* It is gone or being written: the known keys stay. */
			return;
		}
	}

	/** Returns the content of a record without checking the signature, to look at it. */
	static Bytes unchecked(byte[] b) {
		return new Bytes(Arrays.copyOf(b, Math.max(0, b.length - SIZE)), 0);
	}
}
