/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The frontier of a crawl that does not need to survive its process: breadth first. */
public final class MemoryFrontier implements Frontier {
	private final Set<String> known = new HashSet<>();
	private final Levels queue;
	private int leased;
	private boolean stopped;

	/** byDepth: see Levels. */
	public MemoryFrontier(boolean byDepth) {
		queue = new Levels(byDepth);
	}

	@Override
	public synchronized int add(List<Link> links) {
		int fresh = 0;
		for (Link link : links) {
			if (known.add(link.url())) {
				queue.add(link);
				fresh++;
			}
		}
		if (fresh > 0) {
			notifyAll();
		}
		return fresh;
	}

	@Override
	public synchronized Optional<Link> take() throws InterruptedException {
		while (!stopped) {
			Optional<Link> link = queue.poll(leased == 0);
			if (link.isPresent()) {
				leased++;
				return link;
			}
			if (leased == 0) {
				return link;
			}
			wait();
		}
		return Optional.empty();
	}

	@Override
	public synchronized void done(Link link, List<Link> found) {
		add(found);
		abandon(link);
	}

	@Override
	public synchronized void abandon(Link link) {
		leased--;
		if (leased == 0) {
			notifyAll();
		}
	}

	@Override
	public synchronized void stop() {
		stopped = true;
		notifyAll();
	}

	@Override
	public synchronized long known() {
		return known.size();
	}

	@Override
	public synchronized long open() {
		return queue.size() + leased;
	}

	@Override
	public void close() {
		stop();
	}
}
