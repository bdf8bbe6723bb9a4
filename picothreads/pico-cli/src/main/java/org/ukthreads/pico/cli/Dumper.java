// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import com.sun.tools.attach.VirtualMachine;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** pico dump PID: loads the agent into that JVM; it writes the dump into a temporary file. */
final class Dumper {
	private Dumper() {}

	static void dump(List<String> args) throws Exception {
		if (args.size() != 1)
			Main.fail("pico dump PID");
		Path out = Files.createTempFile("pico", ".dump");
		try {
			VirtualMachine vm = VirtualMachine.attach(args.get(0));
			try {
				vm.loadAgent(Main.self().toAbsolutePath().toString(), "dump=" + out);
			} finally {
				vm.detach();
			}
			System.out.print(new String(Files.readAllBytes(out), StandardCharsets.UTF_8));
		} finally {
			Files.delete(out);
		}
	}
}
