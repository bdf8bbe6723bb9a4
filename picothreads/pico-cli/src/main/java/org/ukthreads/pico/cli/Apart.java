// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryNotificationInfo;
import java.lang.management.MemoryPoolMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import javax.management.NotificationEmitter;

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
 * Its heap is what so many classes need, and not what this machine has: with a quarter of 24 GB,
 * Hibernate's 13,700 classes took 3.5 GB, because nothing was ever thrown away; they fit into
 * less than one. Who says -Xmx is taken at his word. No count of classes knows what the analysis
 * holds of a program: the client of Kafka 4.0 has 3,946 and did not come to an end in 400 MB, where
 * each 100 MB cost a collection of everything. So a child whose heap stays full ends, and the next
 * has twice as much.
 * Most of what it holds stays to the end (trees, and what the analysis knows of them): of the heap
 * four parts of five are for what is old. With two of three, and 80 KB a class, Spring Boot's 8,000
 * classes, which are 600 MB while they are analysed, ended the first child half-way. Where one
 * thread analyses, the other CPUs collect: with one for both, Spring Boot took 28 s, and now 21.
 * A child whose parent is gone ends. Where it fails, the caller does all as if it had never been.
 * Rejected: a child for every program: a JVM more is dearer than what a small one takes. C2 for
 * the analysis alone, another MaxTenuringThreshold, a fixed young generation: no difference.
 */
final class Apart {
	/** Bytes of class files, packed or not: from here on. */
	private static final long LARGE = 1 << 19;
	/** Of heap, for a class of the program; and for any program. */
	private static final long CLASS = 100 << 10;
	private static final long LEAST = 400L << 20;
	/** How a child ends whose heap stays full; and what tells it that it may. */
	static final int FULL = 77;
	private static final String MAY_END = "pico.apart.full";
	/** A heap that is told. */
	private static final String[] HEAP = {"-Xmx", "-XX:MaxRAM", "-XX:MaxHeapSize"};
	private static final String[] KEPT = {"-D", "-Xm", "-Xshare", "-Xlog:disable",
		"-Xlog:all=error:stderr", "-XX:SharedArchiveFile", "-XX:MaxRAM", "-XX:MaxHeapSize"};

	private Apart() {}

	/** True: it is in the cache now, unless the cache would not have it. */
	static boolean kept(List<Path> path, Arguments a) {
		if (!isLarge(path))
			return false;
		List<String> told = ManagementFactory.getRuntimeMXBean().getInputArguments();
		boolean free = told.stream().noneMatch(s -> Stream.of(HEAP).anyMatch(s::startsWith));
		try {
			for (int times = 1;; times *= 2) {
				List<String> heap = free ? heap(path, times, Runtime.getRuntime().maxMemory())
					: List.of();
				int rc = new ProcessBuilder(words(told, heap, a)).inheritIO().start()
					.waitFor();
				if (rc != FULL || heap.isEmpty())
					return rc == 0;
			}
		} catch (IOException e) {
			return false;
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
			return false;
		}
	}

	private static List<String> words(List<String> told, List<String> heap, Arguments a) {
		List<String> c = new ArrayList<>();
		c.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
		/* The modules that a program is started with are not ours. */
		told.stream().filter(s -> Stream.of(KEPT).anyMatch(s::startsWith)
			&& !s.startsWith("-Djdk.module.")).forEach(c::add);
		c.addAll(heap);
		/* Under the agent our class path is the program's. */
		c.addAll(List.of("-XX:TieredStopAtLevel=1", "-cp",
			Main.self() + File.pathSeparator + Main.OWN, Main.class.getName(),
			a.sim ? "keep-sim" : "keep"));
		c.addAll(a.given);
		return c;
	}

	/** In the child. */
	static void begin() {
		if (Boolean.getBoolean(MAY_END))
			whenFull(() -> Runtime.getRuntime().halt(FULL));
		ProcessHandle.current().parent().ifPresent(p -> p.onExit()
			.thenRun(() -> Runtime.getRuntime().halt(1)));
	}

	/** Nineteen parts of twenty of what is old are in use, and all has just been collected. */
	private static void whenFull(Runnable then) {
		for (MemoryPoolMXBean p : ManagementFactory.getMemoryPoolMXBeans())
			if (p.getName().equals("PS Old Gen"))
				p.setCollectionUsageThreshold(p.getUsage().getMax() / 20 * 19);
		((NotificationEmitter) ManagementFactory.getMemoryMXBean()).addNotificationListener(
			(n, x) -> then.run(), n -> n.getType().equals(
			MemoryNotificationInfo.MEMORY_COLLECTION_THRESHOLD_EXCEEDED), null);
	}

	/** The words for a heap of so many times what these need, and of no more than most. */
	static List<String> heap(List<Path> path, int times, long most) {
		long bytes = Math.max(LEAST, classes(path) * CLASS) * times;
		return bytes >= most ? List.of() : List.of("-XX:+UseParallelGC",
			"-XX:-UseGCOverheadLimit", "-XX:NewRatio=4", "-Xmx" + (bytes >> 20) + "m",
			"-D" + MAY_END + "=true");
	}

	/** About so many; of a jar in a jar, two for each three kilobytes. */
	private static long classes(List<Path> path) {
		long n = 0;
		for (Path p : path)
			if (Files.isDirectory(p))
				try (Stream<Path> all = Files.walk(p)) {
					n += all.filter(f -> f.toString().endsWith(".class")).count();
				} catch (IOException e) {
					return 0;
				}
			else if (Files.exists(p))
				try (ZipFile z = new ZipFile(p.toFile())) {
					n += z.stream().mapToLong(e -> e.getName().endsWith(".class") ? 1
						: e.getName().endsWith(".jar") ? e.getSize() / 1500 : 0).sum();
				} catch (IOException e) {
					return 0;
				}
		return n;
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
