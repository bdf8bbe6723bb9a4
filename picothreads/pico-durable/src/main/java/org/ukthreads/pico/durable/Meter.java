// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.ukthreads.pico.NeverBlocks;

/** The counters of a vault. */
@NeverBlocks
final class Meter {
	final LongAdder started = new LongAdder();
	final LongAdder ended = new LongAdder();
	final LongAdder failed = new LongAdder();
	final LongAdder commits = new LongAdder();
	/** Stored records of threads, those of commits included, and their bytes. */
	final LongAdder saves = new LongAdder();
	final LongAdder bytes = new LongAdder();
	final LongAdder resumed = new LongAdder();
	final LongAdder passivated = new LongAdder();
	final LongAdder sent = new LongAdder();
	/** Threads that another worker has taken over. */
	final LongAdder fenced = new LongAdder();
	/** Threads of dead workers that this vault has freed. */
	final LongAdder takenOver = new LongAdder();
	final LongAdder storeFailures = new LongAdder();

	Map<String, Long> all() {
		Map<String, Long> m = new LinkedHashMap<>();
		m.put("started", started.sum());
		m.put("ended", ended.sum());
		m.put("failed", failed.sum());
		m.put("commits", commits.sum());
		m.put("saves", saves.sum());
		m.put("bytes", bytes.sum());
		m.put("resumed", resumed.sum());
		m.put("passivated", passivated.sum());
		m.put("sent", sent.sum());
		m.put("fenced", fenced.sum());
		m.put("taken_over", takenOver.sum());
		m.put("store_failures", storeFailures.sum());
		return m;
	}
}
