/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.web;

/**
 * One request that the test web answered. Tests use it to check politeness and that each page is
 * fetched once.
 */
public final class Hit {
	private final String host;
	private final String path;
	private final String agent;
	private final long startNanos;
	private volatile long endNanos;     /* the server's thread writes; 0: not ended */

	Hit(String host, String path, String agent, long startNanos) {
		this.host = host;
		this.path = path;
		this.agent = agent;
		this.startNanos = startNanos;
	}

	void ended(long nanos) {
		endNanos = nanos;
	}

	public String host() {
		return host;
	}

	public String path() {
		return path;
	}

	public String agent() {
		return agent;
	}

	public long startNanos() {
		return startNanos;
	}

	/** Returns when the last byte was handed to the kernel or the connection broke; 0: not yet. */
	public long endNanos() {
		return endNanos;
	}

	@Override
	public String toString() {
		return host + path;
	}
}
