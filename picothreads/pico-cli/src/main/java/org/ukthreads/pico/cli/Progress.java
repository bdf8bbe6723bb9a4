// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Reports the progress of a long translation on stderr: on a terminal one line that is rewritten,
 * elsewhere a line every few seconds. stdout is left to the program. `-Dpico.progress=false`, or
 * PICO_PROGRESS=false in the environment, switches this off.
 */
final class Progress implements Consumer<String> {
	private static final long SOON = 1_500_000_000L;
	private static final long OFTEN = 200_000_000L;
	private static final long SELDOM = 5_000_000_000L;
	private final boolean terminal = System.console() != null;
	private final long began = System.nanoTime();
	private long said = began + SOON - SELDOM;
	private int width;

	static boolean isWanted() {
		String told = System.getProperty("pico.progress", System.getenv("PICO_PROGRESS"));
		return !"false".equals(told);
	}

	/** The largest memory use of this process so far; empty if the system does not tell it. */
	private static String memory() {
		try (Stream<String> s = Files.lines(Paths.get("/proc/self/status"))) {
			return s.filter(l -> l.startsWith("VmHWM:")).map(l -> ", "
				+ Long.parseLong(l.replaceAll("\\D", "")) / 1024 + " MB").findFirst().orElse("");
		} catch (IOException | UncheckedIOException e) {
			return "";
		}
	}

	/** Takes the name of a stage, or the place in it; null means that the translation is over. */
	@Override
	public void accept(String stage) {
		long now = System.nanoTime();
		if (stage == null) {
			if (width > 0)
				System.err.print("\r" + " ".repeat(width) + "\r");
			else if (said > began)
				System.err.println("pico: translated, " + (now - began) / 1_000_000_000
					+ " s" + memory());
			return;
		}
		if (now - began < SOON || now - said < (terminal ? OFTEN : SELDOM))
			return;
		said = now;
		String line = "pico: " + stage + ", " + (now - began) / 1_000_000_000 + " s";
		if (!terminal) {
			System.err.println(line);
			return;
		}
		System.err.print("\r" + line + " ".repeat(Math.max(0, width - line.length())));
		width = Math.max(width, line.length());
	}
}
