/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The gate of each origin. Where nothing else is said, this machine is spared no haste. */
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

	/** An origin of this machine, by its spelling: nobody is asked. */
	static boolean local(String origin) {
		return origin.matches("https?://(localhost|127\\.[0-9.]+|\\[::1])(:[0-9]+)?");
	}

	synchronized int size() {
		return gates.size();
	}

	/** Some host is asked less often than it could be. */
	synchronized boolean polite() {
		for (HostGate gate : gates.values()) {
			if (gate.delays()) {
				return true;
			}
		}
		return false;
	}

	private boolean opened;

	/** open() was called. */
	synchronized boolean opened() {
		return opened;
	}

	/** The crawl stops: who waits is let through at once, to find that out. */
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
