// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * Where threads wait at an object (a lock, a queue). A thread that is saved while it waits
 * at an object that stays outside waits, when it is loaded, in the room of the object that
 * has the name then.
 */
@Internal
public interface Room {
	/** Whose it is. */
	Object of();

	/** One that a thread may have to itself: a lock. */
	interface Owned {
		/** Who has it at this moment; null: nobody. */
		Fiber owner();
	}

	/** The object at whose room one waits. */
	interface Of {
		Room room();
	}

	/** One who waits there. */
	interface Guest {
		/** Where; null: it waits no longer. */
		Room room();

		/** It was loaded, and is about to wait again: in a room where nobody knows it. */
		void back();
	}
}
