// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ukthreads.pico.Members;

/*
 * ThreadPoolExecutor, with its documented order: a new thread below the core size, then
 * the queue, then a new thread below the maximum, then the handler. The superclass only
 * gives the type; its workers are never started.
 */
public class PicoThreadPoolExecutor extends ThreadPoolExecutor {
	private final Gate gate = new Gate(this);
	/* Under the gate's guard. */
	private final Set<Worker> workers = new HashSet<>();
	private int core;
	private int max;
	private long keepAlive;
	private boolean coreTimeOut;
	private boolean shut;
	private boolean stop;
	private boolean over;
	private int largest;
	private long completed;

	public PicoThreadPoolExecutor(int core, int max, long time, TimeUnit unit,
			BlockingQueue<Runnable> queue) {
		this(core, max, time, unit, queue, Juc.defaultThreadFactory(), new AbortPolicy());
	}

	public PicoThreadPoolExecutor(int core, int max, long time, TimeUnit unit,
			BlockingQueue<Runnable> queue, ThreadFactory f) {
		this(core, max, time, unit, queue, f, new AbortPolicy());
	}

	public PicoThreadPoolExecutor(int core, int max, long time, TimeUnit unit,
			BlockingQueue<Runnable> queue, RejectedExecutionHandler h) {
		this(core, max, time, unit, queue, Juc.defaultThreadFactory(), h);
	}

	public PicoThreadPoolExecutor(int core, int max, long time, TimeUnit unit,
			BlockingQueue<Runnable> queue, ThreadFactory f, RejectedExecutionHandler h) {
		super(core, max, time, unit, queue, f, h);
		this.core = core;
		this.max = max;
		keepAlive = unit.toNanos(time);
	}

	/** The constructor's queue: a program may override getQueue(), even to throw. */
	private BlockingQueue<Runnable> tasks() {
		return super.getQueue();
	}

	private static final class Worker implements Runnable {
		private final PicoThreadPoolExecutor pool;
		private Runnable first;
		private Thread thread;
		/** Under the pool's guard. */
		private boolean busy;
		/** How many threads found it idle and will interrupt it; written under the guard. */
		private volatile int knocks;

		Worker(PicoThreadPoolExecutor pool, Runnable first) {
			this.pool = pool;
			this.first = first;
		}

		@Override
		public void run() {
			boolean abrupt = true;
			try {
				Runnable r = first;
				first = null;
				while (r != null || (r = pool.next(this)) != null) {
					pool.run(this, r);
					r = null;
				}
				abrupt = false;
			} finally {
				pool.exit(this, abrupt);
			}
		}
	}

	/** Waits for interrupts meant for the idle worker, so that they do not hit its task. */
	private static final class Quiet extends Gate.Node {
		private final Worker w;

		Quiet(Worker w) {
			super(1);
			this.w = w;
		}

		@Override
		boolean attempt() {
			return w.knocks == 0;
		}
	}

	private boolean knock(Worker w, boolean begin) {
		synchronized (gate) {
			if (begin && w.busy)
				return false;
			w.knocks += begin ? 1 : -1;
			gate.serve();
			return true;
		}
	}

	private void run(Worker w, Runnable r) {
		/* An interrupt was meant for the idle worker, unless the pool stops. */
		boolean stopped = busy(w, true);
		if (w.knocks > 0)
			gate.pass(new Quiet(w));
		if (stopped || Thread.interrupted() && isStopped())
			w.thread.interrupt();
		Throwable thrown = null;
		try {
			beforeExecute(w.thread, r);
			try {
				r.run();
			} catch (Throwable e) {
				thrown = e;
				throw e;
			} finally {
				afterExecute(r, thrown);
			}
		} finally {
			busy(w, false);
		}
	}

	/** True: the pool stops. */
	private boolean busy(Worker w, boolean b) {
		synchronized (gate) {
			w.busy = b;
			if (!b)
				completed++;
			return stop;
		}
	}

