package org.ukthreads.pico.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.ukthreads.pico.translate.read.ClassPath;

/** Writes a translated jar: the resources as they were, the classes as they are now. */
final class Jars {
	private Jars() {}

	static void write(Path out, ClassPath program, Map<String, byte[]> classes)
			throws IOException {
		Map<String, byte[]> all = new TreeMap<>();
		program.entries().forEach((n, b) -> {
			if (!isSignature(n) && !isLater(n, classes))
				all.put(n, b);
		});
		program.folders().forEach(n -> all.put(n, new byte[0]));
		classes.forEach((n, b) -> all.put(n + ".class", b));
		try (ZipOutputStream z = new ZipOutputStream(Files.newOutputStream(out))) {
			byte[] manifest = all.remove("META-INF/MANIFEST.MF");
			if (manifest != null)
				put(z, "META-INF/MANIFEST.MF", manifest);
			for (Map.Entry<String, byte[]> e : all.entrySet())
				put(z, e.getKey(), e.getValue());
		}
	}

	/** META-INF/versions/N/a/B.class: would be loaded in the place of the translated a/B. */
	private static boolean isLater(String n, Map<String, byte[]> classes) {
		return n.matches("META-INF/versions/\\d+/.*\\.class")
			&& classes.containsKey(n.replaceFirst("META-INF/versions/\\d+/", "")
				.replaceFirst("\\.class$", ""));
	}

	/** Signatures no longer hold. */
	private static boolean isSignature(String n) {
		return n.startsWith("META-INF/") && n.matches(".*\\.(SF|RSA|DSA|EC)");
	}

	private static void put(ZipOutputStream z, String name, byte[] b) throws IOException {
		ZipEntry e = new ZipEntry(name);
		e.setTime(0);
		z.putNextEntry(e);
		z.write(b);
		z.closeEntry();
	}
}
