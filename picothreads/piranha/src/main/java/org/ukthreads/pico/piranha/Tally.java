/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** Counts what the crawl has done so far. Every URL's thread adds to it, and none waits. */
final class Tally {
	private final AtomicIntegerArray outcomes = new AtomicIntegerArray(Outcome.values().length);
	private final AtomicLong bytes = new AtomicLong();
	private final AtomicLong bodyBytes = new AtomicLong();
	private final AtomicInteger live = new AtomicInteger();
	private final AtomicInteger fetching = new AtomicInteger();
	private final AtomicInteger peak = new AtomicInteger();
	private final AtomicInteger refused = new AtomicInteger();
	private final AtomicReferenceArray<String> examples =
			new AtomicReferenceArray<>(Outcome.values().length);
	private final AtomicInteger busy = new AtomicInteger();
	private final long startNanos = System.nanoTime();

	void outcome(Outcome outcome) {
		outcomes.incrementAndGet(outcome.ordinal());
	}

	/** Keeps the first URL with this outcome, and why. */
	void example(Outcome outcome, String text) {
		examples.compareAndSet(outcome.ordinal(), null, text);
	}

	String example(Outcome outcome) {
		String text = examples.get(outcome.ordinal());
		return text == null ? "" : text;
	}

	void received(long wire, long body) {
		bytes.addAndGet(wire);
		bodyBytes.addAndGet(body);
	}

	void threadStarts() {
		int now = live.incrementAndGet();
		int best = peak.get();
		while (now > best && !peak.compareAndSet(best, now)) {
			best = peak.get();
		}
	}

	void threadEnds() {
		live.decrementAndGet();
	}

	void fetchStarts() {
		fetching.incrementAndGet();
	}

	void fetchEnds() {
		fetching.decrementAndGet();
	}

	/** Returns how many threads are fetching. The other live ones wait for their turn. */
	int fetching() {
		return fetching.get();
	}

	void threadRefused() {
		refused.incrementAndGet();
	}

	/** A server has asked to be left alone for a while. */
	void busy() {
		busy.incrementAndGet();
	}

	int busyAnswers() {
		return busy.get();
	}

	int count(Outcome outcome) {
		return outcomes.get(outcome.ordinal());
	}

	int settled() {
		int all = 0;
		for (Outcome outcome : Outcome.values()) {
			all += outcome == Outcome.LEASE_LOST ? 0 : count(outcome);
		}
		return all;
	}

	/** Returns the number of pages whose content was read. */
	int read() {
		return count(Outcome.PAGE) + count(Outcome.OTHER) + count(Outcome.TRUNCATED)
				+ count(Outcome.DAMAGED);
	}

	long bytes() {
		return bytes.get();
	}

	long bodyBytes() {
		return bodyBytes.get();
	}

	int live() {
		return live.get();
	}

	int peak() {
		return peak.get();
	}

	int refused() {
		return refused.get();
	}

	double seconds() {
		return (System.nanoTime() - startNanos) / 1e9;
	}
}
