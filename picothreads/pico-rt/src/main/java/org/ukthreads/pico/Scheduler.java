// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * Decides which fiber runs next. There is one per runtime. Its methods are called from any
 * thread, so a scheduler for several carriers, or with wakers outside the carriers, must lock.
 */
public interface Scheduler {
	/** Takes a fiber that may run. The fiber stays here until next() returns it. */
	void ready(Fiber f);

	/** Returns the next fiber for this carrier, or null if none is ready. Must not block. */
	Fiber next(Carrier c);
}
