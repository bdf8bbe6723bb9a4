// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.read;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/*
 * A jar with jars in it, as Spring Boot makes them, or a war:
 *
 *   META-INF/MANIFEST.MF     Main-Class: the launcher, Start-Class: the program
 *   org/.../JarLauncher      puts what follows on a class path
 *   BOOT-INF/classes/        (WEB-INF)
 *   BOOT-INF/lib/x.jar       stored, in the order of the class path
 *
 * Its parts are written to files, which are deleted when this JVM ends. The result is an ordinary
 * class path, and no other code needs to know the difference.
 */
public final class Nested {
	private static final Pattern CLASSES = Pattern.compile("(BOOT|WEB)-INF/classes/");
	private static final Pattern LIBRARY
		= Pattern.compile("(BOOT-INF/lib|WEB-INF/lib|WEB-INF/lib-provided)/[^/]+\\.jar");

	private final Path jar;
	private final Map<String, Path> parts = new LinkedHashMap<>();
	private final Map<String, String> comments = new LinkedHashMap<>();

	/** Unfolds a jar; a folder, and most jars, have no parts. */
	public Nested(Path jar) {
		this.jar = jar;
		if (!Files.isRegularFile(jar))
			return;
		try (JarFile j = new JarFile(jar.toFile(), false)) {
			unfold(j);
		} catch (IOException e) {
			throw new UncheckedIOException(jar + ": " + e.getMessage(), e);
		}
	}

	private void unfold(JarFile j) throws IOException {
		List<JarEntry> libraries = new ArrayList<>();
		Map<String, List<JarEntry>> classes = new LinkedHashMap<>();
		for (JarEntry x : (Iterable<JarEntry>) j.stream()::iterator) {
			var m = CLASSES.matcher(x.getName());
			if (m.lookingAt())
				classes.computeIfAbsent(m.group(), k -> new ArrayList<>()).add(x);
			else if (LIBRARY.matcher(x.getName()).matches())
				libraries.add(x);
		}
		if (libraries.isEmpty() && classes.isEmpty())
			return;
		Path dir = Files.createTempDirectory("pico");
		dir.toFile().deleteOnExit();
		for (Map.Entry<String, List<JarEntry>> e : classes.entrySet())
			parts.put(e.getKey(), classes(j, e.getKey(), e.getValue(), dir));
		for (JarEntry x : libraries) {
			Path p = dir.resolve(x.getName().replace('/', '-'));
			p.toFile().deleteOnExit();
			try (InputStream in = j.getInputStream(x)) {
				Files.copy(in, p);
			}
			parts.put(x.getName(), p);
			if (x.getComment() != null)
				comments.put(x.getName(), x.getComment());
		}
	}

	/**
	 * Makes a jar of the classes. Its manifest is the outer one, for the versions of the packages.
	 * It has entries for folders, because code that scans a package looks for its folder first.
	 */
	private static Path classes(JarFile j, String root, List<JarEntry> all, Path dir)
			throws IOException {
		Path p = dir.resolve(root.replace('/', '-') + ".jar");
		p.toFile().deleteOnExit();
		try (OutputStream o = Files.newOutputStream(p);
				ZipOutputStream z = new ZipOutputStream(o)) {
			Manifest m = j.getManifest();
			if (m != null) {
				m = new Manifest(m);
				m.getMainAttributes().remove(Attributes.Name.CLASS_PATH);
				z.putNextEntry(new ZipEntry(JarFile.MANIFEST_NAME));
				m.write(z);
			}
			for (JarEntry x : all) {
				String name = x.getName().substring(root.length());
				if (name.isEmpty() || m != null && name.equals(JarFile.MANIFEST_NAME))
					continue;
				z.putNextEntry(new ZipEntry(name));
				try (InputStream in = j.getInputStream(x)) {
					in.transferTo(z);
				}
			}
		}
		return p;
	}

	public Path jar() {
		return jar;
	}

	/** Entry of the jar (BOOT-INF/classes/, BOOT-INF/lib/x.jar) to the file of that part. */
	public Map<String, Path> parts() {
		return parts;
	}

	/** The comment of a library's entry (Spring Boot's UNPACK:), or null. */
	public String comment(String entry) {
		return comments.get(entry);
	}

	/** The order in which a launcher looks for classes: the jar, then its parts. */
	public List<Path> paths() {
		List<Path> all = new ArrayList<>();
		all.add(jar);
		all.addAll(parts.values());
		return all;
	}

	/** A class path with the parts of each jar after it. */
	public static List<Path> unfold(List<Path> paths) {
		List<Path> all = new ArrayList<>();
		paths.forEach(p -> all.addAll(new Nested(p).paths()));
		return all;
	}

	/**
	 * The program's main class: the Start-Class if `main` is a launcher, which would make a loader.
	 */
	public static String start(List<Path> paths, String main) {
		for (Path p : paths) {
			if (!Files.isRegularFile(p))
				continue;
			try (JarFile j = new JarFile(p.toFile(), false)) {
				Attributes a = j.getManifest() == null ? new Attributes()
					: j.getManifest().getMainAttributes();
				String start = a.getValue("Start-Class");
				if (start != null && main.equals(a.getValue(Attributes.Name.MAIN_CLASS)))
					return start.trim();
			} catch (IOException e) {
				throw new UncheckedIOException(p + ": " + e.getMessage(), e);
			}
		}
		return main;
	}
}