	/** The next task, or null when the worker must end. */
	private Runnable next(Worker w) {
		boolean timedOut = false;
		for (;;) {
			if (mustEnd(w, timedOut))
				return null;
			try {
				Runnable r = timed() ? tasks().poll(keepAlive(), TimeUnit.NANOSECONDS)
					: tasks().take();
				if (r != null)
					return r;
				timedOut = true;
			} catch (InterruptedException e) {
				timedOut = false;
			}
		}
	}

	/*
	 * The queue may be the program's, and its methods may suspend, so it is not asked under the
	 * guard. Its answer may be old then. exit() replaces a worker that ends on an old "empty":
	 * leave() asks once more when the worker is out of the set. A thread that offers a task
	 * after that sees a pool without it.
	 */
	private boolean mustEnd(Worker w, boolean timedOut) {
		boolean empty = tasks().isEmpty();
		synchronized (gate) {
			if (stop || shut && empty)
				return true;
			boolean spare = workers.size() > max || timedOut && timedNow();
			/* Out of the set at once, or others would end for the same reason, too. */
			return spare && (workers.size() > 1 || empty) && workers.remove(w);
		}
	}

	private boolean timedNow() {
		return coreTimeOut || workers.size() > core;
	}

	private boolean timed() {
		synchronized (gate) {
			return timedNow();
		}
	}

	private long keepAlive() {
		synchronized (gate) {
			return keepAlive;
		}
	}

	private void exit(Worker w, boolean abrupt) {
		boolean replace = leave(w, abrupt);
		if (replace)
			start(null, false);
		fewer();
	}

	/** Workers that would wait for ever: the pool is shut, and the last task is taken. */
	private List<Worker> idleForNothing() {
		if (!isShutdown() || !tasks().isEmpty())
			return java.util.Collections.emptyList();
		synchronized (gate) {
			return new ArrayList<>(workers);
		}
	}

	private boolean leave(Worker w, boolean abrupt) {
		synchronized (gate) {
			workers.remove(w);
			if (stop)
				return false;
		}
		boolean empty = tasks().isEmpty();
		synchronized (gate) {
			if (stop || shut && empty)
				return false;
			int least = coreTimeOut ? 0 : core;
			if (least == 0 && !empty)
				least = 1;
			return abrupt || workers.size() < least;
		}
	}

	private void tryEnd() {
		if (!ended())
			return;
		try {
			terminated();
		} finally {
			over();
		}
	}

	/** True once: no worker and no task is left. */
	private boolean ended() {
		boolean stopped;
		synchronized (gate) {
			if (!endable())
				return false;
			stopped = stop;
		}
		if (!stopped && !tasks().isEmpty())
			return false;
		synchronized (gate) {
			if (!endable())
				return false;
			ending = true;
			return true;
		}
	}

	private boolean endable() {
		return shut && !ending && workers.isEmpty();
	}

	private boolean ending;

	private void over() {
		synchronized (gate) {
			over = true;
			gate.serve();
		}
	}

	private static final class Over extends Gate.Node {
		private final PicoThreadPoolExecutor x;

		Over(PicoThreadPoolExecutor x) {
			super(0);
			this.x = x;
		}

		@Override
		boolean attempt() {
			return x.over;
		}
	}

	/** Adds a worker below the limit; false: not allowed. */
	private boolean start(Runnable first, boolean toCore) {
		Worker w = new Worker(this, first);
		if (!reserve(w, first, toCore))
			return false;
		boolean ok = false;
		try {
			Thread t = getThreadFactory().newThread(w);
			if (t != null && mayStart(first)) {
				w.thread = t;
				t.start();
				ok = true;
			}
		} finally {
			if (!ok) {
				leave(w, false);
				tryEnd();
			}
		}
		return ok;
	}

	/** The pool may have been shut while the factory made the thread. */
	private boolean mayStart(Runnable first) {
		synchronized (gate) {
			return !stop && !(shut && first != null);
		}
	}

