/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command: piranha [options] URL...
 *
 * Exit codes: 0 the crawl ended, or reached a limit that was asked for; 1 nothing could be
 * fetched; 2 bad usage; 4 the frontier, the archive or the log failed; 130 stopped by a signal.
 */
package org.ukthreads.pico.piranha;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

import org.ukthreads.pico.piranha.frontier.DiskFrontier;
import org.ukthreads.pico.piranha.frontier.Frontier;
import org.ukthreads.pico.piranha.frontier.MemoryFrontier;
import org.ukthreads.pico.piranha.frontier.SharedFrontier;

@Command(name = "pico piranha", mixinStandardHelpOptions = true, version = "piranha 0.2.0",
		sortOptions = false,
		header = "Crawls the web from the given URLs, with one thread per URL.",
		description = {"", "Visits each page once, follows its links within the scope, obeys"
			+ " robots.txt, and is polite to hosts.", ""},
		exitCodeListHeading = "%nExit codes:%n",
		exitCodeList = {"0:the crawl ended, or reached a limit that was asked for",
			"1:nothing could be fetched", "2:bad usage",
			"4:the frontier, the archive or the log failed", "130:stopped by a signal"},
		footer = {"", "Examples:",
			"  pico piranha --depth=2 https://example.org/",
			"  pico piranha --frontier=disk:crawl --warc=warc https://example.org/",
			"  pico piranha --frontier=disk:crawl --warc=warc --resume https://example.org/"})
public final class Piranha {
	private static final int FETCHED_NOTHING = 1;
	private static final int USAGE = 2;
	private static final int BROKEN = 4;
	private static final int STOPPED = 130;

	@Mixin
	private final Options options = new Options();

	@Parameters(paramLabel = "URL", description = "A URL to start from; http:// may be left out.")
	private List<String> seeds = new ArrayList<>();

	@Spec
	private CommandSpec spec;

	public static void main(String[] args) {
		System.exit(run(args));
	}

	/** The parser only parses. The crawl starts from here, so no frame of a library is below it. */
	static int run(String... args) {
		Piranha piranha = new Piranha();
		FrontierCommand frontier = new FrontierCommand();
		CommandLine line = new CommandLine(piranha).addSubcommand("frontier", frontier)
				.setCaseInsensitiveEnumValuesAllowed(true)
				.setOverwrittenOptionsAllowed(true);
		try {
			ParseResult parsed = line.parseArgs(args);
			if (CommandLine.printHelpIfRequested(parsed)) {
				return 0;
			}
			return parsed.hasSubcommand() ? frontier.serve() : piranha.crawl();
		} catch (ParameterException e) {
			System.err.println("piranha: " + e.getMessage() + "\nTry 'pico piranha --help'.");
			return USAGE;
		} catch (InterruptedException e) {
			return STOPPED;
		}
	}

	private int crawl() throws InterruptedException {
		String complaint = options.check();
		if (!complaint.isEmpty()) {
			throw usage(complaint);
		}
		if (seeds.isEmpty()) {
			throw usage("Give at least one URL to start from.");
		}
		List<String> normal = normalSeeds();
		Threads threads = threads();
		Stopper stopper = new Stopper();
		try (Frontier frontier = frontier(); Crawl crawl = new Crawl(options, normal, frontier,
				threads)) {
			stopper.install(crawl, options.maxTimeMillis);
			return run(crawl, stopper);
		} catch (IOException e) {
			System.err.println("piranha: " + message(e));
			return BROKEN;
		} finally {
			stopper.finish();
		}
	}

