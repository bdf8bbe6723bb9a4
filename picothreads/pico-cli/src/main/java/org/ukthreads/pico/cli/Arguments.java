// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import org.ukthreads.pico.sim.Sim;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.analyse.Hot;
import org.ukthreads.pico.translate.rewrite.SchedulingPoints;

/** The arguments of a command: options, then the rest. */
final class Arguments {
	final List<Path> path = new ArrayList<>();
	final List<String> rest = new ArrayList<>();
	/** All arguments, unchanged. */
	final List<String> given;
	/** True for a simulation: its classes are translated differently. */
	final boolean sim;
	private final List<String> conservative = new ArrayList<>();
	private final List<String> rules = new ArrayList<>();
	String out;
	boolean report;
	boolean pins;
	private boolean verify;
	private String hot;
	/** The file for the run's profile, or null for none. */
	String profile;
	/* Options of sim. */
	long seeds = 1_000;
	long from = 1;
	/** A seed, or another token of Sim.Outcome.token(). */
	String replay;
	/** 0 means uniform, -1 means uniform and PCT in turn. */
	int pct = -1;
	/** The most preemptions of a search of all schedules; -1 means that seeds are tried instead. */
	int bound = -1;
	int hurry;
	boolean realWorld;
	/** The most runs for shrinking a failure. */
	int shrink = 2_000;
	SchedulingPoints.Level points = SchedulingPoints.Level.SYNC;
	int preempt;
	long steps;
	/** In seconds; -1 means the default of Sim. */
	long patience = -1;
	boolean asIs;
	/**
	 * For translate: the version of Java whose classes are taken from a multi-release jar; 0 means
	 * the base classes.
	 */
	int release;
	boolean cache = true;
	static final long EVER = Long.MAX_VALUE;
	/** For how many seconds the first start of a large program waits for its translation. */
	long wait = 1;

	/**
	 * For a command that runs a program: all words after the main class or jar are the program's.
	 */
	Arguments(List<String> args) {
		this(args, false);
	}

	Arguments(List<String> args, boolean sim) {
		this(args, sim, true);
	}

	/** For a command that translates files: options may come before and after the files. */
	static Arguments ofFiles(List<String> args) {
		return new Arguments(args, false, false);
	}

	private Arguments(List<String> args, boolean sim, boolean program) {
		given = args;
		this.sim = sim;
		boolean main = false;
		for (int k = 0; k < args.size(); k++) {
			String x = args.get(k);
			if (main) {
				rest.add(x);
			} else if (x.equals("-o") && !program) {
				out = value(args, ++k);
			} else if (x.equals("-cp") || x.equals("-classpath")) {
				for (String p : value(args, ++k).split(File.pathSeparator))
					add(p);
			} else if (x.equals("-jar")) {
				jar(value(args, ++k));
				main = program;
			} else if (x.startsWith("-D") && x.length() > 2) {
				int eq = x.indexOf('=');
				System.setProperty(eq < 0 ? x.substring(2) : x.substring(2, eq),
					eq < 0 ? "" : x.substring(eq + 1));
			} else if (x.equals("--report")) {
				report = true;
			} else if (x.equals("--pins")) {
				pins = true;
			} else if (x.equals("--as-is")) {
				asIs = true;
			} else if (x.equals("--wait")) {
				wait = value(args, ++k).equals("ever") ? EVER : number(args, k);
			} else if (x.equals("--no-cache")) {
				cache = false;
			} else if (x.equals("--verify")) {
				verify = true;
			} else if (x.equals("--hot")) {
				hot = value(args, ++k);
			} else if (x.equals("--profile")) {
				profile = value(args, ++k);
			} else if (x.equals("--seeds")) {
				seeds = number(args, ++k);
			} else if (x.equals("--from")) {
				from = number(args, ++k);
			} else if (x.equals("--replay")) {
				replay = value(args, ++k);
			} else if (x.equals("--pct")) {
				pct = (int) number(args, ++k);
			} else if (x.equals("--uniform")) {
				pct = 0;
			} else if (x.equals("--bound")) {
				bound = (int) number(args, ++k);
			} else if (x.equals("--hurry")) {
				hurry = (int) number(args, ++k);
			} else if (x.equals("--shrink")) {
				shrink = (int) number(args, ++k);
			} else if (x.equals("--real-world")) {
				realWorld = true;
			} else if (x.equals("--fields")) {
				points = SchedulingPoints.Level.FIELDS;
			} else if (x.equals("--no-points")) {
				points = SchedulingPoints.Level.NONE;
			} else if (x.equals("--preempt")) {
				preempt = (int) number(args, ++k);
			} else if (x.equals("--steps")) {
				steps = number(args, ++k);
			} else if (x.equals("--patience")) {
				patience = number(args, ++k);
			} else if (x.equals("--release")) {
				release = (int) number(args, ++k);
			} else if (x.equals("--conservative")) {
				conservative.add(value(args, ++k).replace('.', '/'));
			} else if (x.equals("--rules")) {
				rules.add(value(args, ++k));
			} else {
				if (x.equals("-p") || x.equals("--module-path") || x.equals("-m"))
					Main.fail(x + ": there is no module path; use -cp JARS MAIN");
				if (x.startsWith("-"))
					Main.fail("no such option: " + x);
				rest.add(x);
				main = program;
			}
		}
	}

