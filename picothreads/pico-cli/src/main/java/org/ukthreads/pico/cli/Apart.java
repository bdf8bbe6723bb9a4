// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryNotificationInfo;
import java.lang.management.MemoryPoolMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import javax.management.NotificationEmitter;

/*
 * Translates in a separate JVM, which puts the result into the cache and exits:
 *
 *   run, agent: not in the cache, and large --> java .. Main keep THE SAME WORDS --> in the cache
 *   sim: the same with keep-sim
 *
 * A separate JVM can use another compiler. A translation runs all of its code for some seconds and
 * then never again, so compiling it with C2 never pays: H2 takes 22 s of CPU with C2 and 9 without.
 * A program needs C2, and a JVM's compilers are fixed when it starts. Besides, the program's heap
 * and profiles stay free of the translator.
 *
 * The size of the child's heap follows from the number of classes, not from the memory of the
 * machine. With a quarter of 24 GB as its limit, Hibernate's 13,700 classes took 3.5 GB, because
 * nothing was ever collected; they fit into less than 1 GB. If the user sets the heap size (-Xmx),
 * the child gets the same. The number of classes does not tell how much the analysis keeps of a
 * program: the client of Kafka 4.0 has 3,946 classes and did not finish in 400 MB, where each 100
 * MB cost a full collection. So a child whose heap stays full exits, and the next child gets twice
 * as much.
 *
 * Most of the data lives until the end (the trees, and what the analysis knows of them). So the old
 * generation has four fifths of the heap. With two thirds, and 80 KB for each class, Spring Boot's
 * 8,000 classes, which take 600 MB while they are analysed, ended the first child half-way. While
 * one thread analyses, the other CPUs collect: Spring Boot took 28 s when one thread did both, and
 * now takes 21 s.
 *
 * A child exits when its parent is gone. When a child fails, the caller translates by itself.
 *
 * Rejected: a child for every program (starting a JVM costs more than a small translation); C2 for
 * the analysis alone, another MaxTenuringThreshold, a fixed young generation (no difference).
 */
final class Apart {
	/** A program of this many bytes on disk, or more, is large. */
	private static final long LARGE = 1 << 19;
	/** Bytes of heap for each class of the program, and the least for any program. */
	private static final long CLASS = 100 << 10;
	private static final long LEAST = 400L << 20;
	/** The exit code of a child whose heap stays full, and the property that allows this exit. */
	static final int FULL = 77;
	private static final String MAY_END = "pico.apart.full";
	/** Options by which the user sets the heap size. */
	private static final String[] HEAP = {"-Xmx", "-XX:MaxRAM", "-XX:MaxHeapSize"};
	private static final String[] KEPT = {"-D", "-Xm", "-Xshare", "-Xlog:disable",
		"-Xlog:all=error:stderr", "-XX:SharedArchiveFile", "-XX:MaxRAM", "-XX:MaxHeapSize"};

	private Apart() {}

	/**
	 * Translates a large program in a child. Returns true if the child succeeded: the translation
	 * is then in the cache, unless it was too large for it.
	 */
	static boolean kept(List<Path> path, Arguments a) {
		try {
			return run(path, a, a.sim ? "keep-sim" : "keep", ProcessBuilder::inheritIO) == 0;
		} catch (IOException e) {
			return false;
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
			return false;
		}
	}

	/**
	 * The same in the background: the child goes on when this process ends, in a session of its
	 * own, so that a terminal's interrupt does not reach it. It prints into log.
	 */
	static void later(List<Path> path, Arguments a, File log) {
		try {
			run(path, a, "keep-later", b -> {
				b.command().add(1, "-Dpico.progress=false");
				b.command().addAll(0, List.of("setsid", "nice", "-n", "10"));
				b.redirectErrorStream(true).redirectOutput(Redirect.appendTo(log));
			});
		} catch (IOException e) {
			/* There is no such command: nothing translates. */
			return;
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	/** Runs children until the heap of one is large enough, and returns its exit code. */
	private static int run(List<Path> path, Arguments a, String command,
			Consumer<ProcessBuilder> how) throws IOException, InterruptedException {
		List<String> told = ManagementFactory.getRuntimeMXBean().getInputArguments();
		boolean free = told.stream().noneMatch(s -> Stream.of(HEAP).anyMatch(s::startsWith));
		for (int times = 1;; times *= 2) {
			List<String> heap = free ? heap(path, times, Runtime.getRuntime().maxMemory())
				: List.of();
			ProcessBuilder b = new ProcessBuilder(words(told, heap, command, a));
			how.accept(b);
			int rc = b.start().waitFor();
			if (rc != FULL || heap.isEmpty())
				return rc;
		}
	}

	private static List<String> words(List<String> told, List<String> heap, String command,
			Arguments a) {
		List<String> c = new ArrayList<>();
		c.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
		/* The modules that the program was started with are not for the translator. */
		told.stream().filter(s -> Stream.of(KEPT).anyMatch(s::startsWith)
			&& !s.startsWith("-Djdk.module.")).forEach(c::add);
		c.addAll(heap);
		/* Under the agent, OWN is the program's class path, so our own jar comes before it. */
		c.addAll(List.of("-XX:TieredStopAtLevel=1", "-cp",
			Main.self() + File.pathSeparator + Main.OWN, Main.class.getName(),
			command));
		c.addAll(a.given);
		return c;
	}

	/** Called in a child that ends with its parent, before it translates. */
	static void begin() {
		mayEnd();
		ProcessHandle.current().parent().ifPresent(p -> p.onExit()
			.thenRun(() -> Runtime.getRuntime().halt(1)));
	}

	/** Called in a child, before it translates. */
	static void mayEnd() {
		if (Boolean.getBoolean(MAY_END))
			whenFull(() -> Runtime.getRuntime().halt(FULL));
	}

	/** Calls then when 19 twentieths of the old generation are in use after a collection. */
	private static void whenFull(Runnable then) {
		for (MemoryPoolMXBean p : ManagementFactory.getMemoryPoolMXBeans())
			if (p.getName().equals("PS Old Gen"))
				p.setCollectionUsageThreshold(p.getUsage().getMax() / 20 * 19);
		((NotificationEmitter) ManagementFactory.getMemoryMXBean()).addNotificationListener(
			(n, x) -> then.run(), n -> n.getType().equals(
			MemoryNotificationInfo.MEMORY_COLLECTION_THRESHOLD_EXCEEDED), null);
	}

	/**
	 * The options for a heap of times the estimated size; none if that is not less than most bytes.
	 */
	static List<String> heap(List<Path> path, int times, long most) {
		long bytes = Math.max(LEAST, classes(path) * CLASS) * times;
		return bytes >= most ? List.of() : List.of("-XX:+UseParallelGC",
			"-XX:-UseGCOverheadLimit", "-XX:NewRatio=4", "-Xmx" + (bytes >> 20) + "m",
			"-D" + MAY_END + "=true");
	}

	/** Estimates the number of classes. A nested jar counts two for each three kilobytes. */
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

	static boolean isLarge(List<Path> path) {
		long size = 0;
		for (Path p : path)
			try (Stream<Path> all = Files.walk(p)) {
				size += all.map(Path::toFile).filter(File::isFile).mapToLong(File::length).sum();
			} catch (IOException e) {
				/* The translator will report this. */
				return false;
			}
		return size >= LARGE;
	}
}
