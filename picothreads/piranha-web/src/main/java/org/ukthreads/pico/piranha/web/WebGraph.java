/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of the test web: which pages there are, how large they are, and what each links to.
 *
 * Everything is a pure function of (seed, page number). So the server needs no memory for its
 * pages, and a test can compute, page by page, what a crawl must find. Pages form a tree of the
 * given fan-out with page 0 as its root, so every page is reachable and its depth is known.
 * Random cross links are added, which must not change the set of pages that a crawl fetches.
 *
 * Rejected: a random graph. Only a crawler could compute its reachable set and its depths, so a
 * test would compare one crawler with another.
 */
package org.ukthreads.pico.piranha.web;

import java.util.SplittableRandom;

public final class WebGraph {
	private static final int CROSS_LINKS = 3;

	private final long seed;
	private final int pages;
	private final int hosts;
	private final int fanout;
	private final int minSize;
	private final int maxSize;

	public WebGraph(long seed, int pages, int hosts, int fanout, int minSize, int maxSize) {
		if (pages < 1 || hosts < 1 || hosts > 200 || fanout < 1 || minSize < 1
				|| maxSize < minSize) {
			throw new IllegalArgumentException("bad graph: pages=" + pages + " hosts=" + hosts
					+ " fanout=" + fanout + " size=" + minSize + ".." + maxSize);
		}
		this.seed = seed;
		this.pages = pages;
		this.hosts = hosts;
		this.fanout = fanout;
		this.minSize = minSize;
		this.maxSize = maxSize;
	}

	public int pages() {
		return pages;
	}

	public int hosts() {
		return hosts;
	}

	/** Returns the virtual host that serves the page: 0 is 127.0.0.1, 1 is 127.0.0.2, ... */
	public int host(int page) {
		return page % hosts;
	}

	public String path(int page) {
		return "/p/" + page + ".html";
	}

	/**
	 * Returns the bytes of the body. A page whose links need more room is as large as they need.
	 */
	public int size(int page) {
		return minSize == maxSize ? minSize
				: minSize + random(page, 1).nextInt(maxSize - minSize + 1);
	}

	/** Returns the number of clicks from page 0. */
	public int depth(int page) {
		int depth = 0;
		for (int p = page; p > 0; p = (p - 1) / fanout) {
			depth++;
		}
		return depth;
	}

	/** Returns the children in the tree, and then the cross links. */
	public int[] links(int page) {
		long first = (long) page * fanout + 1;
		int children = (int) Math.max(0, Math.min(fanout, pages - first));
		int[] links = new int[children + CROSS_LINKS];
		for (int i = 0; i < children; i++) {
			links[i] = (int) first + i;
		}
		SplittableRandom random = random(page, 2);
		for (int i = 0; i < CROSS_LINKS; i++) {
			// Only upwards or to the same depth: a cross link must not be a short cut.
			links[children + i] = random.nextInt(page + 1);
		}
		return links;
	}

	private SplittableRandom random(int page, int purpose) {
		return new SplittableRandom(seed * 0x9E3779B97F4A7C15L + page * 31L + purpose);
	}
}
