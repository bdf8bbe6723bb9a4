/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ukthreads.pico.piranha.web.Hit;
import org.ukthreads.pico.piranha.web.TestWeb;

/** Runs a crawl under test, in this process or in another, and reads its log. */
final class Run {
	record Line(String outcome, int status, long bytes, int depth, String url, String note) {
	}

	private static final Path HOME = Path.of("").toAbsolutePath().getParent();
	static final Path PICO_JAR = HOME.resolve("pico-cli/target/pico.jar");

	private Run() {
	}

	/** Options for loopback: no delay, and short time-outs. */
	static List<String> fast(Path log, String... more) {
		List<String> args = new ArrayList<>(List.of("--quiet", "--scope=any", "--delay=0",
				"--per-host=64", "--retries=0", "--busy-retries=0", "--read-timeout=20s", "--log=" + log));
		args.addAll(List.of(more));
		return args;
	}

	static int here(List<String> args) {
		return Piranha.run(args.toArray(new String[0]));
	}

	static Process process(List<String> args, Path output, String... jvm) throws IOException {
		return new ProcessBuilder(command(args, jvm)).redirectErrorStream(true)
				.redirectOutput(ProcessBuilder.Redirect.appendTo(output.toFile())).start();
	}

	static List<String> command(List<String> args, String... jvm) {
		return command(Piranha.class, args, jvm);
	}

	static List<String> command(Class<?> main, List<String> args, String... jvm) {
		List<String> command = new ArrayList<>(List.of(
				System.getProperty("java.home") + "/bin/java", "-Xmx256m", "-cp",
				System.getProperty("surefire.test.class.path",
						System.getProperty("java.class.path"))));
		command.addAll(List.of(jvm));
		command.add(main.getName());
		command.addAll(args);
		return command;
	}

	/** Starts the translated crawler as `pico piranha` does. */
	static Process pico(List<String> args, Path output, String... jvm) throws IOException {
		List<String> command = new ArrayList<>(List.of(
				HOME.resolve("bin/pico").toString(), "piranha"));
		command.addAll(args);
		ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true)
				.redirectOutput(ProcessBuilder.Redirect.to(output.toFile()));
		builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
		builder.environment().put("PICO_JAVA_OPTS", String.join(" ", jvm));
		return builder.start();
	}

	/** True if the jars are of this build. The whole build makes the command before the crawler. */
	static boolean picoIsBuilt() {
		return Files.exists(PICO_JAR);
	}

	static List<Line> log(Path log) throws IOException {
		List<Line> lines = new ArrayList<>();
		for (String line : Files.readAllLines(log)) {
			String[] f = line.split("\t", -1);
			lines.add(new Line(f[1], Integer.parseInt(f[2]), Long.parseLong(f[3]),
					Integer.parseInt(f[4]), f[6], f[7]));
		}
		return lines;
	}

	/** Returns how often each URL was asked for, without robots.txt. */
	static Map<String, Integer> counts(TestWeb web) {
		Map<String, Integer> counts = new TreeMap<>();
		for (Hit hit : web.hits()) {
			if (!hit.path().equals("/robots.txt")) {
				counts.merge(hit.host() + hit.path(), 1, Integer::sum);
			}
		}
		return counts;
	}

	static String key(TestWeb web, int page) {
		return TestWeb.address(web.graph().host(page)) + web.graph().path(page);
	}

	static List<File> warcs(Path dir) {
		List<File> files = new ArrayList<>(List.of(dir.toFile().listFiles()));
		files.sort(null);
		return files;
	}
}
