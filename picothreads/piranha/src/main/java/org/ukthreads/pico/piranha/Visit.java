/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The visit of a URL, from top to bottom, on its own thread. This is the program that the paper
 * wanted to be able to write.
 *
 *   robots.txt of the origin -> turn at the host -> a connection slot -> fetch (with retries) ->
 *   archive -> links -> settle in the frontier
 *   429, 503: back to the turn at the host, which is quiet for as long as the server asks
 *
 * It blocks wherever it needs to: on another thread's robots.txt, in the host's queue, in connect
 * and read. There are no callbacks. It writes the archive before it settles the URL, so whatever
 * is settled in the frontier is in the archive, even after kill -9.
 */
package org.ukthreads.pico.piranha;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

import org.ukthreads.pico.piranha.frontier.Link;
import org.ukthreads.pico.piranha.http.HttpResponse;
import org.ukthreads.pico.piranha.http.Target;

final class Visit implements Runnable {
	private static final long RETRY_MILLIS = 500;

	static final class Result {
		final Outcome outcome;
		final int status;
		final long bytes;
		final String note;
		final List<Link> found;

		Result(Outcome outcome, int status, long bytes, String note, List<Link> found) {
			this.outcome = outcome;
			this.status = status;
			this.bytes = bytes;
			/* Servers choose the text: it must not break lines of the log or command a terminal. */
			this.note = note.replaceAll("[\\p{Cntrl}\\x80-\\x9f]", " ");
			this.found = found;
		}

		static Result of(Outcome outcome, String note) {
			return new Result(outcome, 0, 0, note, Collections.<Link>emptyList());
		}
	}

	private final Crawl crawl;
	private final Link link;

	Visit(Crawl crawl, Link link) {
		this.crawl = crawl;
		this.link = link;
	}

	@Override
	public void run() {
		crawl.tally().threadStarts();
		long start = System.nanoTime();
		try {
			Result result = guarded();
			long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
			crawl.settle(link, result, millis);
		} catch (InterruptedException e) {
			crawl.giveUp(link);
		} catch (IOException | RuntimeException | Error e) {
			crawl.fail(link, e);
		} finally {
			crawl.tally().threadEnds();
			crawl.threadEnded();
		}
	}

	/** Keeps a page that upsets a parser from ending the crawl. */
	private Result guarded() throws IOException, InterruptedException {
		try {
			return visit();
		} catch (RuntimeException | StackOverflowError e) {
			return Result.of(Outcome.BROKEN, e.toString());
		}
	}

	private Result visit() throws IOException, InterruptedException {
		Target target = Target.of(link.url());
		if (crawl.options().robots) {
			Robots.Rules rules = crawl.robots().rules(target);
			if (!rules.allow(link.url())) {
				return Result.of(rules.trouble().isEmpty() ? Outcome.ROBOTS : Outcome.FAILED,
						rules.trouble());
			}
		}
		for (int attempt = 0;; attempt++) {
			Attempt done = attempt(target, attempt);
			if (done.result.isPresent()) {
				return done.result.get();
			}
			HttpResponse response = done.response.get();
			try {
				if (done.pause < 0) {
					crawl.archive(link, done.when, response);
					return read(response);
				}
			} finally {
				response.release();
			}
		}
	}

	/**
	 * One turn at the host: a result without an answer, an answer, or a pause before the next
	 * turn.
	 */
	private static final class Attempt {
		private Optional<Result> result = Optional.empty();
		private Optional<HttpResponse> response = Optional.empty();
		private Instant when = Instant.EPOCH;
		private long pause = -1;

		static Attempt failed(Outcome outcome, String note) {
			Attempt a = new Attempt();
			a.result = Optional.of(Result.of(outcome, note));
			return a;
		}
	}

