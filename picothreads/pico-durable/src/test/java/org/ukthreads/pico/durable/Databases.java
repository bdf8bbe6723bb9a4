// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.ukthreads.pico.net.Servers;

/** The tests' own database servers. They start when first asked for; each URL is a new database. */
final class Databases {
	private static Servers postgres;
	private static Process mariadb;
	private static Path mariadbDir;
	private static int mariadbPort;
	private static org.h2.tools.Server h2;
	private static int count;

	private Databases() {}

	static synchronized String postgres() throws Exception {
		if (postgres == null)
			postgres = Servers.postgres();
		assumeTrue(postgres != null, "no PostgreSQL (Debian: postgresql)");
		String base = "jdbc:postgresql://127.0.0.1:" + postgres.port + "/";
		String name = "d" + ++count;
		execute(base + "postgres?user=pico", "create database " + name);
		return base + name + "?user=pico";
	}

	/** Turns on fsync, which is PostgreSQL's default: from now on commits are on disk. */
	static void sync(String url) throws Exception {
		execute(url, "alter system set fsync = on");
		execute(url, "select pg_reload_conf()");
		try (Connection c = DriverManager.getConnection(url);
				Statement s = c.createStatement()) {
			String is;
			do
				try (ResultSet r = s.executeQuery("show fsync")) {
					r.next();
					is = r.getString(1);
				}
			while (!is.equals("on"));
		}
	}

	static synchronized String mariadb() throws Exception {
		Path server = find("mariadbd");
		Path install = find("mariadb-install-db");
		assumeTrue(server != null && install != null, "no MariaDB (Debian: mariadb-server)");
		if (mariadb == null)
			start(server, install);
		String base = "jdbc:mariadb://127.0.0.1:" + mariadbPort + "/";
		String name = "d" + ++count;
		execute(base + "mysql?user=root", "create database " + name);
		return base + name + "?user=root";
	}

	/** Starts a server in this JVM, so that several processes can use the file. */
	static synchronized String h2(Path dir) throws Exception {
		if (h2 == null)
			h2 = org.h2.tools.Server.createTcpServer("-tcpPort", "0", "-ifNotExists").start();
		return "jdbc:h2:tcp://127.0.0.1:" + h2.getPort() + "/" + dir.resolve("h2");
	}

	private static Path find(String name) {
		for (String d : (System.getenv("PATH") + File.pathSeparator + "/usr/sbin")
				.split(File.pathSeparator))
			if (Files.isExecutable(Paths.get(d, name)))
				return Paths.get(d, name);
		return null;
	}

	private static void execute(String url, String sql) throws SQLException {
		try (Connection c = DriverManager.getConnection(url);
				Statement s = c.createStatement()) {
			s.execute(sql);
		}
	}

	private static void start(Path server, Path install) throws Exception {
		mariadbDir = Files.createTempDirectory("pico-mariadb");
		Path data = mariadbDir.resolve("data");
		String user = System.getProperty("user.name");
		run(install.toString(), "--no-defaults", "--datadir=" + data, "--user=" + user,
			"--auth-root-authentication-method=normal", "--skip-test-db");
		mariadbPort = freePort();
		mariadb = new ProcessBuilder(server.toString(), "--no-defaults", "--datadir=" + data,
			"--tmpdir=" + mariadbDir, "--user=" + user, "--port=" + mariadbPort,
			"--bind-address=127.0.0.1",
			"--socket=" + mariadbDir.resolve("socket"), "--pid-file=" + mariadbDir.resolve("pid"),
			"--skip-networking=0", "--innodb-flush-method=nosync").redirectErrorStream(true)
			.redirectOutput(mariadbDir.resolve("log").toFile()).start();
		long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(600);
		for (;;) {
			try {
				DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + mariadbPort
					+ "/mysql?user=root").close();
				return;
			} catch (SQLException e) {
				if (!mariadb.isAlive() || System.nanoTime() > end)
					throw new IllegalStateException(Files.readString(
						mariadbDir.resolve("log")), e);
				Thread.sleep(50);
			}
		}
	}

	/**
	 * Returns a free port below the range of client sockets. There the socket of another test might
	 * take it before the server binds it.
	 */
	private static int freePort() {
		for (;;) {
			int port = ThreadLocalRandom.current().nextInt(20_000, 32_000);
			try (ServerSocket s = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
				return s.getLocalPort();
			} catch (IOException e) {
				/* This port is taken. */
			}
		}
	}

	private static void run(String... command) throws Exception {
		List<String> c = new ArrayList<>(List.of(command));
		Path log = Files.createTempFile("pico-mariadb", "log");
		ProcessBuilder b = new ProcessBuilder(c).redirectErrorStream(true)
			.redirectOutput(log.toFile());
		/*
		 * A server that starts deletes the temporary tables in /tmp, also those of other servers.
		 */
		b.environment().put("TMPDIR", mariadbDir.toString());
		Process p = b.start();
		if (!p.waitFor(600, TimeUnit.SECONDS) || p.exitValue() != 0)
			throw new IllegalStateException(Files.readString(log));
		Files.delete(log);
	}

	static synchronized void stop() throws Exception {
		if (postgres != null)
			postgres.close();
		postgres = null;
		if (h2 != null)
			h2.stop();
		h2 = null;
		if (mariadb == null)
			return;
		mariadb.destroy();
		if (!mariadb.waitFor(20, TimeUnit.SECONDS))
			mariadb.destroyForcibly().waitFor();
		mariadb = null;
		try (Stream<Path> s = Files.walk(mariadbDir)) {
			s.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
		}
	}
}
