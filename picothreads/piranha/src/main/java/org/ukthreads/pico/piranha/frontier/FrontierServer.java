/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A URLFrontier server in this process. */
public final class FrontierServer implements Closeable {
	private static final String FILE = "urlfrontier.journal";

	private final Server server;
	private final Optional<Journal> journal;

	private FrontierServer(Server server, Optional<Journal> journal) {
		this.server = server;
		this.journal = journal;
	}

	/** Starts a server that keeps everything in memory. port 0: any free port. */
	public static FrontierServer start(String host, int port) throws IOException {
		return new FrontierServer(serve(host, port, new FrontierService()),
				Optional.<Journal>empty());
	}

	/**
	 * Starts a server that continues where the last one with this directory ended, even by kill
	 * -9.
	 */
	public static FrontierServer start(String host, int port, File dir) throws IOException {
		if (!dir.isDirectory() && !dir.mkdirs()) {
			throw new IOException("cannot create the directory " + dir);
		}
		Journal journal = Journal.open(new File(dir, FILE));
		try {
			return new FrontierServer(serve(host, port, new FrontierService(journal)),
					Optional.of(journal));
		} catch (IOException e) {
			journal.close();
			throw e;
		}
	}

	private static Server serve(String host, int port, FrontierService service)
			throws IOException {
		return NettyServerBuilder.forAddress(new InetSocketAddress(host, port))
				.addService(service).build().start();
	}

	public int port() {
		return server.getPort();
	}

	public void await() throws InterruptedException {
		server.awaitTermination();
	}

	@Override
	public void close() throws IOException {
		server.shutdownNow();
		try {
			server.awaitTermination(5, TimeUnit.SECONDS);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
		if (journal.isPresent()) {
			journal.get().close();
		}
	}
}
