// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;

/*
 * What a thread waits for without a time limit. If the thread is a worker of a ForkJoinPool,
 * the pool may add another meanwhile, as for the JDK's queues, conditions and phasers: the
 * thread may wait for a task of its own pool.
 */
abstract class Awaited implements ForkJoinPool.ManagedBlocker {
	/** True: the calling thread is such a worker, and was parked once if the wait is not over. */
	final boolean inPool() {
		if (!(Thread.currentThread() instanceof ForkJoinWorkerThread))
			return false;
		try {
			ForkJoinPool.managedBlock(this);
			return true;
		} catch (RejectedExecutionException | InterruptedException e) {
			/* The pool has as many workers as it may have. */
			return false;
		}
	}

	@Override
	public final boolean block() {
		LockSupport.park(this);
		return true;
	}
}
