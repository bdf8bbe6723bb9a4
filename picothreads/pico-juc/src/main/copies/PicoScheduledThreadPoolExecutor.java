// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** ScheduledThreadPoolExecutor: a fixed pool of ours over a delay queue of ours. */
public class PicoScheduledThreadPoolExecutor extends ScheduledThreadPoolExecutor {
	private final PicoDelayQueue<RunnableScheduledFuture<?>> delayed = new PicoDelayQueue<>();
	private final Pool pool;
	private volatile boolean afterShutdown = true;
	private volatile boolean periodicAfterShutdown;
	private volatile boolean removeCancelled;
	private static final AtomicLong SEQUENCE = new AtomicLong();

	public PicoScheduledThreadPoolExecutor(int core) {
		this(core, Juc.defaultThreadFactory(), new AbortPolicy());
	}

	public PicoScheduledThreadPoolExecutor(int core, ThreadFactory f) {
		this(core, f, new AbortPolicy());
	}

	public PicoScheduledThreadPoolExecutor(int core, RejectedExecutionHandler h) {
		this(core, Juc.defaultThreadFactory(), h);
	}

	@SuppressWarnings({"unchecked", "rawtypes"})
	public PicoScheduledThreadPoolExecutor(int core, ThreadFactory f,
			RejectedExecutionHandler h) {
		super(core, f, h);
		pool = new Pool(core, (BlockingQueue) delayed, f, h);
	}

	/** The workers; its hooks call those of the executor that the program sees. */
	private final class Pool extends PicoThreadPoolExecutor {
		Pool(int core, BlockingQueue<Runnable> q, ThreadFactory f,
				RejectedExecutionHandler h) {
			super(core, Integer.MAX_VALUE, 10, TimeUnit.MILLISECONDS, q, f, h);
		}

		// each: @Override protected T m(..) { return PicoScheduledThreadPoolExecutor.this.m(..); }
		void beforeExecute(Thread t, Runnable r);
		void afterExecute(Runnable r, Throwable e); void terminated();

		@Override
		public String toString() {
			return PicoScheduledThreadPoolExecutor.this.toString();
		}
	}

	private static final class Task<V> extends PicoFutureTask<V>
			implements RunnableScheduledFuture<V> {
		private final PicoScheduledThreadPoolExecutor x;
		private final long sequence = SEQUENCE.getAndIncrement();
		/** 0: once; > 0: fixed rate; < 0: fixed delay. */
		private final long period;
		private volatile long at;
		/** What decorateTask() made of this: it is in the queue. */
		private RunnableScheduledFuture<V> outer = this;

		Task(PicoScheduledThreadPoolExecutor x, Callable<V> c, long at, long period) {
			super(c);
			this.x = x;
			this.period = period;
			this.at = at;
		}

		@Override
		public long getDelay(TimeUnit unit) {
			return unit.convert(at - System.nanoTime(), TimeUnit.NANOSECONDS);
		}

		@Override
		public int compareTo(Delayed o) {
			if (o instanceof Task) {
				Task<?> t = (Task<?>) o;
				long d = at - t.at;
				return d != 0 ? Long.signum(d) : Long.compare(sequence, t.sequence);
			}
			return Long.compare(getDelay(TimeUnit.NANOSECONDS),
				o.getDelay(TimeUnit.NANOSECONDS));
		}

		@Override
		public boolean isPeriodic() {
			return period != 0;
		}

		@Override
		public void run() {
			if (!x.mayRun(this)) {
				cancel(false);
				return;
			}
			if (period == 0) {
				super.run();
			} else if (super.runAndReset()) {
				at = period > 0 ? at + period : x.after(-period);
				if (!x.mayRun(outer) || !x.queue(outer))
					outer.cancel(false);
			}
		}

		@Override
		public boolean cancel(boolean interrupt) {
			boolean c = super.cancel(interrupt);
			if (c && x.removeCancelled)
				x.remove(outer);
			return c;
		}
	}

	/** When a delay is over. Times in the queue must be near enough to be compared. */
	private long after(long delay) {
		long now = System.nanoTime();
		long d = Math.max(0, delay);
		RunnableScheduledFuture<?> head = d < Long.MAX_VALUE / 2 ? null : delayed.peek();
		if (head != null) {
			long due = head.getDelay(TimeUnit.NANOSECONDS);
			if (due < 0 && d - due < 0)
				d = Long.MAX_VALUE + due;
		}
		return now + d;
	}

	private boolean mayRun(RunnableScheduledFuture<?> t) {
		if (!isShutdown())
			return true;
		if (pool.isStopped())
			return false;
		return t.isPeriodic() ? periodicAfterShutdown
			: afterShutdown || t.getDelay(TimeUnit.NANOSECONDS) <= 0;
	}

