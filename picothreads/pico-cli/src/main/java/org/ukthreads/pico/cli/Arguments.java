package org.ukthreads.pico.cli;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.analyse.Hot;

/** Options first, then what is left. */
final class Arguments {
	final List<Path> path = new ArrayList<>();
	final List<String> rest = new ArrayList<>();
	private final List<String> conservative = new ArrayList<>();
	private final List<String> rules = new ArrayList<>();
	String out;
	boolean report;
	boolean pins;
	private boolean verify;
	private String hot;
	/** Where a run's profile goes; null: nowhere. */
	String profile;
	/* Of sim. */
	long seeds = 1_000;
	long from = 1;
	Long replay;
	int preempt;
	long steps;
	boolean asIs;

	/** Reads options up to the first argument that is none; -o may also come later. */
	Arguments(List<String> args) {
		boolean main = false;
		for (int k = 0; k < args.size(); k++) {
			String x = args.get(k);
			if (x.equals("-o") && rest.size() <= 1) {
				out = args.get(++k);
			} else if (main) {
				rest.add(x);
			} else if (x.equals("-cp") || x.equals("-classpath")) {
				for (String p : args.get(++k).split(File.pathSeparator))
					add(p);
			} else if (x.equals("--report")) {
				report = true;
			} else if (x.equals("--pins")) {
				pins = true;
			} else if (x.equals("--as-is")) {
				asIs = true;
			} else if (x.equals("--verify")) {
				verify = true;
			} else if (x.equals("--hot")) {
				hot = args.get(++k);
			} else if (x.equals("--profile")) {
				profile = args.get(++k);
			} else if (x.equals("--seeds")) {
				seeds = Long.parseLong(args.get(++k));
			} else if (x.equals("--from")) {
				from = Long.parseLong(args.get(++k));
			} else if (x.equals("--replay")) {
				replay = Long.valueOf(args.get(++k));
			} else if (x.equals("--preempt")) {
				preempt = Integer.parseInt(args.get(++k));
			} else if (x.equals("--steps")) {
				steps = Long.parseLong(args.get(++k));
			} else if (x.equals("--conservative")) {
				conservative.add(args.get(++k).replace('.', '/'));
			} else if (x.equals("--rules")) {
				rules.add(args.get(++k));
			} else {
				rest.add(x);
				main = !x.endsWith(".jar");
			}
		}
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

	Translator.Options options() throws IOException {
		Translator.Options o = new Translator.Options();
		o.chaos = Boolean.getBoolean("pico.chaos.translate");
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
		return o;
	}
}
