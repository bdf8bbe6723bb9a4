// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Members;

/**
 * FutureTask whose task may suspend and whose get parks. It begins only with enough stack to
 * end, and waiters are woken even if the program's done() throws.
 */
public class PicoFutureTask<V> extends FutureTask<V> {
	private final Gate gate = new Gate(this);
	/* Under the gate's guard. */
	/** Null once it is done: it may hold much memory. */
	private Callable<V> task;
	private Thread runner;
	private boolean started;

	public PicoFutureTask(Callable<V> task) {
		super(task);
		this.task = task;
	}

	public PicoFutureTask(Runnable task, V result) {
		this(Juc.callable(task, result));
	}

	private static final class Done extends Gate.Node {
		private final PicoFutureTask<?> f;

		Done(PicoFutureTask<?> f) {
			super(0);
			this.f = f;
		}

		@Override
		boolean attempt() {
			return f.isDone();
		}
	}

	/** The task to run; null: it has been started or is done. */
	private Callable<V> begin() {
		Fiber.room();
		Thread me = Thread.currentThread();
		synchronized (gate) {
			if (started || isDone())
				return null;
			started = true;
			runner = me;
			return task;
		}
	}

	private void end() {
		synchronized (gate) {
			runner = null;
			task = null;
			gate.serve();
		}
	}

	/* Called by subclasses, too; in any case threads may be waiting. */

	@Override
	protected void set(V v) {
		try {
			super.set(v);
		} finally {
			over();
		}
	}

	@Override
	protected void setException(Throwable e) {
		try {
			super.setException(e);
		} finally {
			over();
		}
	}

	private void over() {
		synchronized (gate) {
			task = null;
			gate.serve();
		}
	}

	private void again() {
		synchronized (gate) {
			runner = null;
			started = false;
		}
	}

	@Override
	public void run() {
		Callable<V> c = begin();
		if (c == null)
			return;
		try {
			V v;
			try {
				v = c.call();
			} catch (Throwable e) {
				setException(e);
				return;
			}
			set(v);
		} finally {
			end();
		}
	}

	@Override
	protected boolean runAndReset() {
		Callable<V> c = begin();
		if (c == null)
			return false;
		try {
			c.call();
		} catch (Throwable e) {
			try {
				setException(e);
			} finally {
				end();
			}
			return false;
		}
		again();
		return !isDone();
	}

	@Override
	public boolean cancel(boolean interrupt) {
		Fiber.room();
		try {
			if (!super.cancel(false))
				return false;
		} finally {
			over();
		}
		Thread t;
		synchronized (gate) {
			t = runner;
		}
		if (interrupt && t != null)
			t.interrupt();
		return true;
	}

	@Override
	public V get() throws InterruptedException, ExecutionException {
		if (!isDone())
			gate.passInterruptibly(new Done(this));
		return super.get();
	}

	@Override
	public V get(long time, TimeUnit unit)
			throws InterruptedException, ExecutionException, TimeoutException {
		long nanos = unit.toNanos(time);
		if (!isDone() && !gate.passIn(new Done(this), nanos))
			throw new TimeoutException();
		return super.get();
	}

	@Override
	public String toString() {
		return Members.named(this, super.toString());
	}
}