	/** False: it was shut down meanwhile, and t is not in the queue. */
	private boolean queue(RunnableScheduledFuture<?> t) {
		delayed.add(t);
		if (!mayRun(t) && remove(t))
			return false;
		pool.ensureOne();
		return true;
	}

	private <V> ScheduledFuture<V> add(Task<V> task, RunnableScheduledFuture<V> t) {
		task.outer = t;
		if (isShutdown())
			getRejectedExecutionHandler().rejectedExecution(t, this);
		else if (!queue(t))
			t.cancel(false);
		return t;
	}

	private ScheduledFuture<?> add(Runnable r, long delay, long period) {
		Task<Object> t = new Task<>(this, Juc.callable(r), after(delay), period);
		return add(t, decorateTask(r, t));
	}

	@Override
	public ScheduledFuture<?> schedule(Runnable r, long delay, TimeUnit unit) {
		return add(r, unit.toNanos(delay), 0);
	}

	@Override
	public <V> ScheduledFuture<V> schedule(Callable<V> c, long delay, TimeUnit unit) {
		Task<V> t = new Task<>(this, java.util.Objects.requireNonNull(c),
			after(unit.toNanos(delay)), 0);
		return add(t, decorateTask(c, t));
	}

	@Override
	public ScheduledFuture<?> scheduleAtFixedRate(Runnable r, long first, long period,
			TimeUnit unit) {
		if (period <= 0)
			throw new IllegalArgumentException();
		return add(r, unit.toNanos(first), unit.toNanos(period));
	}

	@Override
	public ScheduledFuture<?> scheduleWithFixedDelay(Runnable r, long first, long delay,
			TimeUnit unit) {
		if (delay <= 0)
			throw new IllegalArgumentException();
		return add(r, unit.toNanos(first), -unit.toNanos(delay));
	}

	@Override
	public void execute(Runnable r) {
		schedule(r, 0, TimeUnit.NANOSECONDS);
	}

	@Override
	public Future<?> submit(Runnable r) {
		return schedule(r, 0, TimeUnit.NANOSECONDS);
	}

	@Override
	public <T> Future<T> submit(Runnable r, T v) {
		return schedule(Juc.callable(r, v), 0, TimeUnit.NANOSECONDS);
	}

	@Override
	public <T> Future<T> submit(Callable<T> c) {
		return schedule(c, 0, TimeUnit.NANOSECONDS);
	}

	// = PicoThreadPoolExecutor: invoking

	@Override
	public void shutdown() {
		pool.shutdown();
		for (RunnableScheduledFuture<?> t : new ArrayList<>(delayed))
			if ((t.isCancelled() || !mayRun(t)) && delayed.remove(t))
				t.cancel(false);
		pool.fewer();
	}

	// each: @Override public T m(..) { return pool.m(..); }
	List<Runnable> shutdownNow(); boolean isShutdown();
	boolean isTerminating(); boolean isTerminated();
	boolean awaitTermination(long time, TimeUnit unit) throws InterruptedException;
	int getPoolSize(); int getLargestPoolSize(); int getActiveCount();
	int getCorePoolSize(); void setCorePoolSize(int n);
	boolean prestartCoreThread(); int prestartAllCoreThreads();
	int getMaximumPoolSize(); void setMaximumPoolSize(int n);
	long getKeepAliveTime(TimeUnit unit); void setKeepAliveTime(long time, TimeUnit unit);
	boolean allowsCoreThreadTimeOut(); void allowCoreThreadTimeOut(boolean b);
	long getTaskCount(); long getCompletedTaskCount();
	boolean remove(Runnable r); void purge();

	public void close() {
		pool.close();
	}

	@Override
	@SuppressWarnings({"unchecked", "rawtypes"})
	public BlockingQueue<Runnable> getQueue() {
		return (BlockingQueue) delayed;
	}

	@Override
	public void setThreadFactory(ThreadFactory f) {
		super.setThreadFactory(f);
		pool.setThreadFactory(f);
	}

	@Override
	public String toString() {
		return getClass().getName() + '@' + Integer.toHexString(hashCode()) + pool.counts();
	}

	@Override
	public void setExecuteExistingDelayedTasksAfterShutdownPolicy(boolean b) {
		afterShutdown = b;
	}

	@Override
	public boolean getExecuteExistingDelayedTasksAfterShutdownPolicy() {
		return afterShutdown;
	}

	@Override
	public void setContinueExistingPeriodicTasksAfterShutdownPolicy(boolean b) {
		periodicAfterShutdown = b;
	}

	@Override
	public boolean getContinueExistingPeriodicTasksAfterShutdownPolicy() {
		return periodicAfterShutdown;
	}

	@Override
	public void setRemoveOnCancelPolicy(boolean b) {
		removeCancelled = b;
	}

	@Override
	public boolean getRemoveOnCancelPolicy() {
		return removeCancelled;
	}
}
