// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;

/*
 * What Linux says of an OS thread. The JVM says RUNNABLE of a thread that waits inside the JVM
 * (for a class that another thread initialises) or in native code; the kernel says that it
 * sleeps. Elsewhere nothing is known.
 */
final class OsThread {
	private OsThread() {}

	/** Returns the name of the file that shows the calling thread's state. Throws: none does. */
	static String self() throws IOException {
		return "/proc/" + Files.readSymbolicLink(Paths.get("/proc/thread-self")) + "/stat";
	}

	/** True: the thread whose file this is sleeps. False also if that is unknown. */
	static boolean sleeps(String stat) {
		if (stat == null)
			return false;
		/* "TID (name) S ...": names have at most 15 bytes. */
		byte[] b = new byte[40];
		try (FileInputStream in = new FileInputStream(stat)) {
			int k = in.read(b) - 3;
			while (k > 0 && b[k] != ')')
				k--;
			return k > 0 && b[k + 2] == 'S';
		} catch (IOException e) {
			return false;
		}
	}
}
