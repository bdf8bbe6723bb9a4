// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;

/*
 * Fork-join pools are the JVM's, with threads of its own. What they have to do may make a thread
 * ready, so while one of them works nothing is a dead-lock. Asked only where it would be one.
 */
final class Pools {
	private Pools() {}

	static boolean areBusy() {
		Thread[] all = new Thread[Thread.activeCount() * 2 + 64];
		ThreadGroup top = Thread.currentThread().getThreadGroup();
		while (top.getParent() != null)
			top = top.getParent();
		int n = top.enumerate(all);
		for (int k = 0; k < n; k++)
			if (all[k] instanceof ForkJoinWorkerThread && !isQuiet((ForkJoinWorkerThread) all[k]))
				return true;
		return false;
	}

	private static boolean isQuiet(ForkJoinWorkerThread w) {
		ForkJoinPool p = w.getPool();
		return p == null || p.isQuiescent();
	}
}
