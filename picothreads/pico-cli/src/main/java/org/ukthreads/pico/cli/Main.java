// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.cli;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.ukthreads.pico.Blocking;
import org.ukthreads.pico.Entry;
import org.ukthreads.pico.ForkJoins;
import org.ukthreads.pico.Loaders;
import org.ukthreads.pico.Pins;
import org.ukthreads.pico.PicoRuntime;
import org.ukthreads.pico.PicoThread;
import org.ukthreads.pico.Threads;
import org.ukthreads.pico.translate.Classes;
import org.ukthreads.pico.translate.PicoLoader;
import org.ukthreads.pico.translate.Report;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.read.ClassPath;
import org.ukthreads.pico.translate.read.Nested;

/** The pico command. */
public final class Main {
	private static final String USAGE = String.join("\n",
		"pico translate IN.jar [-o OUT.jar] [-cp LIBS] [--report]",
		"pico run [-cp PATH] [--report] [--pins] MAIN [ARG...]     translates and runs",
		"pico run [--report] [--pins] -jar APP.jar [ARG...]        runs a jar, like java -jar",
		"pico report IN.jar [-cp LIBS]                             shows what would change and why",
		"pico sim [-cp PATH] [--seeds N] MAIN [ARG...]             looks for a seed that fails",
		"pico sim [-cp PATH] --replay TOKEN MAIN [ARG...]          repeats a run",
		"pico dump PID                                             shows parked threads and locals",
		"pico jstack PID                                           shows all threads, as jstack does",
		"pico durable ls|show|cancel|resume|drop|check ...         acts on durable threads",
		"pico cache [show|clear|dir]                               stored translations",
		"pico piranha URL...                                       runs the crawler",
		"pico version",
		"",
		"PATH and LIBS are class paths. Options for translate, run and report:",
		"  --conservative a.b.c    every method of that package may suspend",
		"  --rules FILE            more replacement rules",
		"  --verify                verify the translated classes",
		"  --release N             translate: use a multi-release jar's classes for Java N",
		"  --hot FILE              optimize the methods that suspend often in that profile",
		"for sim:",
		"  --from SEED             the first seed (default: 1)",
		"  --uniform | --pct D     how a seed makes its decisions (default: both in turn)",
		"  --bound N               try all schedules with at most N preemptions, no seeds",
		"  --fields                also switch threads at accesses to plain fields",
		"  --no-points             switch threads only where they wait",
		"  --real-world            use the real sockets and files",
		"  --hurry N               let a timer expire early in one decision of N",
		"  --preempt N             also suspend at one method entry of N",
		"  --shrink N              runs for shortening a failing schedule (default: 2000)",
		"  --steps N               fail a run that takes more steps",
		"  --patience SECONDS      fail a step that takes longer (default: 60)",
		"and for run:",
		"  -DNAME=VALUE            set a system property",
		"  --wait SECONDS|ever     for the translation of a large program, at its first start (1)",
		"  --no-cache              do not use stored translations, and store none",
		"  --as-is                 PATH is translated already",
		"  --profile FILE          write a profile of suspensions, for --hot", "");

	/** Our own class path. The property is later set to the program's. */
	static final String OWN = System.getProperty("java.class.path");

	private Main() {}

	public static void main(String[] args) throws Exception {
		if (args.length == 0 || args[0].equals("help") || isHelp(args[0])
				|| args.length > 1 && isHelp(args[1])) {
			System.out.print(USAGE);
			return;
		}
		try {
			command(args);
		} catch (NoSuchFileException e) {
			fail("no such file: " + e.getMessage());
		} catch (AccessDeniedException e) {
			fail("permission denied: " + e.getMessage());
		} catch (IOException | UncheckedIOException e) {
			fail(e.getMessage() != null ? e.getMessage() : e.toString());
		}
	}

	private static void command(String[] args) throws Exception {
		List<String> rest = new ArrayList<>(Arrays.asList(args).subList(1, args.length));
		ForkJoins.install();
		switch (args[0]) {
		case "translate":
			translate(Arguments.ofFiles(rest));
			break;
		case "run":
			run(new Arguments(rest));
			break;
		case "report":
			System.out.print(report(Arguments.ofFiles(rest)).text(true));
			break;
		case "sim":
			Simulate.run(new Arguments(rest, true));
			break;
		case "durable":
			Durables.run(rest);
			break;
		case "dump":
		case "jstack":
			Dumper.dump(args[0], rest);
			break;
		case "cache":
			Cache.command(rest);
			break;
		case "version":
		case "--version":
			System.out.println("pico " + Main.class.getPackage().getImplementationVersion()
				+ ", Java " + System.getProperty("java.version"));
			break;
		case "warm":
			Warm.run();
			break;
		case "keep":
			Apart.begin();
			Translations.keep(new Arguments(rest));
			break;
		case "keep-later":
			Apart.mayEnd();
			Translations.keepLater(new Arguments(rest));
			break;
		case "keep-sim":
			Apart.begin();
			Translations.keep(new Arguments(rest, true));
			break;
		default:
			fail("unknown command: " + args[0] + "\n" + USAGE);
		}
	}

	private static boolean isHelp(String word) {
		return word.equals("-h") || word.equals("--help");
	}

	static void fail(String message) {
		System.err.println(message);
		System.exit(2);
	}

	/**
	 * Reports what java, too, refuses to start, and exits with 1, as java does. For sim that code
	 * means a seed that fails, so it exits with 2.
	 */
	static void refuse(Arguments a, String message) {
		System.err.println(message);
		System.exit(a.sim ? 2 : 1);
	}

