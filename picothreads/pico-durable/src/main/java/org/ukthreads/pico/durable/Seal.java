package org.ukthreads.pico.durable;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.ukthreads.pico.NeverBlocks;

/** HMAC-SHA256 over a record and the key that it is stored by: 32 bytes at its end. */
@NeverBlocks
public final class Seal {
	static final int SIZE = 32;
	private final SecretKeySpec key;
	private final ThreadLocal<Mac> macs;

	public Seal(byte[] secret) {
		if (secret.length < 16)
			throw new IllegalArgumentException("a secret of at least 16 bytes");
		key = new SecretKeySpec(secret, "HmacSHA256");
		macs = ThreadLocal.withInitial(() -> {
			try {
				Mac m = Mac.getInstance("HmacSHA256");
				m.init(key);
				return m;
			} catch (GeneralSecurityException e) {
				throw new IllegalStateException(e);
			}
		});
	}

	/** The secret in a file, made with a random one if it is not there. */
	public static Seal file(Path f) throws IOException {
		if (!Files.exists(f, LinkOption.NOFOLLOW_LINKS)) {
			byte[] b = new byte[32];
			new SecureRandom().nextBytes(b);
			Path dir = FileStore.make(f.toAbsolutePath().getParent(), true);
			Path tmp = Files.createTempFile(dir, "key", null);
			Files.write(tmp, b, StandardOpenOption.SYNC);
			if (Files.getFileStore(tmp).supportsFileAttributeView("posix"))
				Files.setPosixFilePermissions(tmp,
					PosixFilePermissions.fromString("rw-------"));
			try {
				Files.createLink(f, tmp);
			} catch (FileAlreadyExistsException e) {
				/* Another process was first: its key holds. */
			}
			Files.delete(tmp);
			/* A record may be synced next: what it was signed with must outlast it. */
			FileStore.syncFolder(dir);
		}
		return new Seal(Files.readAllBytes(f));
	}

	private byte[] mac(String name, byte[] b, int n) {
		Mac m = macs.get();
		m.update(name.getBytes(java.nio.charset.StandardCharsets.UTF_8));
		m.update((byte) 0);
		m.update(b, 0, n);
		return m.doFinal();
	}

	byte[] close(String name, Bytes b) {
		byte[] m = mac(name, b.b, b.n);
		b.raw(m, SIZE);
		return b.done();
	}

	/** The record, to be read; DurableException when it is not ours. */
	Bytes open(String name, byte[] b) {
		int n = b.length - SIZE;
		if (n < 0 || !MessageDigest.isEqual(mac(name, b, n), Arrays.copyOfRange(b, n, n + SIZE)))
			throw new DurableException(name + ": the signature is wrong");
		return new Bytes(Arrays.copyOf(b, n), 0);
	}
}