	/** The program's own arguments: those after the main class. */
	String[] afterMain() {
		return rest.subList(1, rest.size()).toArray(new String[0]);
	}

	private static String value(List<String> args, int k) {
		if (k == args.size())
			Main.fail(args.get(k - 1) + " needs a value");
		return args.get(k);
	}

	private static long number(List<String> args, int k) {
		String v = value(args, k);
		try {
			return Long.parseLong(v);
		} catch (NumberFormatException e) {
			Main.fail(args.get(k - 1) + " needs a number, not " + v);
			return 0;
		}
	}

	/**
	 * Takes the main class from the manifest of the jar, and opens the packages that the manifest
	 * names, as java -jar does.
	 */
	private void jar(String jar) {
		try (JarFile j = new JarFile(jar)) {
			Attributes a = j.getManifest() == null ? new Attributes()
				: j.getManifest().getMainAttributes();
			String main = a.getValue(Attributes.Name.MAIN_CLASS);
			if (main == null)
				Main.refuse(this, jar + ": no Main-Class in its manifest");
			path.clear();
			path.add(Paths.get(jar));
			rest.add(main);
			Opened.by(a);
		} catch (NoSuchFileException e) {
			Main.refuse(this, "-jar " + jar + ": no such file");
		} catch (IOException e) {
			Main.refuse(this, "-jar " + jar + ": " + e.getMessage());
		}
	}

	/**
	 * The class path of the program. As for java, the default is CLASSPATH, then the current
	 * folder.
	 */
	List<Path> path() {
		String told = System.getenv("CLASSPATH");
		if (path.isEmpty() && told != null)
			for (String p : told.split(File.pathSeparator, -1))
				add(p);
		return path.isEmpty() ? List.of(Paths.get(".")) : path;
	}

	private void add(String p) {
		if (!p.endsWith("*")) {
			path.add(Paths.get(p));
			return;
		}
		File[] jars = new File(p.substring(0, p.length() - 1)).listFiles();
		if (jars != null)
			for (File f : jars)
				if (f.getName().endsWith(".jar"))
					path.add(f.toPath());
	}

	/**
	 * All that a translation depends on, except the class path. It becomes part of the cache key.
	 */
	List<String> words() throws IOException {
		List<String> w = new ArrayList<>();
		if (System.getProperty("pico.chaos") != null)
			w.add("chaos");
		if (verify)
			w.add("verify");
		w.add("hot " + System.getProperty("pico.hot", "direct"));
		if (hot != null)
			w.add("hot " + (Files.exists(Paths.get(hot)) ? Files.readString(Paths.get(hot))
				: hot));
		conservative.forEach(c -> w.add("conservative " + c));
		for (String r : rules)
			w.add("rules " + Files.readString(Paths.get(r)));
		if (sim)
			w.add("sim " + points + (preempt > 0 ? " preempt" : ""));
		return w;
	}

	Translator.Options options() throws IOException {
		Translator.Options o = new Translator.Options();
		o.chaos = System.getProperty("pico.chaos") != null;
		o.verify = verify;
		if (hot != null)
			try {
				o.hot = Hot.of(hot);
			} catch (IllegalArgumentException e) {
				Main.fail("--hot: " + e.getMessage());
			}
		o.conservative.addAll(conservative);
		for (String r : rules)
			o.rules.add(new String(Files.readAllBytes(Paths.get(r)), StandardCharsets.UTF_8));
		if (sim) {
			o.rules.add(Sim.rules());
			o.points = points;
			o.chaos |= preempt > 0;
		}
		return o;
	}
}
