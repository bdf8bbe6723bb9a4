// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * Calls of a Condition become these, because those of a program's own synchronizer are
 * ConditionObjects, whose methods are final.
 */
public final class Conditions {
	private Conditions() {}

	public static void await(Condition c) throws InterruptedException {
		if (c instanceof Line.Sync)
			wait((Line.Sync) c, Long.MAX_VALUE);
		else
			c.await();
	}

	private static boolean wait(Line.Sync s, long nanos) throws InterruptedException {
		return s.waiters().await(s, nanos);
	}

	public static void awaitUninterruptibly(Condition c) {
		if (c instanceof Line.Sync)
			((Line.Sync) c).waiters().awaitUninterruptibly((Line.Sync) c);
		else
			c.awaitUninterruptibly();
	}

	public static long awaitNanos(Condition c, long nanos) throws InterruptedException {
		if (!(c instanceof Line.Sync))
			return c.awaitNanos(nanos);
		long end = System.nanoTime() + Math.max(0, nanos);
		wait((Line.Sync) c, Math.max(0, nanos));
		return end - System.nanoTime();
	}

	public static boolean await(Condition c, long time, TimeUnit unit)
			throws InterruptedException {
		return c instanceof Line.Sync ? wait((Line.Sync) c, Math.max(0, unit.toNanos(time)))
			: c.await(time, unit);
	}

	public static boolean awaitUntil(Condition c, Date deadline) throws InterruptedException {
		if (!(c instanceof Line.Sync))
			return c.awaitUntil(deadline);
		return wait((Line.Sync) c, GateCondition.left(deadline));
	}

	public static void signal(Condition c) {
		if (c instanceof Line.Sync)
			((Line.Sync) c).waiters().signal((Line.Sync) c, false);
		else
			c.signal();
	}

	public static void signalAll(Condition c) {
		if (c instanceof Line.Sync)
			((Line.Sync) c).waiters().signal((Line.Sync) c, true);
		else
			c.signalAll();
	}
}
