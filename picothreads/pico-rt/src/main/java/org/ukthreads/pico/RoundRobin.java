// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * The default scheduler: first come, first served among fibers of the same rank (Fiber.rank). A
 * fiber whose slice may be long gives way to up to 16 others, so that a thread which has slept
 * or waited is not late because many compute.
 *
 * Two intrusive queues through Fiber.link. The local one belongs to the only carrier; only the
 * thread that keeps the carrier touches it, so the common case takes no lock. The shared one is
 * for the other threads, and for all threads if there are several carriers. Fairness: next()
 * takes all shared fibers at once, after 64 local ones or when no local one is short.
 */
final class RoundRobin implements Scheduler {
	private final boolean single;
	private final Queue local = new Queue();
	/** Under itself. */
	private final Queue shared = new Queue();
	private volatile boolean any;
	private int round;

	RoundRobin(int carriers) {
		single = carriers == 1;
	}

	@Override
	public void ready(Fiber f) {
		Carrier c = single ? Carrier.keep() : null;
		if (c != null) {
			boolean own = c.rt == f.rt;
			if (own)
				local.add(f);
			c.release();
			if (own)
				return;
		}
		synchronized (shared) {
			shared.add(f);
			any = true;
		}
	}

	@Override
	public Fiber next(Carrier c) {
		if (single) {
			if (any && (local.ranks[Fiber.SHORT].head == null || ++round >= 64)) {
				round = 0;
				takeShared();
			}
			return local.poll();
		}
		if (!any)
			return null;
		synchronized (shared) {
			Fiber f = shared.poll();
			any = shared.size > 0;
			return f;
		}
	}

	private void takeShared() {
		synchronized (shared) {
			local.takeAll(shared);
			any = false;
		}
	}

	private static final class Queue {
		final Rank[] ranks = new Rank[Fiber.RANKS];
		int size;

		Queue() {
			for (int k = 0; k < ranks.length; k++)
				ranks[k] = new Rank();
		}

		void add(Fiber f) {
			f.link = null;
			ranks[f.rank].add(f, f);
			size++;
		}

		/** Null: it is empty. */
		Fiber poll() {
			if (size == 0)
				return null;
			size--;
			int k = 0;
			while (ranks[k].head == null)
				k++;
			for (int later = k + 1; later < ranks.length; later++)
				if (ranks[later].head != null && ++ranks[later].passed > 16)
					k = later;
			return ranks[k].poll();
		}

		void takeAll(Queue q) {
			for (int k = 0; k < ranks.length; k++) {
				Rank r = q.ranks[k];
				if (r.head != null)
					ranks[k].add(r.head, r.tail);
				r.head = null;
				r.tail = null;
			}
			size += q.size;
			q.size = 0;
		}
	}

	private static final class Rank {
		Fiber head;
		Fiber tail;
		/** Number of fibers of other ranks that ran since one of this. */
		int passed;

		void add(Fiber first, Fiber last) {
			if (tail == null)
				head = first;
			else
				tail.link = first;
			tail = last;
		}

		Fiber poll() {
			Fiber f = head;
			passed = 0;
			head = f.link;
			if (head == null)
				tail = null;
			f.link = null;
			return f;
		}
	}
}
