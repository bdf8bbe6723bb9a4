// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;

/*
 * Fork-join pools belong to the JVM, with their own threads. Their work may make a thread ready,
 * so there is no deadlock while one of them works. The simulation asks only before it reports
 * one.
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