	private Attempt attempt(Target target, int number) throws InterruptedException {
		HostGate gate = crawl.gates().of(target.origin());
		gate.enter();
		try {
			crawl.connections().acquire();
			try {
				if (crawl.stopping()) {
					throw new InterruptedException("the crawl is stopping");
				}
				if (!link.leaseCovers(crawl.longestFetchNanos())) {
					return Attempt.failed(Outcome.LEASE_LOST, "");
				}
				return answer(target, gate, number);
			} catch (SocketTimeoutException e) {
				return Attempt.failed(Outcome.TIMEOUT, String.valueOf(e.getMessage()));
			} catch (IOException e) {
				return Attempt.failed(Outcome.FAILED, e.getClass().getSimpleName() + ": "
						+ e.getMessage());
			} finally {
				crawl.connections().release();
			}
		} finally {
			gate.leave();
		}
	}

	private Attempt answer(Target target, HostGate gate, int number)
			throws IOException, InterruptedException {
		Attempt done = new Attempt();
		done.when = Instant.now();
		crawl.tally().fetchStarts();
		try {
			done.response = Optional.of(fetch(target));
		} finally {
			crawl.tally().fetchEnds();
		}
		if (!Busy.is(done.response.get())) {
			gate.fine();
			return done;
		}
		done.pause = crawl.busy().pause(done.response.get(), number);
		if (done.pause >= 0) {
			crawl.tally().busy();
			gate.busy(done.pause);
		}
		return done;
	}

	private HttpResponse fetch(Target target) throws IOException, InterruptedException {
		for (int attempt = 0;; attempt++) {
			try {
				return crawl.http().get(target);
			} catch (SocketTimeoutException e) {
				throw e;        /* its time is over */
			} catch (IOException e) {
				if (attempt >= crawl.options().retries) {
					throw e;
				}
			}
			Thread.sleep(RETRY_MILLIS << attempt);
		}
	}

	private Result read(HttpResponse response) throws IOException {
		int status = response.status();
		int size = response.body().length;
		crawl.tally().received(response.exchange().wireBytes(), size);
		if (response.redirect()) {
			return redirect(response);
		}
		if (status < 200 || status >= 300) {
			String asked = response.header("retry-after");
			return new Result(Outcome.HTTP_ERROR, status, size, Busy.is(response)
					&& !asked.isEmpty() ? status + ", retry after " + asked : "", Collections.<Link>emptyList());
		}
		String type = response.mediaType();
		if (!Links.readable(type) && response.damage().isEmpty()) {
			return new Result(Outcome.OTHER, status, size, type, Collections.<Link>emptyList());
		}
		if (!response.damage().isEmpty()) {
			return new Result(Outcome.DAMAGED, status, size, response.damage(),
					Links.readable(type) ? children(response) : Collections.<Link>emptyList());
		}
		Outcome outcome = response.truncated() ? Outcome.TRUNCATED : Outcome.PAGE;
		return new Result(outcome, status, size, "", children(response));
	}

	private List<Link> children(HttpResponse response) throws IOException {
		List<Link> children = new ArrayList<>();
		if (link.depth() < crawl.options().depth) {
			for (String url : crawl.links().of(link.url(), response)) {
				if (crawl.scope().contains(url)) {
					children.add(link.child(url));
				}
			}
		}
		return children;
	}

	private Result redirect(HttpResponse response) {
		int status = response.status();
		String location = response.header("location");
		if (link.hops() >= crawl.options().maxRedirects) {
			return new Result(Outcome.REDIRECT_LIMIT, status, 0, location,
					Collections.<Link>emptyList());
		}
		List<Link> found = new ArrayList<>(1);
		try {
			Optional<String> url = crawl.urls().normal(
					new URL(new URL(link.url()), location).toString());
			if (url.isPresent() && crawl.scope().contains(url.get())) {
				found.add(link.redirect(url.get()));
			}
		} catch (MalformedURLException e) {
			return new Result(Outcome.FAILED, status, 0, "redirect to " + location,
					Collections.<Link>emptyList());
		}
		return new Result(Outcome.REDIRECT, status, 0, location, found);
	}
}
