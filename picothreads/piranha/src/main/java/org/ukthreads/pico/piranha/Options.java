/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.io.File;
import java.net.MalformedURLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

import org.ukthreads.pico.piranha.http.HttpLimits;
import org.ukthreads.pico.piranha.http.Proxy;

/** The settings of a crawl: the command line's options, and their defaults. */
final class Options {
	@Option(names = {"-d", "--depth"}, paramLabel = "N", description =
			"Follow links up to N clicks away from the seeds (default: no limit).")
	int depth = Integer.MAX_VALUE;

	@Option(names = {"-s", "--scope"}, paramLabel = "KIND", description =
			"Stay on the seeds' host, domain, or URL prefix, or go anywhere: host, domain,"
			+ " prefix, any (default: host).")
	Scope.Kind scope = Scope.Kind.HOST;

	@Option(names = "--include", paramLabel = "REGEX", description =
			"Follow only links that match; may be repeated.")
	List<Pattern> include = new ArrayList<>();

	@Option(names = "--exclude", paramLabel = "REGEX", description =
			"Follow no links that match; may be repeated.")
	List<Pattern> exclude = new ArrayList<>();

	@Option(names = {"-n", "--max-pages"}, paramLabel = "N", description =
			"Stop after N URLs (default: no limit).")
	long maxPages = Long.MAX_VALUE;

	@Option(names = "--max-time", paramLabel = "TIME", converter = Millis.class, description =
			"Stop after this time, such as 90s, 10m or 2h (default: no limit).")
	int maxTimeMillis;

	@Option(names = {"-t", "--threads"}, paramLabel = "KIND", description =
			"The kind of thread for each URL: pico, virtual, platform, or pool:N for N platform"
			+ " threads that share the URLs (default: the first of pico, virtual, platform that"
			+ " works).")
	String threads = "auto";

	@Option(names = "--max-threads", paramLabel = "N", description =
			"The most URLs under way at once, including those that wait for their turn (default:"
			+ " 100000; 2000 for platform threads).")
	int maxThreads;

	@Option(names = "--max-connections", paramLabel = "N", description =
			"The most connections in use at once (default: one for each 256 KB of heap, but 16 to"
			+ " 4000).")
	int maxConnections = (int) Math.max(16, Math.min(4000,
			Runtime.getRuntime().maxMemory() >> 18));

	@Option(names = "--delay", paramLabel = "TIME", converter = Millis.class, description =
			"Time between requests to one host, such as 500ms or 2s (default: 1s): after each"
			+ " request, or with --per-host above 1 between their starts. A longer crawl delay in"
			+ " robots.txt takes precedence.")
	Optional<Integer> delayMillis = Optional.empty();

	@Option(names = "--per-host", paramLabel = "N", description =
			"The most requests to one host at once (default: 1). This machine (localhost, 127.*)"
			+ " gets 64 and no delay, unless --delay or --per-host is given.")
	Optional<Integer> perHost = Optional.empty();

	@Option(names = "--no-robots", negatable = false, description =
			"Do not read robots.txt. Use this only for your own hosts.")
	boolean noRobots;

	boolean robots = true;

	@Option(names = "--sitemap", description =
			"Also start from the URLs in the seeds' sitemaps.")
	boolean sitemap;

	@Option(names = "--agent", paramLabel = "TEXT", description =
			"The User-Agent; its first word is matched with robots.txt (default:"
			+ " ${DEFAULT-VALUE}).")
	String agent = "Piranha/0.1";

	@Option(names = "--connect-timeout", paramLabel = "TIME", converter = Millis.class,
			description = "The longest time for a connect (default: 10s).")
	int connectMillis = 10_000;

	@Option(names = "--read-timeout", paramLabel = "TIME", converter = Millis.class,
			description = "The longest wait for bytes from a server (default: 20s).")
	int readMillis = 20_000;

	@Option(names = "--total-timeout", paramLabel = "TIME", converter = Millis.class,
			description = "The longest that one fetch may take (default: 60s).")
	int totalMillis = 60_000;

	@Option(names = "--max-size", paramLabel = "SIZE", converter = Size.class, description =
			"Truncate longer bodies, such as 500k or 5M (default: 10M).")
	int maxBytes = 10 << 20;

	@Option(names = "--max-redirects", paramLabel = "N", description =
			"The most redirects in a row to follow (default: ${DEFAULT-VALUE}).")
	int maxRedirects = 5;

	@Option(names = "--retries", paramLabel = "N", description =
			"Further attempts when a connection fails (default: ${DEFAULT-VALUE}).")
	int retries = 1;

	@Option(names = "--busy-retries", paramLabel = "N", description =
			"Further attempts at a server that answers 429 or 503, each after the time that it"
			+ " asks for (default: ${DEFAULT-VALUE}).")
	int busyRetries = 5;

	@Option(names = "--patience", paramLabel = "TIME", converter = Millis.class, description =
			"The longest Retry-After to wait for (default: 10m).")
	int patienceMillis = 600_000;

	@Option(names = "--proxy", paramLabel = "[USER:PASSWORD@]HOST[:PORT]",
			converter = Via.class, description = "An HTTP proxy for all requests.")
	Optional<Proxy> proxy = Optional.empty();