	private boolean reserve(Worker w, Runnable first, boolean toCore) {
		boolean late = isShutdown() && (first != null || tasks().isEmpty());
		synchronized (gate) {
			if (stop || ending || late || shut && first != null)
				return false;
			if (workers.size() >= (toCore ? core : max))
				return false;
			workers.add(w);
			largest = Math.max(largest, workers.size());
			return true;
		}
	}

	@Override
	public void execute(Runnable r) {
		java.util.Objects.requireNonNull(r);
		if (start(r, true))
			return;
		if (!isShutdown() && tasks().offer(r)) {
			if (isShutdown() && remove(r))
				refuse(r);
			else if (getPoolSize() == 0)
				start(null, false);
		} else if (!start(r, false)) {
			refuse(r);
		}
	}

	private void refuse(Runnable r) {
		RejectedExecutionHandler h = getRejectedExecutionHandler();
		if (h.getClass() == CallerRunsPolicy.class) {
			if (!isShutdown())
				r.run();
		} else if (h.getClass() == DiscardOldestPolicy.class) {
			if (!isShutdown()) {
				tasks().poll();
				execute(r);
			}
		} else if (h.getClass() == AbortPolicy.class) {
			throw new RejectedExecutionException("Task " + r + " rejected from " + this);
		} else {
			h.rejectedExecution(r, this);
		}
	}

	@Override
	public void shutdown() {
		interrupt(shut(false), true);
		tryEnd();
	}

	@Override
	public List<Runnable> shutdownNow() {
		interrupt(shut(true), false);
		List<Runnable> left = new ArrayList<>();
		BlockingQueue<Runnable> q = tasks();
		q.drainTo(left);
		/* drainTo() of a delay queue leaves what is not yet due. */
		if (!q.isEmpty())
			for (Object r : q.toArray())
				if (q.remove(r))
					left.add((Runnable) r);
		tryEnd();
		return left;
	}

	@Override
	public boolean remove(Runnable r) {
		boolean b = tasks().remove(r);
		fewer();
		return b;
	}

	@Override
	public void purge() {
		for (Object r : tasks().toArray())
			if (r instanceof Future<?> && ((Future<?>) r).isCancelled())
				tasks().remove(r);
		fewer();
	}

	/** After a removal: it may have been the last task, and idle workers would wait for ever. */
	final void fewer() {
		interrupt(idleForNothing(), true);
		tryEnd();
	}

	private List<Worker> shut(boolean now) {
		synchronized (gate) {
			shut = true;
			stop |= now;
			return new ArrayList<>(workers);
		}
	}

	private void interrupt(List<Worker> ws, boolean idle) {
		for (Worker w : ws) {
			if (w.thread == null || idle && !knock(w, true))
				continue;
			try {
				w.thread.interrupt();
			} finally {
				if (idle)
					knock(w, false);
			}
		}
	}

	// each: @Override public T m(..) { synchronized (gate) { return X; } }
	boolean isShutdown() = shut; boolean isTerminating() = shut && !over;
	boolean isTerminated() = over; int getPoolSize() = workers.size();
	int getLargestPoolSize() = largest; long getCompletedTaskCount() = completed;
	int getCorePoolSize() = core; int getMaximumPoolSize() = max;
	boolean allowsCoreThreadTimeOut() = coreTimeOut;

	@Override
	public int getActiveCount() {
		synchronized (gate) {
			int n = 0;
			for (Worker w : workers)
				if (w.busy)
					n++;
			return n;
		}
	}

	@Override
	public long getTaskCount() {
		return getCompletedTaskCount() + getActiveCount() + tasks().size();
	}

	@Override
	public void setCorePoolSize(int n) {
		int more = tasks().size();
		synchronized (gate) {
			if (n < 0 || n > max)
				throw new IllegalArgumentException();
			more = Math.min(n - core, more);
			core = n;
		}
		tooMany(n);
		while (more-- > 0)
			start(null, true);
	}