	private int run(Crawl crawl, Stopper stopper) throws IOException, InterruptedException {
		boolean bar = options.progress || (!options.quiet && System.console() != null);
		Progress progress = new Progress(crawl, System.err);
		if (bar) {
			progress.start();
		}
		try {
			crawl.run();
		} finally {
			if (bar) {
				progress.end();
			}
		}
		Summary summary = new Summary(crawl);
		if (!options.quiet) {
			System.out.print(summary.text());
			System.out.flush();
		}
		if (options.json.isPresent()) {
			try (OutputStream out = new FileOutputStream(options.json.get())) {
				out.write(summary.json().getBytes(StandardCharsets.UTF_8));
			}
		}
		if (stopper.signalled()) {
			return STOPPED;
		}
		return crawl.tally().read() == 0 && crawl.tally().settled() > 0
				&& crawl.tally().count(Outcome.REDIRECT) == 0 ? FETCHED_NOTHING : 0;
	}

	private List<String> normalSeeds() {
		Urls urls = new Urls();
		List<String> normal = new ArrayList<>();
		for (String seed : seeds) {
			String full = seed.contains("://") ? seed : "http://" + seed;
			Optional<String> url = urls.normal(full);
			if (!url.isPresent()) {
				throw usage("'" + seed + "' is not an http or https URL.");
			}
			normal.add(url.get());
		}
		return normal;
	}

	private Threads threads() {
		String kind = options.threads;
		if (kind.equals("auto")) {
			kind = Pico.translated() ? "pico" : VirtualThreads.supported() ? "virtual"
					: "platform";
		}
		if (options.maxThreads == 0) {
			options.maxThreads = kind.equals("platform") ? 2000 : 100_000;
		}
		try {
			return threads(kind);
		} catch (IllegalArgumentException e) {
			throw usage("--threads=" + options.threads + ": " + e.getMessage());
		}
	}

	private static Threads threads(String kind) {
		if (kind.startsWith("pool:")) {
			int size;
			try {
				size = Integer.parseInt(kind.substring(5));
			} catch (NumberFormatException e) {
				size = 0;
			}
			if (size < 1) {
				throw new IllegalArgumentException("pool:N takes a number of threads");
			}
			return new PoolThreads(size);
		}
		switch (kind) {
			case "pico":
				if (!Pico.translated()) {
					throw new IllegalArgumentException(
							"this is the untranslated crawler; start it with 'pico piranha'");
				}
				return new ThreadPerTask();
			case "platform":
				if (Pico.translated()) {
					throw new IllegalArgumentException("this is the translated crawler;"
							+ " start it with 'java -jar' for platform threads");
				}
				return new ThreadPerTask();
			case "virtual":
				return VirtualThreads.open();
			default:
				throw new IllegalArgumentException(
						"expected one of pico, virtual, platform, pool:N");
		}
	}

	private Frontier frontier() throws IOException {
		String where = options.frontier;
		boolean byDepth = options.depth < Integer.MAX_VALUE;
		if (where.equals("memory")) {
			return new MemoryFrontier(byDepth);
		}
		if (where.startsWith("disk:") && where.length() > 5) {
			File dir = new File(where.substring(5));
			if (DiskFrontier.exists(dir) && !options.resume) {
				throw usage("'" + dir + "' already holds a crawl: continue it with --resume, or"
						+ " name another directory.");
			}
			if (options.salvage) {
				String lost = DiskFrontier.salvage(dir);
				if (!lost.isEmpty()) {
					System.err.println("piranha: " + lost);
				}
			}
			return DiskFrontier.open(dir, byDepth);
		}
		if (where.startsWith("urlfrontier:")) {
			String[] parts = where.split(":");
			if (parts.length == 3 && parts[2].matches("[0-9]{1,5}")) {
				return SharedFrontier.connect(parts[1], Integer.parseInt(parts[2]),
						options.crawlId, options.leaseMillis);
			}
		}
		throw usage("--frontier=" + where
				+ ": expected one of memory, disk:DIR, urlfrontier:HOST:PORT");
	}

	private ParameterException usage(String complaint) {
		return new ParameterException(spec.commandLine(), complaint);
	}

	private static String message(Throwable failure) {
		return failure.getMessage() == null ? failure.toString() : failure.getMessage();
	}
}
