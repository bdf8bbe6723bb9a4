// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/*
 * A translation made in a JVM of its own, which puts it into the cache and ends:
 *
 *   run, agent: not in the cache, and large --> java .. Main keep THE SAME WORDS --> in the cache
 *   sim: the same with keep-sim
 *
 * For that JVM's compiler may be another one. A translation runs all of its code for some
 * seconds and then never again, and what C2 makes of that never pays: H2 takes 22 s of CPU with
 * it and 9 without. A program has to have it, and what a JVM compiles with is settled when
 * it starts. Besides, the program's heap and profiles have seen no translator.
 * A child whose parent is gone ends. Where it fails, the caller does all as if it had never been.
 * Rejected: a child for every program: a JVM more is dearer than what a small one takes.
 */
final class Apart {
	/** Bytes of class files, packed or not: from here on. */
	private static final long LARGE = 1 << 19;
	private static final String[] KEPT = {"-D", "-Xm", "-Xshare", "-Xlog:disable",
		"-Xlog:all=error:stderr", "-XX:SharedArchiveFile", "-XX:MaxRAM", "-XX:MaxHeapSize"};

	private Apart() {}

	/** True: it is in the cache now, unless the cache would not have it. */
	static boolean kept(List<Path> path, Arguments a) {
		if (!isLarge(path))
			return false;
		List<String> c = new ArrayList<>();
		c.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
		for (String s : ManagementFactory.getRuntimeMXBean().getInputArguments())
			if (Stream.of(KEPT).anyMatch(s::startsWith))
				c.add(s);
		/* Under the agent our class path is the program's. */
		c.addAll(List.of("-XX:TieredStopAtLevel=1", "-cp",
			Main.self() + File.pathSeparator + Main.OWN, Main.class.getName(),
			a.sim ? "keep-sim" : "keep"));
		c.addAll(a.given);
		try {
			return new ProcessBuilder(c).inheritIO().start().waitFor() == 0;
		} catch (IOException e) {
			return false;
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
			return false;
		}
	}

	/** In the child. */
	static void withParent() {
		ProcessHandle.current().parent().ifPresent(p -> p.onExit()
			.thenRun(() -> Runtime.getRuntime().halt(1)));
	}

	private static boolean isLarge(List<Path> path) {
		long size = 0;
		for (Path p : path)
			try (Stream<Path> all = Files.walk(p)) {
				size += all.map(Path::toFile).filter(File::isFile).mapToLong(File::length).sum();
			} catch (IOException e) {
				/* The translator will say so. */
				return false;
			}
		return size >= LARGE;
	}
}
