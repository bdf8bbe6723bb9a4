// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.ukthreads.pico.Chaos;
import org.ukthreads.pico.Clock;
import org.ukthreads.pico.PicoRuntime;
import org.ukthreads.pico.Pins;

/**
 * The JVM that runs one library's tests in one mode: <code>Worker plain|pico|reload EVERY SEED OUT
 * WHAT PATH...</code>. WHAT is a file of class names and test ids; PATH begins with the folder of
 * the program. OUT gets a line per test, "id TAB outcome TAB ms" (line ends and tabs as \n, \t),
 * and the counts at the end.
 */
public final class Worker {
	private Worker() {}

	public static void main(String[] a) throws Exception {
		List<URL> path = new ArrayList<>();
		for (int k = 5; k < a.length; k++)
			path.add(Paths.get(a[k]).toUri().toURL());
		Loader loader = new Loader(path.toArray(new URL[0]));
		Thread.currentThread().setContextClassLoader(loader);
		boolean pico = !a[0].equals("plain");
		Reload reload = a[0].equals("reload") ? new Reload(loader) : null;
		if (reload != null)
			PicoRuntime.install(new PicoRuntime("pico", 1, reload, Clock.REAL));
		int every = Integer.parseInt(a[1]);
		Calls.prepare(loader, pico, every, Long.parseLong(a[2]), reload);
		try (BufferedWriter out = Files.newBufferedWriter(Paths.get(a[3]))) {
			List<Object> what = new ArrayList<>();
			for (String s : Files.readAllLines(Path.of(a[4]))) {
				if (s.startsWith("[")) {
					what.add(s);
					continue;
				}
				try {
					what.add(Class.forName(s, false, loader));
				} catch (LinkageError e) {
					line(out, s, "NOT LOADED " + e);
				}
			}
			@SuppressWarnings("unchecked")
			BiConsumer<List<Object>, BiConsumer<String, String>> runner =
				(BiConsumer<List<Object>, BiConsumer<String, String>>) loader
					.loadClass("org.ukthreads.pico.oracle.junit.Runner")
					.getConstructor().newInstance();
			runner.accept(what, (id, outcome) -> line(out, id, outcome));
			line(out, "#calls", "" + Calls.made());
			line(out, "#suspensions", "" + Chaos.suspensions());
			line(out, "#pinned", "" + Pins.blocked());
			if (reload != null) {
				reload.counts().forEach((k, n) -> line(out, "#" + k, "" + n));
				reload.named().forEach((k, n) -> line(out, "#stays: " + k, "" + n));
			}
			line(out, "#lost", "" + Pins.lostFrames());
		}
		System.exit(0);
	}

	private static long last = System.nanoTime();

	private static synchronized void line(BufferedWriter out, String id, String outcome) {
		long now = System.nanoTime();
		try {
			out.write(one(id) + "\t" + one(outcome) + "\t" + (now - last) / 1_000_000);
			last = now;
			out.newLine();
			out.flush();
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	private static String one(String s) {
		return s.replace("\t", "\\t").replace("\r", "").replace("\n", "\\n");
	}
}
