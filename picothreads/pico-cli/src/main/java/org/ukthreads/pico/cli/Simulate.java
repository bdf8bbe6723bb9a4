package org.ukthreads.pico.cli;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ukthreads.pico.Loaders;
import org.ukthreads.pico.Reflect;
import org.ukthreads.pico.sim.Sim;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;

/**
 * pico sim: runs a main under one seed after the other, each with classes of its own (no
 * static field is left from the run before), until one fails. Only what the failing run
 * prints is shown; its seed replays it.
 */
final class Simulate {
	private final Arguments a;
	private final long first;
	private final long seeds;
	private final boolean replay;
	private final Sim sim = new Sim();
	private Map<String, byte[]> classes;
	private ClassPath program;

	private Simulate(Arguments a) {
		this.a = a;
		replay = a.replay != null;
		first = replay ? a.replay : a.from;
		seeds = replay ? 1 : a.seeds;
		sim.preempt(a.preempt);
		if (a.steps > 0)
			sim.maxSteps(a.steps);
	}

	static void run(Arguments a) throws Exception {
		if (a.rest.isEmpty())
			Main.fail("pico sim -cp PATH [--seeds N | --replay SEED] MAIN [ARG...]");
		System.exit(new Simulate(a).go() ? 0 : 1);
	}

	private void translate() throws IOException {
		List<Path> path = a.path.isEmpty() ? List.of(Paths.get(".")) : a.path;
		program = new ClassPath(ClassPath.whole(path));
		Translator.Options o = a.options();
		o.rules.add(Sim.rules());
		o.chaos |= a.preempt > 0;
		classes = Translator.of(program, Main.libraries(List.of()), o).run();
	}

	private boolean go() throws Exception {
		translate();
		long start = System.nanoTime();
		Sim.Outcome o = null;
		long n = 0;
		for (; n < seeds; n++) {
			ByteArrayOutputStream printed = new ByteArrayOutputStream();
			o = one(first + n, replay ? null : new PrintStream(printed, true));
			if (!o.ok()) {
				if (!replay)
					System.out.write(printed.toByteArray());
				break;
			}
		}
		if (o == null || o.ok()) {
			System.out.println((replay ? "" + o : "seeds " + first + " to " + (first + n - 1)
				+ ": ok") + ", " + (System.nanoTime() - start) / 1_000_000 + " ms");
			return true;
		}
		System.out.println(o);
		o.failure.printStackTrace(System.out);
		if (!replay)
			System.out.println("again: pico sim " + words() + "--replay " + o.seed + " "
				+ String.join(" ", a.rest));
		return false;
	}

	private String words() {
		List<String> w = new ArrayList<>();
		a.path.forEach(p -> w.add(p.toString()));
		return (w.isEmpty() ? "" : "-cp " + String.join(java.io.File.pathSeparator, w) + " ")
			+ (a.preempt > 0 ? "--preempt " + a.preempt + " " : "")
			+ (a.steps > 0 ? "--steps " + a.steps + " " : "");
	}

	/** out null: the program prints where it likes. */
	private Sim.Outcome one(long seed, PrintStream out) throws Exception {
		PicoLoader l = new PicoLoader(classes, program, Main.class.getClassLoader());
		Loaders.program(l);
		Method m = l.loadClass(a.rest.get(0)).getMethod("main", String[].class);
		m.setAccessible(true);
		PrintStream old = System.out;
		PrintStream err = System.err;
		if (out != null) {
			System.setOut(out);
			System.setErr(out);
		}
		try {
			return sim.run(seed, Reflect.task(m, new Object[] {a.rest.subList(1,
				a.rest.size()).toArray(new String[0])}));
		} finally {
			System.setOut(old);
			System.setErr(err);
		}
	}
}
