/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that wait for another request to their origin.
 *
 * There is a stack per origin, because the server has most likely not closed the youngest
 * connection. Their total is bounded, because an idle connection is a file descriptor. Nothing
 * blocks under the lock; connections are closed outside of it.
 */
package org.ukthreads.pico.piranha.http;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

final class IdleWires {
	private final int perOrigin;
	private final int total;
	/** In the order in which their origins began to wait. */
	private final Map<String, ArrayDeque<Wire>> idle = new LinkedHashMap<>();
	private int count;
	private boolean closed;

	IdleWires(int perOrigin, int total) {
		this.perOrigin = perOrigin;
		this.total = total;
	}

	synchronized Optional<Wire> take(String origin) {
		ArrayDeque<Wire> stack = idle.get(origin);
		if (stack == null) {
			return Optional.empty();
		}
		Wire wire = stack.pop();
		if (stack.isEmpty()) {
			idle.remove(origin);
		}
		count--;
		return Optional.of(wire);
	}

	void give(String origin, Wire wire) {
		Optional<Wire> over = keep(origin, wire);
		if (over.isPresent()) {
			over.get().close();
		}
	}

	/**
	 * Returns the connection that has no room; at the bound, one of the origin that has waited
	 * longest.
	 */
	private synchronized Optional<Wire> keep(String origin, Wire wire) {
		ArrayDeque<Wire> stack = idle.get(origin);
		if (closed || (stack != null && stack.size() >= perOrigin)) {
			return Optional.of(wire);
		}
		if (stack == null) {
			stack = new ArrayDeque<>();
			idle.put(origin, stack);
		}
		stack.push(wire);
		count++;
		return count > total ? Optional.of(eldest()) : Optional.<Wire>empty();
	}

	private Wire eldest() {
		Iterator<ArrayDeque<Wire>> origins = idle.values().iterator();
		ArrayDeque<Wire> stack = origins.next();
		Wire wire = stack.removeLast();
		if (stack.isEmpty()) {
			origins.remove();
		}
		count--;
		return wire;
	}

	void close() {
		Map<String, ArrayDeque<Wire>> all = new HashMap<>();
		synchronized (this) {
			closed = true;
			all.putAll(idle);
			idle.clear();
			count = 0;
		}
		for (ArrayDeque<Wire> stack : all.values()) {
			for (Wire wire : stack) {
				wire.close();
			}
		}
	}
}
