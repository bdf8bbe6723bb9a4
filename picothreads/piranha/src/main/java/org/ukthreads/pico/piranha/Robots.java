/* SPDX-License-Identifier: Apache-2.0 */
/*
 * robots.txt, fetched once per origin by the first thread that needs it, while the others wait.
 *
 * As RFC 9309 says, no file (4xx) allows everything. No answer, or 5xx, forbids everything for
 * now; a thread that needs the file a minute later asks again. But a busy server (429, 503) is
 * first asked again at the time that it names. Up to five redirects are followed. The request is
 * like any other: it takes its turn at the origin's gate. A crawl delay is passed on to that
 * gate.
 */
package org.ukthreads.pico.piranha;

import crawlercommons.robots.BaseRobotRules;
import crawlercommons.robots.SimpleRobotRules;
import crawlercommons.robots.SimpleRobotRules.RobotRulesMode;
import crawlercommons.robots.SimpleRobotRulesParser;
import java.io.IOException;
import java.net.URL;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.ukthreads.pico.piranha.http.HttpClient;
import org.ukthreads.pico.piranha.http.HttpResponse;
import org.ukthreads.pico.piranha.http.Target;

final class Robots {
	private static final int MAX_REDIRECTS = 5;
	private static final long MAX_DELAY_MILLIS = 300_000;
	static final long RETRY_MILLIS = 60_000;

	/** The rules of one origin, and if they could not be read, why. */
	static final class Rules {
		private final BaseRobotRules rules;
		private final String trouble;

		Rules(BaseRobotRules rules, String trouble) {
			this.rules = rules;
			this.trouble = trouble;
		}

		boolean allow(String url) {
			return rules.isAllowed(url);
		}

		/** Not empty: robots.txt could not be read, and nothing is allowed. */
		String trouble() {
			return trouble;
		}

		List<String> sitemaps() {
			return rules.getSitemaps();
		}
	}

	private static final class Entry {
		private Rules rules = new Rules(new SimpleRobotRules(), "not asked yet");
		private boolean asked;
		private boolean loading;
		private long retry;

		/** Returns true if the caller must load the rules. */
		synchronized boolean claim() {
			boolean due = !asked || !rules.trouble().isEmpty() && System.nanoTime() - retry >= 0;
			if (!due || loading) {
				return false;
			}
			loading = true;
			return true;
		}

		synchronized void set(Rules value, long retryMillis) {
			rules = value;
			asked = true;
			loading = false;
			retry = System.nanoTime() + retryMillis * 1_000_000;
			notifyAll();
		}

		synchronized Rules await() throws InterruptedException {
			while (loading) {
				wait();
			}
			return rules;
		}
	}

	private final Map<String, Entry> entries = new HashMap<>();
	private final HttpClient http;
	private final Gates gates;
	private final String name;
	private final long retryMillis;
	private final Busy busy;

	Robots(HttpClient http, Gates gates, String agent, long retryMillis, Busy busy) {
		this.busy = busy;
		this.retryMillis = retryMillis;
		this.http = http;
		this.gates = gates;
		this.name = product(agent);
	}

	/** Returns the product token of a User-Agent, which robots.txt files name. */
	static String product(String agent) {
		int end = 0;
		while (end < agent.length() && (Character.isLetter(agent.charAt(end))
				|| agent.charAt(end) == '-' || agent.charAt(end) == '_')) {
			end++;
		}
		return agent.substring(0, end).toLowerCase(Locale.ROOT);
	}

	Rules rules(Target target) throws InterruptedException {
		String origin = target.origin();
		Entry entry;
		synchronized (entries) {
			entry = entries.get(origin);
			if (entry == null) {
				entry = new Entry();
				entries.put(origin, entry);
			}
		}
		if (entry.claim()) {
			Rules rules = new Rules(all(RobotRulesMode.ALLOW_NONE), "robots.txt: not read");
			try {
				rules = load(origin);
			} finally {
				entry.set(rules, retryMillis);      /* even on an error, because others wait */
			}
		}
		return entry.await();
	}

	private Rules load(String origin) throws InterruptedException {
		try {
			BaseRobotRules rules = fetch(origin);
			long delay = rules.getCrawlDelay();
			if (delay > 0) {
				gates.of(origin).atLeast(Math.min(delay, MAX_DELAY_MILLIS));
			}
			return new Rules(rules, "");
		} catch (IOException | RuntimeException e) {
			return new Rules(all(RobotRulesMode.ALLOW_NONE), "robots.txt: " + e);
		}
	}

	/** Waits for its turn at the gate, and asks again while the server is busy. */
	private HttpResponse politely(Target target) throws IOException, InterruptedException {
		HostGate gate = gates.of(target.origin());
		for (int attempt = 0;; attempt++) {
			gate.enter();
			try {
				HttpResponse response = http.get(target);
				response.release();     /* the file is parsed at once */
				long pause = Busy.is(response) && !gates.opened()
						? busy.pause(response, attempt) : -1;
				if (pause < 0) {
					return response;
				}
				gate.busy(pause);
			} finally {
				gate.leave();
			}
		}
	}

	private BaseRobotRules fetch(String origin) throws IOException, InterruptedException {
		SimpleRobotRulesParser parser = new SimpleRobotRulesParser();
		String url = origin + "/robots.txt";
		for (int hop = 0; hop <= MAX_REDIRECTS; hop++) {
			HttpResponse response = politely(Target.of(url));
			if (response.redirect()) {
				url = new URL(new URL(url), response.header("location")).toString();
			} else if (response.status() == 200) {
				return parser.parseContent(url, response.body(), response.mediaType(),
						Collections.singleton(name));
			} else if (response.status() < 500 && response.status() != 429) {
				return all(RobotRulesMode.ALLOW_ALL);
			} else {
				throw new IOException("status " + response.status());
			}
		}
		return all(RobotRulesMode.ALLOW_ALL);
	}

	private static BaseRobotRules all(RobotRulesMode mode) {
		return new SimpleRobotRules(mode);
	}
}
