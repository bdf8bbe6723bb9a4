/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.util.HashMap;
import java.util.Map;

/** The gate of each origin. */
final class Gates {
    private final Map<String, HostGate> gates = new HashMap<>();
    private final int parallel;
    private final long delayMillis;

    Gates(int parallel, long delayMillis) {
        this.parallel = parallel;
        this.delayMillis = delayMillis;
    }

    /** The crawl stops: who waits is let through at once, to find that out. */
    synchronized void open() {
        for (HostGate gate : gates.values()) {
            gate.open();
        }
    }

    synchronized HostGate of(String origin) {
        HostGate gate = gates.get(origin);
        if (gate == null) {
            gate = new HostGate(parallel, delayMillis);
            gates.put(origin, gate);
        }
        return gate;
    }
}
