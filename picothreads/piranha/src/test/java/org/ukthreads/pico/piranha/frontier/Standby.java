/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import java.io.File;
import java.io.IOException;

/**
 * A frontier server in another process that starts, and loads its classes, before it is needed.
 * So a crawler whose server died does not have to wait for the start of a JVM.
 */
public final class Standby {
	/** The address that it serves on. Nothing else uses it, so its ports stay free. */
	public static final String HOST = "127.0.0.99";

	private Standby() {
	}

	/**
	 * Arguments: PORT DIR. Prints "ready", serves once it has read a byte, and then prints
	 * "serving". Ends at the end of the input.
	 */
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
