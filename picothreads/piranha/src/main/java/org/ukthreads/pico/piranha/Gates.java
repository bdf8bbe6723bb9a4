/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The gate of each origin. Unless --delay or --per-host is given, this machine gets 64 requests
 * at once and no delay.
 */
final class Gates {
	private final Map<String, HostGate> gates = new HashMap<>();
	private static final int DELAY_MILLIS = 1000;
	private static final int LOCAL_PARALLEL = 64;

	private final Optional<Integer> delayMillis;
	private final Optional<Integer> parallel;

	Gates(Optional<Integer> delayMillis, Optional<Integer> parallel) {
		this.delayMillis = delayMillis;
		this.parallel = parallel;
	}

	private HostGate make(String origin) {
		boolean own = !delayMillis.isPresent() && !parallel.isPresent() && local(origin);
		return new HostGate(parallel.orElse(own ? LOCAL_PARALLEL : 1),
				delayMillis.orElse(own ? 0 : DELAY_MILLIS));
	}

	/** True if the origin is this machine, by its spelling: no name is looked up. */
	static boolean local(String origin) {
		return origin.matches("https?://(localhost|127\\.[0-9.]+|\\[::1])(:[0-9]+)?");
	}

	synchronized int size() {
		return gates.size();
	}

	/** True if some host is asked less often than it could be. */
	synchronized boolean polite() {
		for (HostGate gate : gates.values()) {
			if (gate.delays()) {
				return true;
			}
		}
		return false;
	}

	private boolean opened;

	/** True if open() was called. */
	synchronized boolean opened() {
		return opened;
	}

	/**
	 * Lets all waiting threads through at once, because the crawl stops, and they are to find
	 * that out.
	 */
	synchronized void open() {
		opened = true;
		for (HostGate gate : gates.values()) {
			gate.open();
		}
	}

	synchronized HostGate of(String origin) {
		HostGate gate = gates.get(origin);
		if (gate == null) {
			gate = make(origin);
			if (opened) {
				gate.open();
			}
			gates.put(origin, gate);
		}
		return gate;
	}
}
