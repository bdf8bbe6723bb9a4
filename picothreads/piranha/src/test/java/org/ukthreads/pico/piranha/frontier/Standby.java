/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import java.io.File;
import java.io.IOException;

/**
 * A frontier server of another process that has started, and loaded what it needs, before it is
 * wanted: the patience of a crawler whose server died is not spent on the start of a JVM.
 */
public final class Standby {
	/** Where it serves: the far end of nobody's connection, so that a port stays free. */
	public static final String HOST = "127.0.0.99";

	private Standby() {
	}

	/** PORT DIR. Says "ready", serves once it reads a byte, and says so; to the input's end. */
	public static void main(String[] args) throws IOException {
		FrontierServer.start("127.0.0.1", 0).close();
		System.out.println("ready");
		if (System.in.read() < 0) {
			return;
		}
		FrontierServer server = FrontierServer.start(HOST, Integer.parseInt(args[0]),
				new File(args[1]));
		System.out.println("serving");
		while (System.in.read() >= 0) {
		}
		server.close();
	}
}
