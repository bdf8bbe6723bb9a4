/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.frontier;

import crawlercommons.urlfrontier.Urlfrontier.URLInfo;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * One queue of the shared frontier: the URLs of one key (a host) within one crawl.
 *
 * <pre>
 *   state    left when                              next
 *   READY    a crawler leases it                    HELD
 *   HELD     the lease ends without a result        READY, ahead of the others
 *   HELD     a result: not to be fetched again      SETTLED
 *   any      a result with a later fetch date       HELD until that date
 * </pre>
 * Guarded by the server's lock. Invariant: if the `until` of a hold in `held` differs from that
 * of its entry, the hold is stale and is skipped.
 */
final class HostQueue {
	enum State { READY, HELD, SETTLED }

	private static final class Entry {
		final URLInfo info;
		State state = State.READY;
		long until;

		Entry(URLInfo info) {
			this.info = info;
		}
	}

	private static final class Hold {
		final Entry entry;
		final long until;

		Hold(Entry entry, long until) {
			this.entry = entry;
			this.until = until;
		}
	}

	private final Map<String, Entry> entries = new HashMap<>();
	private final ArrayDeque<Entry> ready = new ArrayDeque<>();
	private final PriorityQueue<Hold> held = new PriorityQueue<>(11, new Comparator<Hold>() {
		@Override
		public int compare(Hold a, Hold b) {
			return Long.compare(a.until, b.until);
		}
	});
	private int settled;
	private long delayMillis;
	private long blockedUntil;

	/** Adds a URL. Returns false if it was known. */
	boolean discover(URLInfo info) {
		if (entries.containsKey(info.getUrl())) {
			return false;
		}
		Entry entry = new Entry(info);
		entries.put(info.getUrl(), entry);
		ready.add(entry);
		return true;
	}

	/** Takes a result: the URL is to be fetched again at that time, or never (0). */
	void result(URLInfo info, long refetchMillis) {
		Entry entry = entries.get(info.getUrl());
		if (entry == null) {
			entry = new Entry(info);
			entries.put(info.getUrl(), entry);
		} else if (entry.state == State.READY) {
			ready.remove(entry);
		} else if (entry.state == State.SETTLED) {
			settled--;
		}
		if (refetchMillis == 0) {
			entry.state = State.SETTLED;
			settled++;
		} else {
			hold(entry, refetchMillis);
		}
	}

	List<URLInfo> lease(int most, long now, long leaseMillis) {
		expire(now);
		List<URLInfo> leased = new ArrayList<>();
		if (now < blockedUntil) {
			return leased;
		}
		while (leased.size() < most && !ready.isEmpty()) {
			Entry entry = ready.remove();
			hold(entry, now + leaseMillis);
			leased.add(entry.info);
		}
		if (!leased.isEmpty()) {
			blockedUntil = now + delayMillis;
		}
		return leased;
	}

	/** Restores a lease from before the restart of the server. */
	void leased(String url, long until) {
		Entry entry = entries.get(url);
		if (entry != null && entry.state != State.SETTLED) {
			if (entry.state == State.READY) {
				ready.remove(entry);
			}
			hold(entry, until);
		}
	}

	boolean hasDue(long now) {
		expire(now);
		return now >= blockedUntil && !ready.isEmpty();
	}

	void delay(long millis) {
		delayMillis = millis;
	}

	void block(long untilMillis) {
		blockedUntil = untilMillis;
	}

	/** Returns the number of URLs that are not settled. */
	int open() {
		return entries.size() - settled;
	}

	int held() {
		return open() - ready.size();
	}

	int settled() {
		return settled;
	}

	int known() {
		return entries.size();
	}

	private void hold(Entry entry, long until) {
		entry.state = State.HELD;
		entry.until = until;
		held.add(new Hold(entry, until));
	}

	private void expire(long now) {
		while (!held.isEmpty() && held.peek().until <= now) {
			Hold hold = held.remove();
			if (hold.entry.state == State.HELD && hold.entry.until == hold.until) {
				hold.entry.state = State.READY;
				ready.addFirst(hold.entry);
			}
		}
	}
}
