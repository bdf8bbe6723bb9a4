// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.ukthreads.pico.Members;

/** CyclicBarrier, as JSR 166 describes it: one generation at a time, all or none. */
public class PicoCyclicBarrier extends CyclicBarrier {
	private static final class Generation {
		boolean broken;
	}

	private final ReentrantLock lock = new PicoReentrantLock();
	private final Condition trip = lock.newCondition();
	private final int parties;
	private final Runnable action;
	private Generation generation = new Generation();
	private int missing;

	public PicoCyclicBarrier(int parties) {
		this(parties, null);
	}

	public PicoCyclicBarrier(int parties, Runnable action) {
		super(parties, action);
		this.parties = parties;
		this.action = action;
		missing = parties;
	}

	private void next() {
		trip.signalAll();
		missing = parties;
		generation = new Generation();
	}

	private void breakIt() {
		generation.broken = true;
		missing = parties;
		trip.signalAll();
	}

	private int arrive(boolean timed, long nanos)
			throws InterruptedException, BrokenBarrierException, TimeoutException {
		lock.lock();
		try {
			Generation g = generation;
			if (g.broken)
				throw new BrokenBarrierException();
			if (Thread.interrupted()) {
				breakIt();
				throw new InterruptedException();
			}
			int index = --missing;
			if (index == 0) {
				last();
				return 0;
			}
			return wait(g, index, timed, nanos);
		} finally {
			lock.unlock();
		}
	}

	private void last() {
		boolean ran = false;
		try {
			if (action != null)
				action.run();
			ran = true;
			next();
		} finally {
			if (!ran)
				breakIt();
		}
	}

	private int wait(Generation g, int index, boolean timed, long nanos)
			throws InterruptedException, BrokenBarrierException, TimeoutException {
		for (;;) {
			try {
				if (!timed)
					trip.await();
				else if (nanos > 0)
					nanos = trip.awaitNanos(nanos);
			} catch (InterruptedException e) {
				if (g == generation && !g.broken) {
					breakIt();
					throw e;
				}
				Thread.currentThread().interrupt();
			}
			if (g.broken)
				throw new BrokenBarrierException();
			if (g != generation)
				return index;
			if (timed && nanos <= 0) {
				breakIt();
				throw new TimeoutException();
			}
		}
	}

	@Override
	public int await() throws InterruptedException, BrokenBarrierException {
		try {
			return arrive(false, 0);
		} catch (TimeoutException e) {
			throw new Error(e);
		}
	}

	@Override
	public int await(long time, TimeUnit unit)
			throws InterruptedException, BrokenBarrierException, TimeoutException {
		return arrive(true, unit.toNanos(time));
	}

	@Override
	public boolean isBroken() {
		lock.lock();
		try {
			return generation.broken;
		} finally {
			lock.unlock();
		}
	}

	@Override
	public void reset() {
		lock.lock();
		try {
			breakIt();
			next();
		} finally {
			lock.unlock();
		}
	}

	@Override
	public int getNumberWaiting() {
		lock.lock();
		try {
			return parties - missing;
		} finally {
			lock.unlock();
		}
	}

	@Override
	public String toString() {
		return Members.named(this, super.toString());
	}
}
