// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import org.ukthreads.pico.Loaders;
import org.ukthreads.pico.sim.Sim;
import org.ukthreads.pico.translate.Classes;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.rewrite.SchedulingPoints;

/**
 * pico sim: runs a main method under one seed after the other, until one fails. Each run has its
 * own classes, so static fields start afresh. Then it looks for the shortest schedule that fails in
 * the same way. It shows the output of that run alone, and the token that replays it.
 */
final class Simulate implements Sim.Program {
	private final Arguments a;
	private final Sim sim = new Sim();
	private Classes classes;
	private final PrintStream out = System.out;
	private final PrintStream err = System.err;
	/** The output of the last run; null if the program prints directly. */
	private ByteArrayOutputStream printed;

	private Simulate(Arguments a) {
		this.a = a;
		sim.preempt(a.preempt).hurry(a.hurry);
		sim.loader(() -> new PicoLoader(classes, Main.class.getClassLoader()));
		if (a.realWorld)
			sim.realWorld();
		if (a.steps > 0)
			sim.maxSteps(a.steps);
		if (a.patience >= 0)
			sim.patience(a.patience);
		if (Progress.isWanted())
			sim.teller(s -> err.println("pico: " + s));
		if (a.pct == 0)
			sim.uniform();
		if (a.pct > 0)
			sim.pct(a.pct);
	}

	static void run(Arguments a) throws Exception {
		if (a.rest.isEmpty() || a.seeds < 1)
			Main.fail("pico sim -cp PATH [--seeds N | --bound N | --replay TOKEN] MAIN"
				+ " [ARG...]");
		if (a.pct > 4 || a.pct < -1)
			Main.fail("--pct: the depth is from 1 to 4");
		System.exit(new Simulate(a).go() ? 0 : 1);
	}

	private boolean go() throws Exception {
		classes = Translations.of(ClassPath.whole(a.path()), a);
		long start = System.nanoTime();
		Sim.Outcome o = a.replay != null ? replay() : search();
		System.setOut(out);
		System.setErr(err);
		long ms = (System.nanoTime() - start) / 1_000_000;
		if (o == null || o.ok()) {
			out.println((a.replay != null ? "" + o : covered()) + ", " + ms + " ms");
			return true;
		}
		if (a.replay != null) {
			failed(o);
			return false;
		}
		o = told(o);
		out.println("again: pico sim " + words(o) + "--replay " + o.token() + " "
				+ String.join(" ", a.rest));
		return false;
	}

	private Sim.Outcome replay() throws Exception {
		Runnable r = fresh();
		try {
			return sim.replay(a.replay, r);
		} catch (IllegalArgumentException e) {
			Main.fail("--replay: " + e.getMessage());
			return null;
		}
	}

	private Sim.Outcome search() throws Exception {
		printed = new ByteArrayOutputStream();
		if (a.bound < 0)
			return sim.check(a.from, a.seeds, this);
		return sim.explore(a.from, a.bound, (int) a.seeds, this);
	}

	private String covered() {
		if (a.bound < 0)
			return "seeds " + a.from + " to " + (a.from + a.seeds - 1) + ": ok, "
				+ sim.coverage();
		return (sim.complete() ? "all schedules with at most " : "not all schedules with at most ")
			+ a.bound + " preemptions: ok, " + sim.coverage();
	}

	/** Shrinks the failure if requested, and prints it with the output of its run. */
	private Sim.Outcome told(Sim.Outcome first) throws Exception {
		byte[] text = printed.toByteArray();
		Sim.Outcome o = first;
		if (a.shrink > 0) {
			o = sim.shrink(first, a.shrink, this);
			System.setOut(out);
			System.setErr(err);
			text = printed.toByteArray();
		}
		out.write(text);
		failed(o);
		if (o != first)
			out.print("found by seed " + first.token() + " in run " + sim.coverage().runs()
				+ " (" + first.schedule.length() + " turns); " + o.told());
		return o;
	}

	private void failed(Sim.Outcome o) {
		out.println(o);
		o.failure.printStackTrace(out);
	}

	private String words(Sim.Outcome o) {
		List<String> w = new ArrayList<>();
		a.path.forEach(p -> w.add(p.toString()));
		return (w.isEmpty() ? "" : "-cp " + String.join(java.io.File.pathSeparator, w) + " ")
			+ (a.points == SchedulingPoints.Level.FIELDS ? "--fields " : "")
			+ (a.points == SchedulingPoints.Level.NONE ? "--no-points " : "")
			+ (o.token().contains("@") ? "" : a.pct == 0 ? "--uniform " : a.pct > 0 ? "--pct " + a.pct
				+ " " : "")
			+ (a.realWorld ? "--real-world " : "")
			+ (a.hurry > 0 ? "--hurry " + a.hurry + " " : "")
			+ (a.preempt > 0 ? "--preempt " + a.preempt + " " : "")
			+ (a.steps > 0 ? "--steps " + a.steps + " " : "")
			+ (a.patience >= 0 ? "--patience " + a.patience + " " : "");
	}

	@Override
	public Runnable fresh() throws Exception {
		PicoLoader l = new PicoLoader(classes, Main.class.getClassLoader());
		Loaders.program(l);
		Runnable program = Main.program(l, a.rest.get(0), a);
		if (printed != null) {
			printed = new ByteArrayOutputStream();
			PrintStream to = new PrintStream(printed, true);
			System.setOut(to);
			System.setErr(to);
		}
		return program;
	}
}
