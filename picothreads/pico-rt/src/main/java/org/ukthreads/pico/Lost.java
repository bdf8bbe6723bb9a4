// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/*
 * The threads that run a fiber without a carrier, linked by their field nextLost. The list
 * allocates nothing, for two reasons. A thread that enters it has just given up its carrier,
 * and a walk moves interrupts: lack of memory would leave either half done. And the Watch walks
 * it 200 times a second, also while the heap is full. The list is short. Its monitor is the
 * lock, a leaf, of everything that is documented as under rt.lost.
 */
final class Lost {
	CarrierThread first;

	void add(CarrierThread t) {
		t.nextLost = first;
		first = t;
	}

	/** Removes t if it is in the list. */
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
