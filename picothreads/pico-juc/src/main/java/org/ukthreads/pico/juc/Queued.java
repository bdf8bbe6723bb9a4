// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.ukthreads.pico.Room;

/** The threads that wait for a lock. Calls of the JDK's final methods become these. */
public final class Queued {
	private Queued() {}

	private static Gate gate(Object o) {
		if (o instanceof Room.Of)
			return (Gate) ((Room.Of) o).room();
		throw new IllegalStateException("not translated: " + o.getClass().getName());
	}

	private static int length(Object o) {
		return gate(o).waiting(0);
	}

	private static boolean queued(Object o, Thread t) {
		return gate(o).threads(0).contains(java.util.Objects.requireNonNull(t));
	}

	public static boolean hasQueuedThreads(ReentrantLock l) {
		return length(l) > 0;
	}

	public static boolean hasQueuedThreads(ReentrantReadWriteLock l) {
		return length(l) > 0;
	}

	public static boolean hasQueuedThreads(Semaphore s) {
		return length(s) > 0;
	}

	public static boolean hasQueuedThread(ReentrantLock l, Thread t) {
		return queued(l, t);
	}

	public static boolean hasQueuedThread(ReentrantReadWriteLock l, Thread t) {
		return queued(l, t);
	}

	public static int getQueueLength(ReentrantLock l) {
		return length(l);
	}

	public static int getQueueLength(ReentrantReadWriteLock l) {
		return length(l);
	}

	public static int getQueueLength(Semaphore s) {
		return length(s);
	}
}
