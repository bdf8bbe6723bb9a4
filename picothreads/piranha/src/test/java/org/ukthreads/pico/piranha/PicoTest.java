/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.ukthreads.pico.piranha.web.TestWeb;
import org.ukthreads.pico.piranha.web.WebBuilder;

/** The translated crawler, as `pico piranha` starts it, does what the untranslated one does. */
@Timeout(120)
final class PicoTest {
	@TempDir
	private Path dir;

	@BeforeEach
	void the_command_is_built() {
		assumeTrue(Run.picoIsBuilt(), "no pico.jar");
	}

	@Test
	void pico_jar_has_the_services_that_it_names() throws Exception {
		try (ZipFile jar = new ZipFile(Run.PICO_JAR.toFile())) {
			for (ZipEntry e : Collections.list(jar.entries())) {
				if (e.getName().matches("META-INF/services/.+")) {
					String name = new String(jar.getInputStream(e).readAllBytes(),
							StandardCharsets.UTF_8).trim();
					assertNotNull(jar.getEntry(name.replace('.', '/') + ".class"), name);
				}
			}
		}
	}

	/** It needs neither the tree that it was built in, nor anything that Maven has. */
	@Test
	void pico_jar_runs_programs_wherever_it_is() throws Exception {
		Files.copy(Run.PICO_JAR, dir.resolve("pico.jar"));
		Files.writeString(dir.resolve("Hello.java"), String.join("\n", "class Hello {",
				"public static void main(String[] args) throws Exception {",
				"Thread t = new Thread(() -> System.out.println(\"hello\"));", "t.start();", "t.join();", "}}"));
		assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null,
				dir.resolve("Hello.java").toString()));
		ProcessBuilder b = new ProcessBuilder(System.getProperty("java.home") + "/bin/java",
				"-jar", "pico.jar", "run", "--no-cache", "-cp", ".", "Hello")
				.directory(dir.toFile()).redirectErrorStream(true);
		b.environment().clear();
		assertEquals("hello\n", new String(b.start().getInputStream().readAllBytes(),
				StandardCharsets.UTF_8));
	}

	@Test
	void pico_threads_crawl_the_whole_web() throws Exception {
		try (TestWeb web = new WebBuilder().pages(1000).hosts(4).size(2000, 20_000).start()) {
			assertEquals(0, crawl("--threads=pico", "--warc=" + dir.resolve("warc"), web.url(0)),
					output());
			List<Run.Line> lines = Run.log(dir.resolve("log"));
			assertEquals(1000, lines.size());
			Map<String, Integer> counts = Run.counts(web);
			Set<String> archived = Warcs.check(dir.resolve("warc"));
			for (int page = 0; page < 1000; page++) {
				assertEquals(1, counts.get(Run.key(web, page)), "fetches of page " + page);
				assertTrue(archived.contains(web.url(page)));
			}
			for (Run.Line line : lines) {
				assertEquals("page", line.outcome(), line.toString());
			}
		}
	}

	@Test
	void thousands_of_pico_threads_wait_at_once() throws Exception {
		try (TestWeb web = new WebBuilder().pages(3000).hosts(4).fanout(2999).delayMillis(2000)
				.start()) {
			long start = System.nanoTime();
			assertEquals(0, crawl("--per-host=100000", "--json=" + dir.resolve("json"),
					web.url(0)), output());
			double seconds = (System.nanoTime() - start) / 1e9;
			assertTrue(seconds < 60, seconds + " s: the threads waited one after the other");
			String json = Files.readString(dir.resolve("json"));
			assertTrue(json.contains("\"pages\":3000,"), json);
			int peak = Integer.parseInt(
					json.replaceAll("(?s).*\"peak_threads\":(\\d+).*", "$1"));
			assertTrue(peak > 1000, peak + " threads at the peak");
		}
	}

	@Test
	void each_trap_has_its_outcome_here_too() throws Exception {
		try (TestWeb web = new WebBuilder().pages(60).hosts(1).fanout(60).traps(true).start()) {
			assertEquals(0, crawl("--sitemap", "--max-redirects=3", "--read-timeout=1s",
					"--total-timeout=2s", "--max-size=1M", "--depth=4", web.url(0)), output());
			assertEquals(String.join("\n", TrapsTest.EXPECTED),
					TrapsTest.outcomes(web, dir.resolve("log")));
		}
	}

	@Test
	void pico_threads_keep_their_manners() throws Exception {
		try (TestWeb web = new WebBuilder().pages(20).hosts(2).fanout(19).start()) {
			assertEquals(0, crawl("--per-host=1", "--delay=100ms", web.url(0)), output());
			assertEquals(20, Run.counts(web).size());
			for (int i = 0; i < 2; i++) {
				String host = TestWeb.address(i);
				long[] starts = web.hits().stream().filter(hit -> hit.host().equals(host)
						&& hit.path().startsWith("/p/")).mapToLong(hit -> hit.startNanos())
						.toArray();
				assertEquals(10, starts.length);
				for (int k = 1; k < starts.length; k++) {
					assertTrue(starts[k] - starts[k - 1] >= 100_000_000L, "too close");
				}
			}
		}
	}

	@Test
	void bad_usage_has_its_exit_code_here_too() throws Exception {
		assertEquals(2, crawl("--delay=5", "http://127.0.0.1/"));
		assertTrue(output().contains("'5' is not a time"), output());
	}

	@Test
	void a_signal_ends_a_translated_crawl_in_good_order() throws Exception {
		try (TestWeb web = new WebBuilder().pages(2000).hosts(4).delayMillis(5).start()) {
			Process process = start("--json=" + dir.resolve("json"), web.url(0));
			while (process.isAlive() && web.requests() < 100) {
				Thread.sleep(1);
			}
			process.destroy();      /* SIGTERM */
			assertTrue(process.waitFor(200, TimeUnit.SECONDS));
			assertEquals(128 + 15, process.exitValue(), output());
			assertTrue(Files.readString(dir.resolve("json")).contains("\"open\":"));
		}
	}

	@Test
	void a_killed_crawl_is_resumed_by_either_kind() throws Exception {
		try (TestWeb web = new WebBuilder().pages(600).hosts(4).delayMillis(2).start()) {
			String[] options = {"--frontier=disk:" + dir.resolve("state"), "--resume",
				"--max-threads=40", web.url(0)};
			Process process = start(options);
			while (process.isAlive() && web.requests() < 200) {
				Thread.sleep(1);
			}
			process.destroyForcibly().waitFor();        /* SIGKILL */
			List<String> args = Run.fast(dir.resolve("log"), "--threads=platform");
			args.addAll(List.of(options));
			args.add(args.size() - 1, "--max-pages=100");
			assertEquals(0, Run.here(args));
			assertEquals(0, crawl(options), output());
			Map<String, Integer> counts = Run.counts(web);
			assertEquals(600, counts.size());
			int repeated = counts.values().stream().mapToInt(n -> n - 1).sum();
			assertTrue(repeated <= 40, repeated + " repeated");
		}
	}

	private int crawl(String... options) throws Exception {
		Process process = start(options);
		if (!process.waitFor(100, TimeUnit.SECONDS)) {
			process.destroyForcibly();
			return -1;
		}
		return process.exitValue();
	}

	private Process start(String... options) throws IOException {
		return Run.pico(Run.fast(dir.resolve("log"), options), dir.resolve("output"));
	}

	private String output() throws IOException {
		return Files.readString(dir.resolve("output"));
	}
}
