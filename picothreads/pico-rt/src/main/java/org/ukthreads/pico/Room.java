// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

/**
 * The place where threads wait at an object (a lock, a queue). A thread may be saved while it
 * waits at an object that is only known by a name and not saved with it. When the thread is
 * loaded, it waits in the room of the object that has the name then.
 */
@Internal
public interface Room {
	/** The object to which the room belongs. */
	Object of();

	/** A room that one thread can own: that of a lock. */
	interface Owned {
		/** The fiber that owns it at this moment; null: none. */
		Fiber owner();
	}

	/** An object at whose room threads wait. */
	interface Of {
		Room room();
	}

	/** The record of a thread that waits there. */
	interface Guest {
		/** The room; null: it waits no longer. */
		Room room();

		/**
		 * Called when it was loaded and is about to wait again, in a room that may not know it.
		 */
		void back();
	}
}
