// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.ukthreads.pico.NeverBlocks;

/*
 * Who does not know the key can neither change a record nor give it another name:
 *
 *   record: content, key id (4 bytes), HMAC-SHA256 over name, 0, content, key id (32)
 *
 * The id is a part of a hash of the key. There may be several keys: the first seals, all of
 * them open. So a key is replaced by putting a new one in front (rotate), sealing what is
 * stored again (Vault.reseal), and taking the old one away (retire).
 *
 * A key file: a line `pico-keys`, then the keys in hexadecimal, a line each, the first one
 * in use. (A file that begins otherwise is one key, as it is.)
 *
 * A key that is gone is not replaced by a new one: a file that is not there is made only
 * when the store that it is for is empty (see ready).
 */
@NeverBlocks
public final class Seal {
	private static final int MAC = 32;
	private static final int ID = 4;
	static final int SIZE = MAC + ID;
	private static final String TITLE = "pico-keys";

	/** Null: the file is to be made, if the store is empty. */
	private volatile Key[] keys;
	private final Path file;

	private static final class Key {
		final byte[] id;
		private final SecretKeySpec secret;
		private final ThreadLocal<Mac> macs = ThreadLocal.withInitial(this::mac);

		Key(byte[] secret) {
			if (secret.length < 16)
				throw new IllegalArgumentException("a secret of at least 16 bytes");
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

	/** Seals by the first; opens what any of them has sealed. */
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
	 * The keys in a file. If it is not there, it is made, with a random key, when the vault
	 * finds its store empty; otherwise the vault refuses: nobody could open what is stored.
	 */
	public static Seal file(Path f) throws IOException {
		return new Seal(f);
	}

	/** Puts a new key in front of those in the file. To be used by every vault from now on. */
	public static Seal rotate(Path f) throws IOException {
		List<String> lines = lines(f);
		lines.add(1, hex(random()));
		write(f, lines, true);
		return new Seal(f);
	}

	/** Takes away all but the first key: what the others sealed is refused from then on. */
	public static Seal retire(Path f) throws IOException {
		write(f, lines(f).subList(0, 2), true);
		return new Seal(f);
	}

	/** The ids of the keys, in hexadecimal; the first seals. */
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
			throw new IOException(f + ": no key in it");
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
		/* Its owner's alone, where files have owners. (Not asked of the FileStore: in a root
		 * that is no mount point, a chroot, there is none.) */
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
				/* Another process was first: its key holds. */
			}
			Files.delete(tmp);
		}
		/* A record may be synced next: what it was signed with must outlast it. */
		FileStore.syncFolder(dir);
	}

	private static String hex(byte[] b) {
		StringBuilder s = new StringBuilder();
		for (byte x : b)
			s.append(Character.forDigit(x >> 4 & 15, 16)).append(Character.forDigit(x & 15, 16));
		return s.toString();
	}

	private static byte[] bytes(String hex) {
		byte[] b = new byte[hex.length() / 2];
		for (int k = 0; k < b.length; k++)
			b[k] = (byte) Integer.parseInt(hex.substring(2 * k, 2 * k + 2), 16);
		return b;
	}

	/* --- records --- */

	boolean isReady() {
		return keys != null;
	}

	/** The store is open; is it empty? */
	void ready(boolean empty) throws IOException {
		if (keys != null)
			return;
		if (!empty && !Files.exists(file, LinkOption.NOFOLLOW_LINKS))
			throw new DurableException("the key file " + file + " is gone, and the store holds"
				+ " what was sealed by its key. Put it back; a new key could open none of it");
		if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS))
			write(file, Arrays.asList(TITLE, hex(random())), false);
		keys = read(file);
	}

	private Key[] keys() {
		if (keys == null) {
			try {
				/* Used without a vault: there is no store that it could be the key of. */
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

	/** The record, sealed by the key in use. */
	byte[] again(String name, byte[] b) {
		Bytes x = open(name, b);
		x.n = x.b.length;
		return close(name, x);
	}

	/** Was it sealed by the key in use? */
	boolean isCurrent(byte[] b) {
		int n = b.length - SIZE;
		return n >= 0 && Arrays.equals(Arrays.copyOfRange(b, n, n + ID), keys()[0].id);
	}

	/** The record, to be read; DurableException when it is not ours. */
	Bytes open(String name, byte[] b) {
		int n = b.length - SIZE;
		if (n < 0)
			throw new DurableException(name + ": the signature is wrong");
		byte[] id = Arrays.copyOfRange(b, n, n + ID);
		for (Key k : keys())
			if (Arrays.equals(id, k.id)) {
				if (!MessageDigest.isEqual(k.mac(name, b, n + ID),
						Arrays.copyOfRange(b, n + ID, b.length)))
					break;
				return new Bytes(Arrays.copyOf(b, n), 0);
			}
		for (Key k : keys())
			if (Arrays.equals(id, k.id))
				throw new DurableException(name + ": the signature is wrong");
		throw new DurableException(name + ": the signature is wrong: it names the key "
			+ hex(id) + ", and the keys here are " + ids());
	}

	/** The content of a record that nobody vouches for: to look at. */
	static Bytes unchecked(byte[] b) {
		return new Bytes(Arrays.copyOf(b, Math.max(0, b.length - SIZE)), 0);
	}
}
