// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Date;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Members;
import org.ukthreads.pico.PicoThread;

/**
 * java.util.Timer on a pico thread. The JDK's constructor starts a JVM thread, which is
 * ended at once.
 */
public class PicoTimer extends Timer {
	private static final AtomicInteger NUMBER = new AtomicInteger();
	private final Queue queue = new Queue();

	/** What the thread runs. */
	private static final class Queue implements Runnable {
		/** Guarded by this. */
		private final PriorityQueue<PicoTimerTask> tasks =
			new PriorityQueue<>(Comparator.comparingLong((PicoTimerTask t) -> t.next));
		private boolean closed;
		private Fiber runner;

		synchronized void add(PicoTimerTask t, long at, long period) {
			if (closed)
				throw new IllegalStateException("Timer already cancelled.");
			synchronized (t.lock()) {
				if (t.state != PicoTimerTask.NEW)
					throw new IllegalStateException(
						"Task already scheduled or cancelled");
				t.next = at;
				t.period = period;
				t.state = PicoTimerTask.QUEUED;
			}
			tasks.add(t);
			if (runner != null)
				runner.unpark();
		}

		synchronized void close() {
			closed = true;
			tasks.clear();
			if (runner != null)
				runner.unpark();
		}

		synchronized int purge() {
			List<PicoTimerTask> gone = new ArrayList<>();
			for (PicoTimerTask t : tasks)
				synchronized (t.lock()) {
					if (t.state == PicoTimerTask.CANCELLED)
						gone.add(t);
				}
			tasks.removeAll(gone);
			return gone.size();
		}

		/** The task that is due, already set for its next turn; null: wait wait[0] ms. */
		private synchronized PicoTimerTask due(long[] wait) {
			for (PicoTimerTask t; (t = tasks.peek()) != null;) {
				synchronized (t.lock()) {
					if (t.state == PicoTimerTask.CANCELLED) {
						tasks.poll();
						continue;
					}
					long now = System.currentTimeMillis();
					wait[0] = t.next - now;
					if (wait[0] > 0)
						return null;
					tasks.poll();
					if (t.period == 0) {
						t.state = PicoTimerTask.DONE;
					} else {
						t.next = t.period < 0 ? now - t.period : t.next + t.period;
						tasks.add(t);
					}
					return t;
				}
			}
			wait[0] = Long.MAX_VALUE;
			return null;
		}

		private synchronized boolean closed() {
			return closed;
		}

		@Override
		public void run() {
			synchronized (this) {
				runner = Fiber.current();
			}
			long[] wait = new long[1];
			boolean ok = false;
			try {
				while (!closed()) {
					PicoTimerTask t = due(wait);
					if (t != null)
						t.run();
					else if (wait[0] == Long.MAX_VALUE)
						Fiber.park();
					else
						Fiber.parkNanos(TimeUnit.MILLISECONDS.toNanos(wait[0]));
					if (t == null)
						Thread.interrupted();
				}
				ok = true;
			} finally {
				if (!ok)
					close();
			}
		}
	}

	public PicoTimer() {
		this(false);
	}

	public PicoTimer(boolean daemon) {
		this("Timer-" + NUMBER.getAndIncrement(), daemon);
	}

	public PicoTimer(String name) {
		this(name, false);
	}

	public PicoTimer(String name, boolean daemon) {
		super(name, true);
		super.cancel();
		Thread thread = new PicoThread(null, queue, name);
		thread.setDaemon(daemon);
		thread.start();
	}

	private void add(TimerTask t, long at, long period) {
		if (at < 0)
			throw new IllegalArgumentException("Illegal execution time.");
		queue.add((PicoTimerTask) t, at, period);
	}

	private static long in(long delay) {
		if (delay < 0)
			throw new IllegalArgumentException("Negative delay.");
		return System.currentTimeMillis() + delay;
	}

	private static long positive(long period) {
		if (period <= 0)
			throw new IllegalArgumentException("Non-positive period.");
		return period;
	}

	@Override
	public void schedule(TimerTask t, long delay) {
		add(t, in(delay), 0);
	}

	@Override
	public void schedule(TimerTask t, Date at) {
		add(t, at.getTime(), 0);
	}

	@Override
	public void schedule(TimerTask t, long delay, long period) {
		add(t, in(delay), -positive(period));
	}

	@Override
	public void schedule(TimerTask t, Date first, long period) {
		add(t, first.getTime(), -positive(period));
	}

	@Override
	public void scheduleAtFixedRate(TimerTask t, long delay, long period) {
		add(t, in(delay), positive(period));
	}

	@Override
	public void scheduleAtFixedRate(TimerTask t, Date first, long period) {
		add(t, first.getTime(), positive(period));
	}

	@Override
	public void cancel() {
		queue.close();
	}

	@Override
	public int purge() {
		return queue.purge();
	}

	@Override
	public String toString() {
		return Members.named(this, super.toString());
	}
}
