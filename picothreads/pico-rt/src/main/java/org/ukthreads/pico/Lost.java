// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * Who runs a fiber without a carrier, each with the next: a list through the threads themselves.
 * Who comes in has just given its carrier up, and who walks moves interrupts: in both no memory
 * would leave half of it done, and the Watch walks it 200 times a second while the heap is full.
 * There are few. Its monitor is the lock, a leaf, of all that is said to be under rt.lost.
 */
final class Lost {
	CarrierThread first;

	void add(CarrierThread t) {
		t.nextLost = first;
		first = t;
	}

	/** Whether it is in or not. */
	void remove(CarrierThread t) {
		if (first == t)
			first = t.nextLost;
		else
			for (CarrierThread b = first; b != null; b = b.nextLost)
				if (b.nextLost == t)
					b.nextLost = t.nextLost;
		t.nextLost = null;
	}
}
