/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.io.File;
import java.io.IOException;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import org.ukthreads.pico.piranha.frontier.FrontierServer;

/** Serves a frontier that crawlers on many machines share. */
@Command(name = "frontier", mixinStandardHelpOptions = true, description =
		"Serves a URLFrontier (crawler-commons' gRPC interface) that many crawlers share with"
		+ " --frontier=urlfrontier:HOST:PORT, until it is killed.")
final class FrontierCommand {
	@Option(names = "--host", paramLabel = "HOST",
			description = "The address to listen on (default: ${DEFAULT-VALUE}).")
	private String host = "127.0.0.1";

	@Option(names = "--port", paramLabel = "PORT",
			description = "The port to listen on (default: ${DEFAULT-VALUE}; 0: any free port).")
	private int port = 7071;

	@Option(names = "--state", paramLabel = "DIR", description =
			"Keep the frontier in DIR, and continue with what is there (default: in memory).")
	private Optional<File> state = Optional.empty();

	int serve() throws InterruptedException {
		try (FrontierServer server = state.isPresent()
				? FrontierServer.start(host, port, state.get())
				: FrontierServer.start(host, port)) {
			System.out.println("urlfrontier:" + host + ":" + server.port());
			System.out.flush();
			server.await();
			return 0;
		} catch (IOException e) {
			System.err.println("piranha: cannot serve on " + host + ":" + port + ": "
					+ e.getMessage());
			return 4;
		}
	}
}
