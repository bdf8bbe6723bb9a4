/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import java.util.ArrayDeque;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The order of the URLs to visit: as they come, or strictly by depth. In strict order a URL waits
 * until all URLs that are less deep are settled, so each URL is first found by a shortest path.
 * Without that, a depth limit would cut off pages that a slow shorter path was about to reach.
 * Guarded by the frontier's lock.
 */
final class Levels {
	private final boolean strict;
	private final ArrayDeque<Link> current = new ArrayDeque<>();
	private final TreeMap<Integer, ArrayDeque<Link>> deeper = new TreeMap<>();
	private int level;
	private int size;

	Levels(boolean strict) {
		this.strict = strict;
	}

	void add(Link link) {
		size++;
		if (!strict || link.depth() <= level) {
			current.add(link);
			return;
		}
		ArrayDeque<Link> queue = deeper.get(link.depth());
		if (queue == null) {
			queue = new ArrayDeque<>();
			deeper.put(link.depth(), queue);
		}
		queue.add(link);
	}

	/** Returns the next URL, if one may be visited now. idle: no visit is under way. */
	Optional<Link> poll(boolean idle) {
		if (current.isEmpty() && idle && !deeper.isEmpty()) {
			level = deeper.firstKey();
			current.addAll(deeper.remove(level));
		}
		if (current.isEmpty()) {
			return Optional.empty();
		}
		size--;
		return Optional.of(current.remove());
	}

	int size() {
		return size;
	}
}
