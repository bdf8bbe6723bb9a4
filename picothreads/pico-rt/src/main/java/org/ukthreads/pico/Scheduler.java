// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * Which fiber runs next. One per runtime; methods are called from any thread, so an
 * implementation for several carriers (or with wakers outside the carriers) locks.
 */
public interface Scheduler {
	/** The fiber may run. It stays here until next() returns it. */
	void ready(Fiber f);

	/** The next fiber for this carrier, or null when none is ready. Never blocks. */
	Fiber next(Carrier c);
}
