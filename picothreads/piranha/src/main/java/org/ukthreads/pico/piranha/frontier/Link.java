/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

/** A URL to fetch: how far it is from the seeds, and how many redirects led to it. */
public final class Link {
	private final String url;
	private final int depth;
	private final int hops;
	private final long leaseEnds;   /* System.nanoTime() from which another crawler may fetch it */

	private Link(String url, int depth, int hops, long leaseEnds) {
		this.url = url;
		this.depth = depth;
		this.hops = hops;
		this.leaseEnds = leaseEnds;
	}

	public static Link seed(String url) {
		return new Link(url, 0, 0, Long.MAX_VALUE);
	}

	public static Link of(String url, int depth, int hops) {
		return new Link(url, depth, hops, Long.MAX_VALUE);
	}

	/** Returns a link that was found in this page. */
	public Link child(String childUrl) {
		return new Link(childUrl, depth + 1, 0, Long.MAX_VALUE);
	}

	/** Returns the target of this page's redirect. */
	public Link redirect(String targetUrl) {
		return new Link(targetUrl, depth, hops + 1, Long.MAX_VALUE);
	}

	Link leasedUntil(long nanoTime) {
		return new Link(url, depth, hops, nanoTime);
	}

	public String url() {
		return url;
	}

	public int depth() {
		return depth;
	}

	public int hops() {
		return hops;
	}

	/** True if a fetch that takes this long ends before the lease does. */
	public boolean leaseCovers(long nanos) {
		return leaseEnds == Long.MAX_VALUE || leaseEnds - System.nanoTime() > nanos;
	}

	@Override
	public String toString() {
		return url;
	}
}
