/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.util.Locale;

/** The result of a crawl, for people and for scripts. */
final class Summary {
	private final Tally tally;
	private final long known;
	private final long open;
	private final double seconds;
	private final int hosts;
	private final boolean polite;

	Summary(Crawl crawl) {
		tally = crawl.tally();
		known = crawl.frontier().known();
		open = crawl.frontier().open();
		hosts = crawl.gates().size();
		polite = crawl.gates().polite();
		seconds = Math.max(tally.seconds(), 0.001);
	}

	String text() {
		StringBuilder text = new StringBuilder();
		text.append(String.format(Locale.ROOT, "%,d URLs in %.1f s: %.0f/s, %.2f MB/s%n",
				tally.settled(), seconds, tally.settled() / seconds,
				tally.bytes() / seconds / 1e6));
		for (Outcome outcome : Outcome.values()) {
			if (tally.count(outcome) > 0) {
				text.append(String.format(Locale.ROOT, "  %,9d  %-14s  %s%n",
						tally.count(outcome), outcome.label(), outcome.meaning()));
				if (!tally.example(outcome).isEmpty()) {
					text.append(String.format("             such as %s%n",
							tally.example(outcome)));
				}
			}
		}
		if (open > 0) {
			text.append(String.format(Locale.ROOT, "  %,9d  left to visit%n", open));
		}
		text.append(String.format(Locale.ROOT, "  %,9d  threads at the peak%n", tally.peak()));
		if (polite) {
			text.append(String.format(Locale.ROOT, "  %,9d  host%s, with time between requests"
					+ " (--delay, --per-host)%n", hosts, hosts == 1 ? "" : "s"));
		}
		if (tally.busyAnswers() > 0) {
			text.append(String.format(Locale.ROOT, "  %,9d  times a server was too busy (429, 503)"
					+ " and was asked again later%n", tally.busyAnswers()));
		}
		if (tally.refused() > 0) {
			text.append(String.format(Locale.ROOT,
					"  %,9d  times the system refused a thread%n", tally.refused()));
		}
		return text.toString();
	}

	String json() {
		StringBuilder json = new StringBuilder("{");
		json.append(String.format(Locale.ROOT, "\"urls\":%d,\"pages\":%d,\"seconds\":%.3f,"
				+ "\"urls_per_second\":%.1f,\"wire_bytes\":%d,\"body_bytes\":%d,"
				+ "\"mb_per_second\":%.3f,\"known\":%d,\"open\":%d,\"peak_threads\":%d,"
				+ "\"refused_threads\":%d,\"busy_answers\":%d,\"heap_limit\":%d,\"outcomes\":{", tally.settled(), tally.read(), seconds,
				tally.settled() / seconds, tally.bytes(), tally.bodyBytes(),
				tally.bytes() / seconds / 1e6, known, open, tally.peak(), tally.refused(),
				tally.busyAnswers(), Runtime.getRuntime().maxMemory()));
		String comma = "";
		for (Outcome outcome : Outcome.values()) {
			json.append(comma).append('"').append(outcome.label()).append("\":")
					.append(tally.count(outcome));
			comma = ",";
		}
		return json.append("}}\n").toString();
	}
}
