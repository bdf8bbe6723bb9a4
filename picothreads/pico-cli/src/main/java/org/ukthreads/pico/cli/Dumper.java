// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * pico dump PID and pico jstack PID: load the agent into that JVM; it writes the dump into a
 * temporary file.
 */
final class Dumper {
	private Dumper() {}

	/** what: `dump` or `jstack`, the command and the agent's argument. */
	static void dump(String what, List<String> args) throws Exception {
		if (args.size() != 1)
			Main.fail("pico " + what + " PID");
		Path out = Files.createTempFile("pico", ".dump");
		try {
			VirtualMachine vm = VirtualMachine.attach(args.get(0));
			try {
				vm.loadAgent(Main.self().toAbsolutePath().toString(), what + "=" + out);
			} finally {
				vm.detach();
			}
			System.out.print(new String(Files.readAllBytes(out), StandardCharsets.UTF_8));
		} catch (AttachNotSupportedException e) {
			throw new IOException("cannot attach to " + args.get(0) + ": " + e.getMessage());
		} finally {
			Files.delete(out);
		}
	}
}
