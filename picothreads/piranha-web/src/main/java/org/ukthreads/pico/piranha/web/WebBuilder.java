/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.web;

import java.io.IOException;
import java.util.function.Consumer;

/** The settings of a test web; the defaults are the paper's 30,000 pages on four hosts. */
public final class WebBuilder {
	private long seed = 1997;
	private int pages = 30_000;
	private int hosts = 4;
	private int fanout = 20;
	private int minSize = 1 << 10;
	private int maxSize = 1 << 10;
	int port;
	int delayMillis;
	int crawlDelaySeconds;
	boolean traps;
	boolean logging = true;
	Consumer<Hit> watcher = hit -> {
	};

	public WebBuilder seed(long value) {
		seed = value;
		return this;
	}

	public WebBuilder pages(int value) {
		pages = value;
		return this;
	}

	public WebBuilder hosts(int value) {
		hosts = value;
		return this;
	}

	public WebBuilder fanout(int value) {
		fanout = value;
		return this;
	}

	public WebBuilder size(int min, int max) {
		minSize = min;
		maxSize = max;
		return this;
	}

	/** 0: any free port. */
	public WebBuilder port(int value) {
		port = value;
		return this;
	}

	/** Sets the simulated network delay of every answer. */
	public WebBuilder delayMillis(int value) {
		delayMillis = value;
		return this;
	}

	public WebBuilder crawlDelaySeconds(int value) {
		crawlDelaySeconds = value;
		return this;
	}

	public WebBuilder traps(boolean value) {
		traps = value;
		return this;
	}

	/** Sets whether to keep a Hit for each request. */
	public WebBuilder logging(boolean value) {
		logging = value;
		return this;
	}

	/**
	 * Sets a watcher that is called with each request before it is answered. The server's thread
	 * calls it, so no request is answered while it runs.
	 */
	public WebBuilder watcher(Consumer<Hit> value) {
		watcher = value;
		return this;
	}

	public TestWeb start() throws IOException {
		return TestWeb.start(this);
	}

	WebGraph graph() {
		return new WebGraph(seed, pages, hosts, fanout, minSize, maxSize);
	}
}
