/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One crawl: what its threads share, and the loop that gives each URL its thread.
 *
 * The loop runs on the caller's thread. It takes URLs from the frontier as fast as there are
 * thread slots; politeness is the matter of HostGate. A failure of the archive or of the frontier
 * ends the crawl, because to continue would lose what was promised. Whatever a page or a server
 * does is an outcome of that page.
 *
 * Lock order: this lock is taken alone. The frontier, the gates and the robots rules have their
 * own locks. No code here holds one lock while it takes another or blocks on the network.
 */
package org.ukthreads.pico.piranha;

import java.io.Closeable;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

import org.ukthreads.pico.piranha.frontier.Frontier;
import org.ukthreads.pico.piranha.frontier.Link;
import org.ukthreads.pico.piranha.http.Budget;
import org.ukthreads.pico.piranha.http.HttpClient;
import org.ukthreads.pico.piranha.http.HttpResponse;
import org.ukthreads.pico.piranha.warc.WarcWriter;

final class Crawl implements Closeable {
	private static final long MAX_ROTATE = 1L << 30;

	private final Options options;
	private final List<String> seeds;
	private final Frontier frontier;
	private final Threads threads;
	private final Scope scope;
	private final HttpClient http;
	private final Busy busy;
	private final Gates gates;
	private final Robots robots;
	private final Urls urls = new Urls();
	private final Links links = new Links(urls);
	private final Slots connections;
	private final Slots threadSlots;
	private final Optional<WarcWriter> warc;
	private final CrawlLog log;
	private final Tally tally = new Tally();
	private int running;                        /* visits that have not ended; guarded by this */
	private Optional<Throwable> failure = Optional.empty();     /* guarded by this */
	private volatile boolean stopping;          /* any thread writes */

	/** Seeds are normal URLs (see Urls.normal). */
	Crawl(Options options, List<String> seeds, Frontier frontier, Threads threads)
			throws IOException {
		this.options = options;
		this.seeds = seeds;
		this.frontier = frontier;
		this.threads = threads;
		this.scope = new Scope(options.scope, seeds, options.include, options.exclude);
		this.http = new HttpClient(options.agent, options.limits(), options.keepAlive,
				options.warc.isPresent(), options.proxy, Budget.ofHeap());
		this.busy = new Busy(options.busyRetries, options.patienceMillis);
		this.gates = new Gates(options.delayMillis, options.perHost);
		this.robots = new Robots(http, gates, options.agent, Robots.RETRY_MILLIS, busy);
		this.connections = new Slots(options.maxConnections);
		this.threadSlots = new Slots(options.maxThreads);
		this.warc = options.warc.isPresent()
				? Optional.of(WarcWriter.open(options.warc.get(), options.agent, MAX_ROTATE))
				: Optional.<WarcWriter>empty();
		this.log = options.log.isPresent() ? CrawlLog.open(options.log.get()) : CrawlLog.none();
	}

	/** Crawls until no URL is left, a limit is reached, or stop() is called. */
	void run() throws IOException, InterruptedException {
		List<Link> first = new ArrayList<>();
		for (String seed : seeds) {
			first.add(Link.seed(seed));
		}
		frontier.add(first);
		if (options.sitemap) {
			frontier.add(new Sitemaps(this).links(seeds));
		}
		for (long taken = 0; taken < options.maxPages && !stopping; taken++) {
			threadSlots.acquire();
			Optional<Link> link = frontier.take();
			if (!link.isPresent()) {
				break;
			}
			dispatch(link.get());
		}
		awaitThreads();
		synchronized (this) {
			if (failure.isPresent()) {
				throw new IOException(failure.get().toString(), failure.get());
			}
		}
	}

	/** Ends the crawl early. Fetches under way finish; all other URLs stay in the frontier. */
	void stop() {
		stopping = true;
		frontier.stop();
		gates.open();
	}

	@Override
	public void close() throws IOException {
		threads.close();
		http.close();
		log.close();
		if (warc.isPresent()) {
			warc.get().close();
		}
		frontier.close();
	}

	private void dispatch(Link link) throws InterruptedException {
		synchronized (this) {
			running++;
		}
		Visit visit = new Visit(this, link);
		while (!threads.start(link.url(), visit)) {
			tally.threadRefused();
			Thread.sleep(10);
		}
	}

	private synchronized void awaitThreads() throws InterruptedException {
		while (running > 0) {
			wait();
		}
	}

	void threadEnded() {
		threadSlots.release();
		synchronized (this) {
			running--;
			if (running == 0) {
				notifyAll();
			}
		}
	}

	void settle(Link link, Visit.Result result, long millis) throws IOException {
		if (result.outcome == Outcome.LEASE_LOST) {
			frontier.abandon(link);
		} else {
			frontier.done(link, result.found);
		}
		tally.outcome(result.outcome);
		String why = result.note.isEmpty() && result.status >= 400
				? Integer.toString(result.status) : result.note;
		if (!why.isEmpty() && result.outcome.trouble()) {
			tally.example(result.outcome, link.url() + ": " + why);
		}
		log.write(link, result, millis);
	}

	void giveUp(Link link) {
		frontier.abandon(link);
	}

	/** Ends the crawl, because the archive, the log or the frontier has failed. */
	void fail(Link link, Throwable cause) {
		synchronized (this) {
			if (!failure.isPresent()) {
				failure = Optional.of(cause);
			}
		}
		frontier.abandon(link);
		stop();
	}

	void archive(Link link, Instant when, HttpResponse response) throws IOException {
		if (warc.isPresent()) {
			warc.get().write(link.url(), when, response);
		}
	}

	long longestFetchNanos() {
		return TimeUnit.MILLISECONDS.toNanos((long) (options.retries + 1)
				* (options.connectMillis + options.totalMillis + 1000L));
	}

	boolean stopping() {
		return stopping;
	}

	Options options() {
		return options;
	}

	Frontier frontier() {
		return frontier;
	}

	Scope scope() {
		return scope;
	}

	HttpClient http() {
		return http;
	}

	Busy busy() {
		return busy;
	}

	Gates gates() {
		return gates;
	}

	Robots robots() {
		return robots;
	}

	Urls urls() {
		return urls;
	}

	Links links() {
		return links;
	}

	Slots connections() {
		return connections;
	}

	Tally tally() {
		return tally;
	}
}