	@Option(names = "--no-keep-alive", description = "Open a new connection for each URL.")
	boolean noKeepAlive;

	boolean keepAlive = true;

	@Option(names = {"-f", "--frontier"}, paramLabel = "WHERE", description =
			"Where to keep the URLs to visit: memory, disk:DIR (survives kill -9), or"
			+ " urlfrontier:HOST:PORT (shared by many machines) (default: memory).")
	String frontier = "memory";

	@Option(names = "--resume", description =
			"Continue the crawl in --frontier=disk:DIR.")
	boolean resume;

	@Option(names = "--salvage", description =
			"With --resume: put the damaged part of a journal aside, and continue with the rest.")
	boolean salvage;

	@Option(names = "--crawl-id", paramLabel = "NAME", description =
			"The crawl's name at a URLFrontier (default: ${DEFAULT-VALUE}).")
	String crawlId = "piranha";

	@Option(names = "--lease", paramLabel = "TIME", converter = Millis.class, description =
			"A URLFrontier gives a URL to another crawler after this time without a result"
			+ " (default: 10m).")
	int leaseMillis = 600_000;

	@Option(names = {"-w", "--warc"}, paramLabel = "DIR", description =
			"Archive all fetches as WARC/1.1 files in DIR.")
	Optional<File> warc = Optional.empty();

	@Option(names = "--log", paramLabel = "FILE", description =
			"Append a line for each URL: time, outcome, status, bytes, depth, ms, URL, note.")
	Optional<File> log = Optional.empty();

	@Option(names = "--json", paramLabel = "FILE", description =
			"Write the summary as JSON.")
	Optional<File> json = Optional.empty();

	@Option(names = {"-q", "--quiet"}, description = "Show no progress bar and no summary.")
	boolean quiet;

	@Option(names = "--progress", description =
			"Show a progress bar even if there is no terminal.")
	boolean progress;

	HttpLimits limits() {
		return new HttpLimits(connectMillis, readMillis, totalMillis, maxBytes);
	}

	/** Completes the settings. Returns what is wrong with them, or "". */
	String check() {
		robots = !noRobots;
		keepAlive = !noKeepAlive;
		if (depth < 0 || maxPages < 1 || maxRedirects < 0 || retries < 0) {
			return "--depth, --max-redirects and --retries take 0 or more, --max-pages 1 or more";
		}
		if (maxConnections < 1 || perHost.orElse(1) < 1 || maxThreads < 0) {
			return "--max-connections, --per-host and --max-threads take 1 or more";
		}
		if (connectMillis < 1 || readMillis < 1 || totalMillis < 1 || maxBytes < 1) {
			return "time-outs and --max-size must be more than 0";
		}
		if (Robots.product(agent).isEmpty()) {
			return "--agent must begin with a word of letters: robots.txt is matched with it";
		}
		if (busyRetries < 0) {
			return "--busy-retries takes 0 or more";
		}
		if (salvage && !resume) {
			return "--salvage needs --resume";
		}
		if (resume && !frontier.startsWith("disk:")) {
			return "--resume needs --frontier=disk:DIR";
		}
		return "";
	}

	/** A proxy, as Proxy.of reads it. */
	static final class Via implements ITypeConverter<Proxy> {
		@Override
		public Proxy convert(String text) {
			try {
				return Proxy.of(text);
			} catch (MalformedURLException e) {
				throw new TypeConversionException("'" + text + "' is not a proxy: write HOST:PORT");
			}
		}
	}

	/** A time in milliseconds: a number with ms, s, m or h. */
	static final class Millis implements ITypeConverter<Integer> {
		@Override
		public Integer convert(String text) {
			String[] units = {"ms", "s", "m", "h"};
			int[] millis = {1, 1000, 60_000, 3_600_000};
			for (int i = 0; i < units.length; i++) {
				if (text.endsWith(units[i])) {
					return scaled(text, units[i], millis[i]);
				}
			}
			if (text.equals("0")) {
				return 0;
			}
			throw new TypeConversionException("'" + text
					+ "' is not a time: write 500ms, 2s or 10m");
		}

		private static Integer scaled(String text, String unit, int millis) {
			try {
				String number = text.substring(0, text.length() - unit.length());
				double value = Double.parseDouble(number) * millis;
				if (value >= 0 && value <= Integer.MAX_VALUE) {
					return (int) value;
				}
			} catch (NumberFormatException e) {
				// Reported below.
			}
			throw new TypeConversionException("'" + text
					+ "' is not a time: write 500ms, 2s or 10m");
		}
	}

	/** A size in bytes: a number, perhaps with k or M. */
	static final class Size implements ITypeConverter<Integer> {
		@Override
		public Integer convert(String text) {
			int shift = text.endsWith("k") ? 10 : text.endsWith("M") ? 20 : 0;
			try {
				long number = Long.parseLong(
						shift == 0 ? text : text.substring(0, text.length() - 1));
				if (number >= 0 && number << shift <= 1 << 30) {
					return (int) (number << shift);
				}
			} catch (NumberFormatException e) {
				// Reported below.
			}
			throw new TypeConversionException("'" + text + "' is not a size: write 500k or 5M");
		}
	}
}
