package org.ukthreads.pico.juc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
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
	private final PicoDelayQueue<Task<?>> delayed = new PicoDelayQueue<>();
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

	/** The workers; hooks go to the executor that the program sees. */
	private final class Pool extends PicoThreadPoolExecutor {
		Pool(int core, BlockingQueue<Runnable> q, ThreadFactory f,
				RejectedExecutionHandler h) {
			super(core, Integer.MAX_VALUE, 10, TimeUnit.MILLISECONDS, q, f, h);
		}

		@Override
		protected void beforeExecute(Thread t, Runnable r) {
			PicoScheduledThreadPoolExecutor.this.beforeExecute(t, r);
		}

		@Override
		protected void afterExecute(Runnable r, Throwable e) {
			PicoScheduledThreadPoolExecutor.this.afterExecute(r, e);
		}

		@Override
		protected void terminated() {
			PicoScheduledThreadPoolExecutor.this.terminated();
		}

		void ensure() {
			if (!prestartCoreThread() && getPoolSize() == 0 && getCorePoolSize() == 0) {
				setCorePoolSize(1);
				prestartCoreThread();
			}
		}
	}

	private static final class Task<V> extends PicoFutureTask<V>
			implements RunnableScheduledFuture<V> {
		private final PicoScheduledThreadPoolExecutor x;
		private final long sequence = SEQUENCE.getAndIncrement();
		/** 0: once; > 0: fixed rate; < 0: fixed delay. */
		private final long period;
		private volatile long at;

		Task(PicoScheduledThreadPoolExecutor x, Callable<V> c, long delay, long period) {
			super(c);
			this.x = x;
			this.period = period;
			at = System.nanoTime() + delay;
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
			if (x.isShutdown() && !(isPeriodic() ? x.periodicAfterShutdown
					: x.afterShutdown)) {
				cancel(false);
				return;
			}
			if (period == 0) {
				super.run();
			} else if (super.runAndReset()) {
				at = period > 0 ? at + period : System.nanoTime() - period;
				if (x.isShutdown() && !x.periodicAfterShutdown)
					cancel(false);
				else
					x.delayed.add(this);
			}
		}

		@Override
		public boolean cancel(boolean interrupt) {
			boolean c = super.cancel(interrupt);
			if (c && x.removeCancelled)
				x.delayed.remove(this);
			return c;
		}
	}

	private <V> Task<V> add(Task<V> t) {
		if (isShutdown()) {
			getRejectedExecutionHandler().rejectedExecution(t, this);
			return t;
		}
		delayed.add(t);
		pool.ensure();
		return t;
	}

	@Override
	public ScheduledFuture<?> schedule(Runnable r, long delay, TimeUnit unit) {
		return add(new Task<Object>(this, Executors.callable(r), unit.toNanos(delay), 0));
	}

	@Override
	public <V> ScheduledFuture<V> schedule(Callable<V> c, long delay, TimeUnit unit) {
		return add(new Task<>(this, java.util.Objects.requireNonNull(c), unit.toNanos(delay),
			0));
	}

	@Override
	public ScheduledFuture<?> scheduleAtFixedRate(Runnable r, long first, long period,
			TimeUnit unit) {
		if (period <= 0)
			throw new IllegalArgumentException();
		return add(new Task<Object>(this, Executors.callable(r), unit.toNanos(first),
			unit.toNanos(period)));
	}

	@Override
	public ScheduledFuture<?> scheduleWithFixedDelay(Runnable r, long first, long delay,
			TimeUnit unit) {
		if (delay <= 0)
			throw new IllegalArgumentException();
		return add(new Task<Object>(this, Executors.callable(r), unit.toNanos(first),
			-unit.toNanos(delay)));
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
		return schedule(Executors.callable(r, v), 0, TimeUnit.NANOSECONDS);
	}

	@Override
	public <T> Future<T> submit(Callable<T> c) {
		return schedule(c, 0, TimeUnit.NANOSECONDS);
	}

	@Override
	public <T> List<Future<T>> invokeAll(Collection<? extends Callable<T>> tasks)
			throws InterruptedException {
		return Submit.all(this, tasks, Long.MAX_VALUE);
	}

	@Override
	public <T> List<Future<T>> invokeAll(Collection<? extends Callable<T>> tasks, long time,
			TimeUnit unit) throws InterruptedException {
		return Submit.all(this, tasks, unit.toNanos(time));
	}

	@Override
	public <T> T invokeAny(Collection<? extends Callable<T>> tasks)
			throws InterruptedException, ExecutionException {
		try {
			return Submit.any(this, tasks, Long.MAX_VALUE);
		} catch (TimeoutException e) {
			throw new IllegalStateException(e);
		}
	}

	@Override
	public <T> T invokeAny(Collection<? extends Callable<T>> tasks, long time, TimeUnit unit)
			throws InterruptedException, ExecutionException, TimeoutException {
		return Submit.any(this, tasks, unit.toNanos(time));
	}

	@Override
	public void shutdown() {
		for (Iterator<Task<?>> i = new ArrayList<>(delayed).iterator(); i.hasNext();) {
			Task<?> t = i.next();
			if (!(t.isPeriodic() ? periodicAfterShutdown : afterShutdown)) {
				delayed.remove(t);
				t.cancel(false);
			}
		}
		pool.shutdown();
	}

	@Override
	public List<Runnable> shutdownNow() {
		return pool.shutdownNow();
	}

	@Override
	public boolean isShutdown() {
		return pool.isShutdown();
	}

	@Override
	public boolean isTerminating() {
		return pool.isTerminating();
	}

	@Override
	public boolean isTerminated() {
		return pool.isTerminated();
	}

	@Override
	public boolean awaitTermination(long time, TimeUnit unit) throws InterruptedException {
		return pool.awaitTermination(time, unit);
	}

	public void close() {
		pool.close();
	}

	@Override
	@SuppressWarnings({"unchecked", "rawtypes"})
	public BlockingQueue<Runnable> getQueue() {
		return (BlockingQueue) delayed;
	}

	@Override
	public int getPoolSize() {
		return pool.getPoolSize();
	}

	@Override
	public int getActiveCount() {
		return pool.getActiveCount();
	}

	@Override
	public long getCompletedTaskCount() {
		return pool.getCompletedTaskCount();
	}

	@Override
	public long getTaskCount() {
		return pool.getTaskCount();
	}

	@Override
	public int getCorePoolSize() {
		return pool.getCorePoolSize();
	}

	@Override
	public void setCorePoolSize(int n) {
		pool.setCorePoolSize(n);
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
