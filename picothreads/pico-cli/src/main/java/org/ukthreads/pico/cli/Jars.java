// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.read.Nested;

/** Writes a translated jar: unchanged resources and translated classes. */
final class Jars {
	private Jars() {}

	/** Writes the jar and the jars nested in it, with their translated classes. */
	static void write(Path out, Nested in, ClassPath program, Map<String, byte[]> classes)
			throws IOException {
		Map<Path, Map<String, byte[]>> of = new HashMap<>();
		classes.forEach((n, b) -> {
			Path from = program.origin(n);
			of.computeIfAbsent(from != null ? from : in.jar(), p -> new TreeMap<>())
				.put(n + ".class", b);
		});
		Map<String, byte[]> own = of.computeIfAbsent(in.jar(), p -> new TreeMap<>());
		for (Map.Entry<String, Path> e : in.parts().entrySet()) {
			Map<String, byte[]> now = of.getOrDefault(e.getValue(), Map.of());
			if (e.getKey().endsWith("/"))
				now.forEach((n, b) -> own.put(e.getKey() + n, b));
			else
				own.put(e.getKey(), jar(e.getValue(), now));
		}
		try (OutputStream o = Files.newOutputStream(out)) {
			write(o, in.jar(), own, in);
		}
	}

	/** Writes a jar of these classes. */
	static void write(Path out, Map<String, byte[]> classes) throws IOException {
		try (ZipOutputStream z = new ZipOutputStream(Files.newOutputStream(out))) {
			for (Map.Entry<String, byte[]> e : new TreeMap<>(classes).entrySet())
				put(z, new ZipEntry(e.getKey() + ".class"), e.getValue());
		}
	}

	private static byte[] jar(Path in, Map<String, byte[]> now) throws IOException {
		ByteArrayOutputStream b = new ByteArrayOutputStream();
		write(b, in, now, null);
		return b.toByteArray();
	}

	/** Keeps the order of the entries, because a launcher depends on it. New entries come last. */
	private static void write(OutputStream out, Path in, Map<String, byte[]> now, Nested of)
			throws IOException {
		ClassPath old = ClassPath.stored(List.of(in));
		Map<String, byte[]> all = new LinkedHashMap<>();
		byte[] manifest = old.entries().get(JarFile.MANIFEST_NAME);
		if (manifest != null)
			all.put(JarFile.MANIFEST_NAME, manifest);
		old.folders().forEach(n -> all.put(n, new byte[0]));
		old.entries().forEach((n, b) -> {
			if (!isSignature(n) && !isLater(n, now))
				all.put(n, b);
		});
		all.putAll(now);
		ZipOutputStream z = new ZipOutputStream(out);
		for (Map.Entry<String, byte[]> e : all.entrySet()) {
			ZipEntry x = new ZipEntry(e.getKey());
			if (of != null && of.parts().containsKey(e.getKey()))
				stored(x, e.getValue(), of.comment(e.getKey()));
			put(z, x, e.getValue());
		}
		z.finish();
	}

	/** Stores a nested jar without compression, because launchers read it in place. */
	private static void stored(ZipEntry x, byte[] b, String comment) {
		CRC32 c = new CRC32();
		c.update(b);
		x.setMethod(ZipEntry.STORED);
		x.setSize(b.length);
		x.setCrc(c.getValue());
		x.setComment(comment);
	}

	/**
	 * True for META-INF/versions/N/a/B.class if a/B is translated: the JVM would load it instead of
	 * a/B.
	 */
	private static boolean isLater(String n, Map<String, byte[]> classes) {
		return isLater(n) && classes.containsKey(n.replaceFirst("META-INF/versions/\\d+/", ""));
	}

	static boolean isLater(String n) {
		return n.matches("META-INF/versions/\\d+/.*\\.class") && !n.endsWith("module-info.class");
	}

	/** True for a jar with signatures. */
	static boolean isSigned(Path p) throws IOException {
		if (!Files.isRegularFile(p))
			return false;
		try (JarFile j = new JarFile(p.toFile(), false)) {
			return j.stream().anyMatch(e -> isSignature(e.getName()));
		}
	}

	static boolean isSignature(String n) {
		return n.matches("(?i)META-INF/([^/]+\\.(SF|RSA|DSA|EC)|SIG-[^/]+)");
	}

	private static void put(ZipOutputStream z, ZipEntry e, byte[] b) throws IOException {
		e.setTime(0);
		z.putNextEntry(e);
		z.write(b);
		z.closeEntry();
	}
}
