// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.ukthreads.pico.translate.Stored;

/*
 * The first start of a large program does not wait for its translation:
 *
 *   not in the cache --> a child translates (Apart), and run waits for a second (--wait)
 *       in time   --> the program runs translated
 *       later     --> it runs as it is, on the JVM's threads, which one line on stderr says;
 *                     the child goes on, also when the program has ended
 *   next start: in the cache, and translated; or the child is still at work, and it runs as it is;
 *       or the child has failed, and run waits for another one, so that the user sees why
 *
 * KEY.lock in the cache is locked by the child at work. KEY.log has what a failed one has printed.
 *
 * A program that uses our classes cannot run as it is: run waits for its translation. So do sim and
 * the agent.
 */
final class First {
	private static final String OURS = "org/ukthreads/pico/";

	/** Waits for the child; null before there is one. */
	private static Thread waiter;

	private First() {}

	/**
	 * Has a large program translated, and waits a little. Returns what is in the cache then, or
	 * null.
	 */
	static Stored soon(Cache cache, String key, List<Path> path, Arguments a) throws IOException {
		Path log = cache.file(key, ".log");
		if (cache.isFree(key) && Files.exists(log) && Files.size(log) > 0) {
			System.err.println("pico: the translation in the background failed (" + log
				+ "); this start waits for it");
			Files.delete(log);
			return null;
		}
		waiter = new Thread(() -> Apart.later(path, a, log.toFile()), "pico-first");
		waiter.setDaemon(true);
		waiter.start();
		try {
			waiter.join(Math.max(1, 1000 * a.wait));
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
		return cache.find(key);
	}

	/** True: a child is at work. */
	static boolean isAtWork(Cache cache, String key) throws IOException {
		return waiter != null && waiter.isAlive() || !cache.isFree(key);
	}

	/** Runs main as the java command does. */
	static void run(List<Path> path, String main, Arguments a) throws Exception {
		Method appender = appender();
		for (Path p : path)
			appender.invoke(ClassLoader.getSystemClassLoader(), p.toString());
		System.err.println("pico: not translated yet: this start uses the JVM's threads, a later one"
			+ " uses pico threads (--wait ever waits for the translation)");
		ClassLoader l = ClassLoader.getSystemClassLoader();
		Thread.currentThread().setContextClassLoader(l);
		Main.program(l, main, a).run();
	}

	/** Adds a file to the class path of this JVM; null: this JVM does not allow that. */
	private static Method appender() {
		try {
			Opened.open("java.base/jdk.internal.loader", "addOpensToAllUnnamed");
			Method m = ClassLoader.getSystemClassLoader().getClass().getDeclaredMethod(
				"appendToClassPathForInstrumentation", String.class);
			m.setAccessible(true);
			return m;
		} catch (ReflectiveOperationException | RuntimeException e) {
			return null;
		}
	}

	/** True: a first start of this program need not wait. */
	static boolean isFor(List<Path> path, Arguments a) throws IOException {
		return a.wait < Arguments.EVER && !a.sim && !usesUs(path) && appender() != null;
	}

	/**
	 * True: the program has classes of ours, or its own part (its folders, and the first jar) names
	 * them.
	 */
	private static boolean usesUs(List<Path> path) throws IOException {
		for (Path p : path)
			if (Files.isDirectory(p) ? isIn(p) : Files.exists(p) && isIn(p, p.equals(path.get(0))))
				return true;
		return false;
	}

	private static boolean isIn(Path folder) throws IOException {
		try (Stream<Path> all = Files.walk(folder)) {
			for (Path f : (Iterable<Path>) all.filter(x -> x.toString().endsWith(".class"))::iterator)
				if (names(Files.readAllBytes(f)))
					return true;
			return false;
		}
	}

	private static boolean isIn(Path jar, boolean inside) throws IOException {
		try (ZipFile z = new ZipFile(jar.toFile())) {
			for (Enumeration<? extends ZipEntry> all = z.entries(); all.hasMoreElements();) {
				ZipEntry e = all.nextElement();
				String name = e.getName();
				if (name.startsWith(OURS) || name.matches(".*/pico-[^/]*\\.jar"))
					return true;
				if (!inside || !name.endsWith(".class"))
					continue;
				try (InputStream in = z.getInputStream(e)) {
					if (names(in.readAllBytes()))
						return true;
				}
			}
			return false;
		}
	}

	private static boolean names(byte[] file) {
		return new String(file, StandardCharsets.ISO_8859_1).contains(OURS);
	}
}