	/** Idle workers look whether there are too many. */
	private void tooMany(int most) {
		List<Worker> ws;
		synchronized (gate) {
			if (workers.size() <= most)
				return;
			ws = new ArrayList<>(workers);
		}
		interrupt(ws, true);
	}

	@Override
	public void setMaximumPoolSize(int n) {
		synchronized (gate) {
			if (n <= 0 || n < core)
				throw new IllegalArgumentException();
			max = n;
		}
		tooMany(n);
	}

	@Override
	public void setKeepAliveTime(long time, TimeUnit unit) {
		long nanos = unit.toNanos(time);
		boolean less;
		synchronized (gate) {
			if (time < 0 || time == 0 && coreTimeOut)
				throw new IllegalArgumentException();
			less = nanos < keepAlive;
			keepAlive = nanos;
		}
		if (less)
			tooMany(0);
	}

	@Override
	public long getKeepAliveTime(TimeUnit unit) {
		return unit.convert(keepAlive(), TimeUnit.NANOSECONDS);
	}

	@Override
	public void allowCoreThreadTimeOut(boolean b) {
		synchronized (gate) {
			if (b && keepAlive <= 0)
				throw new IllegalArgumentException(
					"Core threads must have nonzero keep alive times");
			coreTimeOut = b;
		}
		if (b)
			tooMany(0);
	}

	@Override
	public boolean prestartCoreThread() {
		return start(null, true);
	}

	/** Starts a worker below the core size, or if there is none. */
	final void ensureOne() {
		if (!start(null, true) && getPoolSize() == 0)
			start(null, false);
	}

	final boolean isStopped() {
		synchronized (gate) {
			return stop;
		}
	}

	@Override
	public int prestartAllCoreThreads() {
		int n = 0;
		while (start(null, true))
			n++;
		return n;
	}

	@Override
	public String toString() {
		return Members.name(this) + '@' + Integer.toHexString(hashCode()) + counts();
	}

	final String counts() {
		return "[" + (isTerminated() ? "Terminated" : isShutdown() ? "Shutting down"
			: "Running") + ", pool size = " + getPoolSize() + ", active threads = "
			+ getActiveCount() + ", queued tasks = " + tasks().size()
			+ ", completed tasks = " + getCompletedTaskCount() + "]";
	}

	/* --- submitting --- */

	@Override
	protected <T> RunnableFuture<T> newTaskFor(Callable<T> c) {
		return new PicoFutureTask<>(c);
	}

	@Override
	protected <T> RunnableFuture<T> newTaskFor(Runnable r, T v) {
		return new PicoFutureTask<>(r, v);
	}

	@Override
	public Future<?> submit(Runnable r) {
		RunnableFuture<Void> f = newTaskFor(java.util.Objects.requireNonNull(r), null);
		execute(f);
		return f;
	}

	@Override
	public <T> Future<T> submit(Runnable r, T v) {
		RunnableFuture<T> f = newTaskFor(java.util.Objects.requireNonNull(r), v);
		execute(f);
		return f;
	}

	@Override
	public <T> Future<T> submit(Callable<T> c) {
		RunnableFuture<T> f = newTaskFor(java.util.Objects.requireNonNull(c));
		execute(f);
		return f;
	}

	/* --- invoking --- */

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

	/* --- waiting for the end --- */

	@Override
	public boolean awaitTermination(long time, TimeUnit unit) throws InterruptedException {
		return gate.passIn(new Over(this), unit.toNanos(time));
	}

	/** ExecutorService.close, of Java 19. */
	public void close() {
		shutdown();
		boolean interrupted = false;
		while (!isTerminated()) {
			try {
				gate.passInterruptibly(new Over(this));
			} catch (InterruptedException e) {
				interrupted = true;
				shutdownNow();
			}
		}
		if (interrupted)
			Thread.currentThread().interrupt();
	}
}
