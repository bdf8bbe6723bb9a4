// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Private servers on loopback, in a temporary directory; null if the binaries are not
 * installed.
 */
public final class Servers implements AutoCloseable {
	private final Process process;
	private final Path dir;
	public final int port;

	private Servers(Process process, Path dir, int port) {
		this.process = process;
		this.dir = dir;
		this.port = port;
	}

	private static int freePort() throws IOException {
		try (ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			return s.getLocalPort();
		}
	}

	private static Path find(String name) throws IOException {
		for (String d : System.getenv("PATH").split(File.pathSeparator))
			if (Files.isExecutable(Paths.get(d, name)))
				return Paths.get(d, name);
		Path pg = Paths.get("/usr/lib/postgresql");
		if (Files.isDirectory(pg))
			try (var s = Files.list(pg)) {
				for (Path p : (Iterable<Path>) s.sorted()::iterator)
					if (Files.isExecutable(p.resolve("bin").resolve(name)))
						return p.resolve("bin").resolve(name);
			}
		System.err.println("SKIPPED: there is no " + name + " here");
		return null;
	}

	public static Servers redis() throws Exception {
		Path redis = find("redis-server");
		if (redis == null)
			return null;
		Path dir = Files.createTempDirectory("pico-redis");
		int port = freePort();
		return started(new ProcessBuilder(redis.toString(), "--port", "" + port, "--bind",
			"127.0.0.1", "--save", "", "--appendonly", "no", "--maxclients", "3000",
			"--tcp-backlog", "1024", "--dir", dir.toString()), dir, port);
	}

	public static Servers postgres() throws Exception {
		Path initdb = find("initdb");
		if (initdb == null)
			return null;
		Path dir = Files.createTempDirectory("pico-postgres");
		Path data = dir.resolve("data");
		List<String> as = new ArrayList<>();
		if (System.getProperty("user.name").equals("root")) {
			/* PostgreSQL refuses to run as root. */
			Path setpriv = find("setpriv");
			if (setpriv == null)
				return null;
			dir.toFile().setReadable(true, false);
			Process p = new ProcessBuilder("chown", "nobody", dir.toString()).start();
			p.waitFor();
			as.addAll(List.of(setpriv.toString(), "--reuid=nobody", "--clear-groups"));
		}
		List<String> init = new ArrayList<>(as);
		init.addAll(List.of(initdb.toString(), "-D", data.toString(), "-U", "pico", "-A",
			"trust", "--no-sync", "-E", "UTF8", "--locale=C"));
		Process p = new ProcessBuilder(init).redirectErrorStream(true).directory(dir.toFile())
			.redirectOutput(dir.resolve("initdb.log").toFile()).start();
		if (!p.waitFor(60, TimeUnit.SECONDS) || p.exitValue() != 0)
			throw new IllegalStateException(Files.readString(dir.resolve("initdb.log")));
		int port = freePort();
		/* Set in the file, so that `alter system` can change it. */
		Files.writeString(data.resolve("postgresql.conf"), "fsync = off\n",
			StandardOpenOption.APPEND);
		as.addAll(List.of(initdb.resolveSibling("postgres").toString(), "-D", data.toString(),
			"-p", "" + port, "-h", "127.0.0.1", "-k", dir.toString(), "-c",
			"max_connections=100", "-c", "lc_messages=C"));
		return started(new ProcessBuilder(as), dir, port);
	}

	private static Servers started(ProcessBuilder b, Path dir, int port) throws Exception {
		Path log = dir.resolve("log");
		Process p = b.redirectErrorStream(true).directory(dir.toFile())
			.redirectOutput(log.toFile()).start();
		Servers s = new Servers(p, dir, port);
		for (int k = 0; k < 200; k++) {
			Thread.sleep(50);
			if (!p.isAlive())
				break;
			try (Socket x = new Socket("127.0.0.1", port)) {
				if (!Files.readString(log).contains("eady to accept connections"))
					continue;
				return s;
			} catch (IOException e) {
				continue;
			}
		}
		p.destroyForcibly();
		throw new IllegalStateException(Files.readString(log));
	}

	@Override
	public void close() throws Exception {
		process.destroy();
		if (!process.waitFor(10, TimeUnit.SECONDS))
			process.destroyForcibly().waitFor();
		try (var s = Files.walk(dir)) {
			s.sorted(java.util.Comparator.reverseOrder()).map(Path::toFile)
				.forEach(File::delete);
		}
	}
}
