// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate.read;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.objectweb.asm.ClassReader;

/**
 * Jars and folders, read whole. The first entry of a name wins, as on a class path. Of a
 * multi-release jar it has what this JVM would load, unless another version is requested.
 */
public final class ClassPath {
	private final Map<String, byte[]> entries = new LinkedHashMap<>();
	private final List<String> rules = new ArrayList<>();
	private final List<Path> paths = new ArrayList<>();
	/** Entry name to the jar or folder that it is from. */
	private final Map<String, Path> origins = new HashMap<>();

	private final List<String> folders = new ArrayList<>();
	private final Runtime.Version version;

	public ClassPath(List<Path> paths) {
		this(paths, Runtime.version());
	}

	/** All entries as they are stored, including those for later versions of Java. */
	public static ClassPath stored(List<Path> paths) {
		return new ClassPath(paths, JarFile.baseVersion());
	}

	/** The entries that this version of Java reads; 0: as they are stored. */
	public static ClassPath of(List<Path> paths, int release) {
		return release == 0 ? stored(paths)
			: new ClassPath(paths, Runtime.Version.parse(String.valueOf(release)));
	}

	private ClassPath(List<Path> paths, Runtime.Version version) {
		this.version = version;
		for (Path p : paths) {
			this.paths.add(p);
			try {
				if (Files.isDirectory(p))
					folder(p);
				else if (Files.exists(p))
					jar(p);
			} catch (IOException e) {
				throw new UncheckedIOException(p + ": " + e.getMessage(), e);
			}
		}
	}

	public static final String RULES = "META-INF/pico/replace";

	private void put(Path from, String name, byte[] b) {
		if (name.equals(RULES))
			rules.add(new String(b, StandardCharsets.UTF_8));
		if (entries.putIfAbsent(name, b) == null)
			origins.put(name, from);
	}

	private void folder(Path p) throws IOException {
		try (Stream<Path> s = Files.walk(p)) {
			for (Path f : (Iterable<Path>) s.filter(Files::isRegularFile)::iterator)
				put(p, p.relativize(f).toString().replace('\\', '/'), Files.readAllBytes(f));
		}
	}

	private void jar(Path p) throws IOException {
		try (JarFile z = new JarFile(p.toFile(), false, ZipFile.OPEN_READ, version);
				Stream<JarEntry> s = version == JarFile.baseVersion() ? z.stream()
					: z.versionedStream()) {
			for (JarEntry x : (Iterable<JarEntry>) s::iterator) {
				if (x.isDirectory()) {
					folders.add(x.getName());
					continue;
				}
				try (InputStream in = z.getInputStream(x)) {
					put(p, x.getName(), in.readAllBytes());
				}
			}
		}
	}

	/**
	 * These and the jars named in manifests (Class-Path), each after the jar that names it, as java
	 * looks for classes.
	 */
	public static List<Path> whole(List<Path> paths) {
		Set<Path> all = new LinkedHashSet<>();
		paths.forEach(p -> follow(p, all));
		return new ArrayList<>(all);
	}

	private static void follow(Path p, Set<Path> all) {
		if (!all.add(p) || !Files.isRegularFile(p))
			return;
		for (String x : named(p).trim().split("\\s+"))
			try {
				if (!x.isEmpty())
					follow(Path.of(p.toUri().resolve(x)), all);
			} catch (IllegalArgumentException | FileSystemNotFoundException e) {
				/* Like java, skips what does not name a file. */
				continue;
			}
	}

	/** The Class-Path of a jar; empty if there is none. */
	private static String named(Path p) {
		try (JarFile j = new JarFile(p.toFile(), false)) {
			String s = j.getManifest() == null ? null
				: j.getManifest().getMainAttributes().getValue(Attributes.Name.CLASS_PATH);
			return s == null ? "" : s;
		} catch (IOException e) {
			return "";
		}
	}

	/** Entry name to content; classes and resources. */
	public Map<String, byte[]> entries() {
		return entries;
	}

	/** The entries of jars that are folders: name/ */
	public List<String> folders() {
		return folders;
	}

	/** The jars and folders, in order. */
	public List<Path> paths() {
		return paths;
	}

	/**
	 * The jar or folder that a class (name with slashes) is from, or null. A class that the
	 * translator added is from where its original is.
	 */
	public Path origin(String name) {
		Path p = origins.get(name + ".class");
		int d = name.lastIndexOf("$$");
		return p != null || d <= 0 ? p : origin(name.substring(0, d));
	}

	/** The replacement rules of every library. */
	public List<String> rules() {
		return rules;
	}

	/** True for a class to translate or link with (no module or package file). */
	public static boolean isClass(String entry) {
		return entry.endsWith(".class") && !entry.endsWith("module-info.class")
			&& !entry.endsWith("package-info.class") && !entry.startsWith("META-INF/");
	}

	/** As above, and the JVM finds the class under this name. */
	public static boolean isClass(String entry, byte[] b) {
		return isClass(entry) && b.length > 4 && (b[0] & 255) == 0xca && (b[1] & 255) == 0xfe
			&& entry.equals(new ClassReader(b).getClassName() + ".class");
	}

	/** True for classes of the pico packages, except those of the two programs there. */
	public static boolean isPico(String entry) {
		return entry.startsWith(PICO) && !entry.startsWith(PICO + "piranha/")
			&& !entry.startsWith(PICO + "durable/spring/");
	}

	/** True for the translator's own classes, which no program uses. */
	public static boolean isTool(String entry) {
		return entry.startsWith(PICO + "translate/") || entry.startsWith(PICO + "cli/")
			|| entry.startsWith(PICO + "shaded/");
	}

	private static final String PICO = "org/ukthreads/pico/";
}
