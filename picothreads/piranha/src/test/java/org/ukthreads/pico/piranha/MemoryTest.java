/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The heap has a bound, and large bodies stay within it. */
@Timeout(180)
final class MemoryTest {
	private static final int PAGES = 24;
	private static final int BODY = 4 << 20;

	@TempDir
	private Path dir;

	@Test
	void many_large_bodies_at_once_fit_into_a_small_heap() throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress(
				InetAddress.getByName("127.0.0.1"), 0), 100);
		ExecutorService threads = Executors.newFixedThreadPool(PAGES);
		try {
			server.setExecutor(threads);
			byte[] index = index();
			server.createContext("/", e -> {
				boolean home = e.getRequestURI().getPath().equals("/");
				e.getResponseHeaders().set("Content-Type", "text/html");
				e.sendResponseHeaders(200, home ? index.length : BODY);
				try (OutputStream out = e.getResponseBody()) {
					if (home) {
						out.write(index);
					}
					byte[] some = "some more words of text ".repeat(1 << 12).substring(0, 1 << 16)
							.getBytes(StandardCharsets.US_ASCII);
					for (int k = 0; !home && k < BODY; k += some.length) {
						out.write(some);
					}
				}
			});
			server.start();
			List<String> args = Run.fast(dir.resolve("log"), "--threads=platform", "--no-robots",
					"--retries=0", "--total-timeout=120s", "--read-timeout=100s",
					"--json=" + dir.resolve("json"),
					"http://127.0.0.1:" + server.getAddress().getPort() + "/");
			/*
			 * 24 bodies of 4 MB, each of them in several copies, would not fit into 160 MB
			 * together.
			 */
			Process p = Run.process(args, dir.resolve("out"), "-Xmx160m");
			assertTrue(p.waitFor(150, TimeUnit.SECONDS));
			assertEquals(0, p.exitValue(), Files.readString(dir.resolve("out")));
			assertEquals(PAGES + 1, Run.log(dir.resolve("log")).stream()
					.filter(l -> l.outcome().equals("page")).count());
		} finally {
			server.stop(0);
			threads.shutdownNow();
		}
	}

	private static byte[] index() {
		StringBuilder b = new StringBuilder();
		for (int k = 0; k < PAGES; k++) {
			b.append("<a href='/").append(k).append("'>x</a>");
		}
		return b.toString().getBytes(StandardCharsets.US_ASCII);
	}

	/** Runs the script with a fake java that prints its arguments, and returns them. */
	private String called(String options, String... args) throws IOException, InterruptedException {
		Path java = Files.createDirectories(dir.resolve("jdk/bin")).resolve("java");
		Files.writeString(java, "#!/bin/sh\necho \"$@\"\n");
		java.toFile().setExecutable(true);
		Path home = Path.of("").toAbsolutePath().getParent();
		/* A home directory that looks built. */
		Path fake = Files.createDirectories(dir.resolve("home"));
		Files.createDirectories(fake.resolve("piranha/bin"));
		Files.createDirectories(fake.resolve("piranha/target/lib"));
		Files.createDirectories(fake.resolve("piranha/target/classes"));
		Files.createDirectories(fake.resolve("pico-cli/target"));
		Files.writeString(fake.resolve("pico-cli/target/pico.jar"), "");
		Files.writeString(fake.resolve("piranha/target/translated.jar"), "");
		Path script = fake.resolve("piranha/bin/piranha");
		Files.write(script, Files.readAllBytes(home.resolve("piranha/bin/piranha")));
		List<String> c = new ArrayList<>(List.of("sh", script.toString()));
		c.addAll(List.of(args));
		ProcessBuilder b = new ProcessBuilder(c).redirectErrorStream(true);
		b.environment().put("JAVA_HOME", dir.resolve("jdk").toString());
		b.environment().put("PICO_JAVA_OPTS", options);
		Process p = b.start();
		String out = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		p.waitFor();
		return out;
	}

	@Test
	void the_command_bounds_the_heap_unless_told_otherwise() throws Exception {
		for (String kind : List.of("pico", "platform")) {
			String plain = called("", "--threads=" + kind, "http://h/");
			assertTrue(plain.contains("-Xmx512m "), plain);
			String told = called("-Xmx2g", "--threads=" + kind, "http://h/");
			assertTrue(told.contains("-Xmx2g ") && !told.contains("512m"), told);
		}
	}
}