	/**
	 * The jar or folder that this class was loaded from. It holds the runtime and its libraries.
	 */
	static Path self() {
		try {
			return Paths.get(Main.class.getProtectionDomain().getCodeSource().getLocation()
				.toURI());
		} catch (URISyntaxException e) {
			throw new IllegalStateException(e);
		}
	}

	/** The libraries for a translation: all pico entries of our own class path, and more. */
	static ClassPath libraries(List<Path> more) {
		List<Path> all = new ArrayList<>();
		all.add(self());
		for (String p : OWN.split(File.pathSeparator))
			if (p.contains("pico"))
				all.add(Paths.get(p));
		all.addAll(ClassPath.whole(more));
		return new ClassPath(all);
	}

	private static void translate(Arguments a) throws IOException {
		if (a.rest.size() != 1)
			fail("pico translate IN.jar -o OUT.jar");
		Path in = there(a.rest.get(0));
		Path out = a.out != null ? Paths.get(a.out)
			: Paths.get(in.toString().replaceFirst("\\.jar$", "") + "-pico.jar");
		Nested jar = new Nested(in);
		ClassPath program = ClassPath.of(jar.paths(), a.release);
		Translator t = Translator.of(program, libraries(with(a.path, List.of(in))),
			a.options());
		Map<String, byte[]> classes = t.run();
		Jars.write(out, jar, program, classes);
		System.out.print(t.report().text(a.report));
		if (a.release == 0 && program.entries().keySet().stream().anyMatch(Jars::isLater))
			System.err.println("left out: classes for later versions of Java, in a"
				+ " multi-release jar; --release N takes those for Java N");
		program.entries().keySet().stream()
			.filter(n -> n.endsWith(".jar") && !jar.parts().containsKey(n))
			.forEach(n -> System.err.println("not translated: " + n + ", a nested jar"));
	}

	private static Path there(String file) {
		Path p = Paths.get(file);
		if (!Files.exists(p))
			fail("no such file: " + file);
		return p;
	}

	/** The libraries for a program: path, and the jars that the program's manifests name. */
	private static List<Path> with(List<Path> path, List<Path> program) {
		List<Path> all = new ArrayList<>(path);
		all.addAll(ClassPath.whole(program));
		all.removeAll(program);
		return all;
	}

	private static Report report(Arguments a) throws IOException {
		List<Path> in = new ArrayList<>();
		a.rest.forEach(p -> in.add(there(p)));
		Translator t = Translator.of(new ClassPath(Nested.unfold(in)), libraries(with(a.path, in)),
			a.options());
		t.run();
		return t.report();
	}

	static void run(Arguments a) throws Exception {
		if (a.rest.isEmpty())
			fail("pico run -cp PATH MAIN [ARG...]");
		if (a.profile != null)
			System.setProperty("pico.profile", a.profile);
		List<Path> path = a.path();
		String main = Nested.start(path, a.rest.get(0)).replace('/', '.');
		if (a.asIs) {
			List<URL> urls = new ArrayList<>();
			for (Path p : Nested.unfold(path))
				urls.add(p.toUri().toURL());
			start(new URLClassLoader(urls.toArray(new URL[0]), Main.class.getClassLoader()),
				main, a);
			return;
		}
		/* The value that java would set. */
		StringBuilder words = new StringBuilder();
		for (Path p : path)
			words.append(words.length() == 0 ? "" : File.pathSeparator).append(p);
		System.setProperty("java.class.path", words.toString());
		Classes c = Translations.of(ClassPath.whole(path), a);
		if (c == null)
			First.run(path, a.rest.get(0).replace('/', '.'), a);
		else
			start(new PicoLoader(c, Main.class.getClassLoader()), main, a);
	}

	static Runnable program(ClassLoader l, String main, Arguments a) {
		try {
			return Entry.task(l.loadClass(main), a.afterMain());
		} catch (ClassNotFoundException e) {
			refuse(a, "no such class: " + main);
		} catch (NoSuchMethodException e) {
			refuse(a, e.getMessage());
		}
		return null;
	}

	/** Runs the program's main on a pico thread. */
	private static void start(ClassLoader l, String main, Arguments a) throws Exception {
		Thread.currentThread().setContextClassLoader(l);
		Loaders.program(l);
		PicoThread t = new PicoThread(null, program(l, main, a), "main");
		t.setContextClassLoader(l);
		if (a.pins)
			Runtime.getRuntime().addShutdownHook(new Thread(() -> System.err.println(
				"pins that blocked: " + Pins.blocked() + " " + Pins.report()
				+ ", carriers taken from stuck threads: " + Pins.taken()
				+ ", calls by helpers: " + Blocking.helped()
				+ ", OS threads: " + PicoRuntime.main().osThreads())));
		Thread.UncaughtExceptionHandler[] of = {t.getUncaughtExceptionHandler()};
		Throwable[] thrown = new Throwable[1];
		t.setUncaughtExceptionHandler((x, e) -> {
			thrown[0] = e;
			t.setUncaughtExceptionHandler(of[0]);
			t.getUncaughtExceptionHandler().uncaughtException(x, e);
		});
		Threads.host();
		t.start();
		Threads.join(t);
		if (thrown[0] != null) {
			/* The error is printed already. This thread ends with it, too, for the exit code. */
			Thread.currentThread().setUncaughtExceptionHandler((x, e) -> {});
			throw new IllegalStateException(thrown[0]);
		}
	}
}
