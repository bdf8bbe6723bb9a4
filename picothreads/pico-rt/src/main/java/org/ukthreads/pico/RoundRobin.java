// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * First come, first served. The default.
 *
 * Two intrusive queues through Fiber.link: `local` belongs to the one carrier and is
 * touched by the thread that keeps it (the common case costs no lock); `shared` is for the other
 * threads, and for every thread when there are several carriers.
 * Fairness: next() takes the shared ones in turn, one batch after one local round.
 */
final class RoundRobin implements Scheduler {
	private final boolean single;
	private Fiber localHead;
	private Fiber localTail;
	/** Under this. */
	private Fiber head;
	private Fiber tail;
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
			if (own) {
				f.link = null;
				if (localTail == null)
					localHead = f;
				else
					localTail.link = f;
				localTail = f;
			}
			c.release();
			if (own)
				return;
		}
		synchronized (this) {
			f.link = null;
			if (tail == null)
				head = f;
			else
				tail.link = f;
			tail = f;
			any = true;
		}
	}

	@Override
	public Fiber next(Carrier c) {
		if (single) {
			if (any && (localHead == null || ++round >= 64)) {
				round = 0;
				takeShared();
			}
			Fiber f = localHead;
			if (f != null) {
				localHead = f.link;
				if (localHead == null)
					localTail = null;
				f.link = null;
			}
			return f;
		}
		if (!any)
			return null;
		synchronized (this) {
			Fiber f = head;
			if (f != null) {
				head = f.link;
				if (head == null) {
					tail = null;
					any = false;
				}
				f.link = null;
			}
			return f;
		}
	}

	private void takeShared() {
		Fiber h;
		Fiber t;
		synchronized (this) {
			h = head;
			t = tail;
			head = null;
			tail = null;
			any = false;
		}
		if (h == null)
			return;
		if (localTail == null)
			localHead = h;
		else
			localTail.link = h;
		localTail = t;
	}
}
