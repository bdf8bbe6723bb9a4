// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.Arrays;

/*
 * The timers of a runtime: a binary heap under its own lock.
 *
 * An entry knows its place in the heap, so a wait that ends early removes it at once (a server
 * cancels nearly all of its timeouts). Carriers call expire() when they are idle and every 64
 * slices. Lock order: this lock is a leaf; wakers run outside it.
 */
final class Timers {
	private Entry[] heap = new Entry[64];
	private int size;
	/**
	 * When the first timer is due; NONE: there is none. Written under this, read without. A
	 * thread that adds the first timer then looks at PicoRuntime.keeps; a carrier that is about
	 * to sleep writes keeps and then looks here.
	 */
	private volatile long first = NONE;
	static final long NONE = Long.MAX_VALUE;
	private final PicoRuntime rt;

	Timers(PicoRuntime rt) {
		this.rt = rt;
	}

	static class Entry extends Waiter {
		long at;
		final Fiber fiber;
		int ticket;
		volatile int index = -1;
		private final Timers owner;

		Entry(Timers owner, Fiber fiber, int ticket) {
			this.owner = owner;
			this.fiber = fiber;
			this.ticket = ticket;
		}

		/** Called when its time has come. */
		void expired() {
			if (fiber.claim(ticket))
				fiber.wake();
		}

		/** True: it is in the heap. */
		final boolean pending() {
			return index >= 0;
		}

		/** Expires it, if no other thread has done so. */
		final void now() {
			if (owner.remove(this))
				expired();
		}

		@Override
		void cancel() {
			owner.remove(this);
		}
	}

	void add(Entry e, long nanos) {
		/* Limited, because times are compared by their difference: an entry that is overdue but
		 * still here must not be too far from this one. */
		e.at = rt.clock.nanos() + Math.max(0, Math.min(nanos, Long.MAX_VALUE / 2));
		boolean first;
		synchronized (this) {
			if (size == heap.length)
				heap = Arrays.copyOf(heap, size * 2);
			up(size++, e);
			first = e.index == 0;
			if (first)
				this.first = e.at;
		}
		/* A thread that has already ended the wait may not have seen the entry here. */
		if (e.fiber.wait != e.ticket)
			remove(e);
		else if (first)
			rt.deadlineMoved();
	}

	/** Removes e; false: it was not there. */
	synchronized boolean remove(Entry e) {
		int k = e.index;
		if (k < 0)
			return false;
		e.index = -1;
		Entry last = heap[--size];
		heap[size] = null;
		if (last != e) {
			down(k, last);
			if (heap[k] == last)
				up(k, last);
		}
		if (k == 0)
			first = size == 0 ? NONE : heap[0].at;
		return true;
	}

	/** Nanoseconds until the first timer; Long.MAX_VALUE: there is none. */
	synchronized long untilNext() {
		if (size == 0)
			return Long.MAX_VALUE;
		return Math.max(0, heap[0].at - rt.clock.nanos());
	}

	/** When the first timer is due; NONE: there is none. */
	long first() {
		return first;
	}

	/** True: a is before b. Either may be NONE. */
	static boolean before(long a, long b) {
		return a != NONE && (b == NONE || a - b < 0);
	}

	synchronized int size() {
		return size;
	}

	/** Expires all timers that are due; true: there were some. */
	boolean expire() {
		boolean any = false;
		for (;;) {
			Entry e;
			synchronized (this) {
				if (size == 0 || heap[0].at - rt.clock.nanos() > 0)
					return any;
				e = heap[0];
				remove(e);
			}
			e.expired();
			any = true;
		}
	}

	private void up(int k, Entry e) {
		while (k > 0) {
			int p = (k - 1) >>> 1;
			Entry x = heap[p];
			if (e.at - x.at >= 0)
				break;
			heap[k] = x;
			x.index = k;
			k = p;
		}
		heap[k] = e;
		e.index = k;
	}

	private void down(int k, Entry e) {
		int half = size >>> 1;
		while (k < half) {
			int c = 2 * k + 1;
			if (c + 1 < size && heap[c + 1].at - heap[c].at < 0)
				c++;
			Entry x = heap[c];
			if (e.at - x.at <= 0)
				break;
			heap[k] = x;
			x.index = k;
			k = c;
		}
		heap[k] = e;
		e.index = k;
	}
}
