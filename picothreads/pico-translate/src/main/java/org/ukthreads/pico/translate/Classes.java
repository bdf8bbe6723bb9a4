// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.translate;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.ukthreads.pico.translate.read.ClassPath;

/** A translated program, as a PicoLoader runs it. Names of classes have slashes. */
public interface Classes {
	/** The class file, or null. */
	byte[] get(String name);

	/** As get, but without a copy; null if it is not available in this form. */
	default ByteBuffer mapped(String name) {
		return null;
	}

	/** As get, but null if the class is unchanged. */
	byte[] changed(String name);

	/** The jar or folder that the class is from, or null. */
	Path origin(String name);

	/** The program's class path. */
	List<Path> paths();

	/** Classes that the translation added, by name. */
	Map<String, byte[]> added();

	/** Translates the classes that the program makes at run time. */
	Dynamic dynamic();

	/** The result of a translator for a program that was read. */
	static Classes of(Map<String, byte[]> classes, ClassPath program, Dynamic dynamic) {
		return new Classes() {
			@Override
			public byte[] get(String name) {
				return classes.get(name);
			}

			@Override
			public byte[] changed(String name) {
				return classes.get(name);
			}

			@Override
			public Path origin(String name) {
				return program.origin(name);
			}

			@Override
			public List<Path> paths() {
				return program.paths();
			}

			@Override
			public Map<String, byte[]> added() {
				Map<String, byte[]> m = new HashMap<>(classes);
				m.keySet().removeIf(n -> program.entries().containsKey(n + ".class"));
				return m;
			}

			@Override
			public Dynamic dynamic() {
				return dynamic;
			}
		};
	}

	/**
	 * The result of an earlier run: the classes that it changed, and the paths of the others.
	 *
	 * @param often each class is requested repeatedly: it is read once and kept
	 */
	static Classes of(Stored stored, List<Path> paths, boolean often) {
		Places places = new Places(paths);
		Dynamic dynamic = new Dynamic(List.of(stored.rules()), Set.copyOf(stored.locks()));
		Map<String, Optional<byte[]>> known = new ConcurrentHashMap<>();
		return new Classes() {
			@Override
			public byte[] get(String name) {
				return !often ? find(name) : known.computeIfAbsent(name,
					n -> Optional.ofNullable(find(n))).orElse(null);
			}

			@Override
			public ByteBuffer mapped(String name) {
				return stored.mapped(name);
			}

			private byte[] find(String name) {
				byte[] b = stored.get(name);
				return b != null || ClassPath.isPico(name) ? b : places.get(name + ".class");
			}

			@Override
			public byte[] changed(String name) {
				return stored.get(name);
			}

			@Override
			public Path origin(String name) {
				Path p = places.of(name + ".class");
				int d = name.lastIndexOf("$$");
				return p != null || d <= 0 ? p : origin(name.substring(0, d));
			}

			@Override
			public List<Path> paths() {
				return paths;
			}

			@Override
			public Map<String, byte[]> added() {
				Map<String, byte[]> m = new HashMap<>();
				for (String n : stored.names())
					if (places.of(n + ".class") == null)
						m.put(n, stored.get(n));
				return m;
			}

			@Override
			public Dynamic dynamic() {
				return dynamic;
			}
		};
	}
}
