// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * The default scheduler: first come, first served.
 *
 * Two intrusive queues through Fiber.link. The local one belongs to the only carrier; only the
 * thread that keeps the carrier touches it, so the common case takes no lock. The shared one is
 * for the other threads, and for all threads if there are several carriers. Fairness: next()
 * takes all shared fibers at once, after 64 local ones or when there is no local one.
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
