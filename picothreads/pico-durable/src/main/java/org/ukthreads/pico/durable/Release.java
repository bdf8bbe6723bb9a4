// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.CodeSource;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.NeverBlocks;

/** Names the program that a class belongs to, by a hash of its jar or folder. */
@NeverBlocks
final class Release {
	private Release() {}

	static String of(Class<?> c) {
		CodeSource s = c.getProtectionDomain().getCodeSource();
		try {
			if (s != null && s.getLocation() != null
					&& s.getLocation().getProtocol().equals("file"))
				return hash(Paths.get(s.getLocation().toURI()));
		} catch (IOException | URISyntaxException | GeneralSecurityException e) {
			/* The class itself is hashed instead. */
		}
		return Long.toHexString(Freezer.taskHash(c));
	}

	private static String hash(Path p) throws IOException, GeneralSecurityException {
		List<Path> files;
		if (Files.isDirectory(p))
			try (Stream<Path> w = Files.walk(p)) {
				files = w.filter(f -> f.toString().endsWith(".class")).sorted()
					.collect(Collectors.toList());
			}
		else
			files = java.util.Collections.singletonList(p);
		MessageDigest d = MessageDigest.getInstance("SHA-256");
		byte[] b = new byte[65536];
		for (Path f : files) {
			d.update(p.relativize(f).toString().getBytes(
				java.nio.charset.StandardCharsets.UTF_8));
			try (InputStream in = Files.newInputStream(f)) {
				for (int n; (n = in.read(b)) > 0;)
					d.update(b, 0, n);
			}
		}
		byte[] h = d.digest();
		StringBuilder s = new StringBuilder();
		for (int k = 0; k < 6; k++)
			s.append(String.format("%02x", h[k]));
		return s.toString();
	}
}
