/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.io.PrintStream;
import java.util.Locale;

/** The progress bar. Its own thread reads the tally five times a second. */
final class Progress implements Runnable {
	private static final int WIDTH = 24;
	private static final long EVERY_MILLIS = 200;

	private final Crawl crawl;
	private final PrintStream out;
	private volatile boolean over;      /* written by the thread that runs the crawl */

	Progress(Crawl crawl, PrintStream out) {
		this.crawl = crawl;
		this.out = out;
	}

	void start() {
		Thread thread = new Thread(this, "progress");
		thread.setDaemon(true);
		thread.start();
	}

	void end() {
		over = true;
		out.print("\r" + line() + "\n");
		out.flush();
	}

	@Override
	public void run() {
		try {
			while (!over) {
				out.print("\r" + line());
				out.flush();
				Thread.sleep(EVERY_MILLIS);
			}
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	private String line() {
		Tally tally = crawl.tally();
		long settled = tally.settled();
		long open = crawl.frontier().open();
		long limit = Math.min(crawl.options().maxPages, settled + open);
		double share = limit == 0 ? 0 : Math.min(1, (double) settled / limit);
		StringBuilder bar = new StringBuilder("[");
		for (int i = 0; i < WIDTH; i++) {
			bar.append(i < share * WIDTH ? '#' : '.');
		}
		double seconds = Math.max(tally.seconds(), 0.001);
		return bar + String.format(Locale.ROOT,
				"] %,d of %,d  %.0f/s  %.2f MB/s  %,d threads, %,d fetching    ", settled,
				limit, settled / seconds, tally.bytes() / seconds / 1e6, tally.live(),
				tally.fetching());
	}
}
