// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ukthreads.pico.translate.Classes;
import org.ukthreads.pico.translate.Stored;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.read.Nested;

/**
 * Gets the translated classes of a program that is to run, for run, sim and the agent. They come
 * from the cache, from a translation in a separate JVM (Apart), or from one in this process.
 */
final class Translations {
	private Translations() {}

	/**
	 * path is the whole class path, with the jars that its manifests name. Null: a program that is
	 * to run as it is (First).
	 */
	static Classes of(List<Path> path, Arguments a) throws IOException {
		Cache cache = a.cache ? Cache.open() : null;
		String key = null;
		if (cache != null) {
			key = cache.key(path, a.words());
			Stored s = a.report ? null : cache.find(key);
			boolean large = s == null && !a.report && Apart.isLarge(path);
			if (large && First.isFor(path, a)) {
				s = First.soon(cache, key, path, a);
				if (s == null && First.isAtWork(cache, key))
					return null;
				if (s == null)
					s = cache.find(key);
			}
			if (large && s == null && Apart.kept(path, a))
				s = cache.find(key);
			if (s != null)
				/* A simulation loads the program again for each seed. */
				return Classes.of(s, s.isFlat() ? path : Nested.unfold(path), a.sim);
		}
		return made(path, a, cache, key);
	}

	/** Translates into the cache only. */
	static void keep(Arguments a) throws IOException {
		List<Path> path = ClassPath.whole(a.path());
		Cache cache = Cache.open();
		made(path, a, cache, cache.key(path, a.words()));
	}

	/** Does the same in the background, unless another process does it. */
	static void keepLater(Arguments a) throws IOException {
		List<Path> path = ClassPath.whole(a.path());
		Cache cache = Cache.open();
		String key = cache.key(path, a.words());
		try (FileChannel c = cache.locked(key)) {
			if (c == null || cache.find(key) != null)
				return;
			made(path, a, cache, key);
			Files.deleteIfExists(cache.file(key, ".log"));
		}
	}

	private static Classes made(List<Path> path, Arguments a, Cache cache, String key)
			throws IOException {
		List<Path> unfolded = Nested.unfold(path);
		ClassPath program = new ClassPath(unfolded);
		Translator.Options o = a.options();
		if (Progress.isWanted())
			o.progress = new Progress();
		Translator t = Translator.of(program, Main.libraries(List.of()), o);
		Map<String, byte[]> out = t.run();
		o.progress.accept(null);
		if (a.report)
			System.err.print(t.report().text(true));
		if (cache != null) {
			Map<String, byte[]> changed = new TreeMap<>();
			out.forEach((n, b) -> {
				if (program.entries().get(n + ".class") != b)
					changed.put(n, b);
			});
			cache.store(key, unfolded.equals(path), changed, t.rules(), t.locks());
		}
		return Classes.of(out, program, t.dynamic());
	}
}
