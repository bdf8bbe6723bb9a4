package org.ukthreads.pico.juc;

import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** FutureTask whose task may suspend and whose get parks. */
public class PicoFutureTask<V> extends FutureTask<V> {
	private final Gate gate = new Gate(this);
	private final Callable<V> task;
	/* Under the gate's guard. */
	private Thread runner;
	private boolean started;

	public PicoFutureTask(Callable<V> task) {
		super(task);
		this.task = task;
	}

	public PicoFutureTask(Runnable task, V result) {
		this(Executors.callable(task, result));
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

	private boolean begin() {
		Thread me = Thread.currentThread();
		synchronized (gate) {
			if (started || isDone())
				return false;
			started = true;
			runner = me;
			return true;
		}
	}

	private void end() {
		synchronized (gate) {
			runner = null;
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
		if (!begin())
			return;
		V v;
		try {
			v = task.call();
		} catch (Throwable e) {
			setException(e);
			end();
			return;
		}
		set(v);
		end();
	}

	@Override
	protected boolean runAndReset() {
		if (!begin())
			return false;
		try {
			task.call();
		} catch (Throwable e) {
			setException(e);
			end();
			return false;
		}
		again();
		return !isDone();
	}

	@Override
	public boolean cancel(boolean interrupt) {
		if (!super.cancel(false))
			return false;
		Thread t;
		synchronized (gate) {
			t = runner;
			gate.serve();
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
		if (!isDone() && !gate.passIn(new Done(this), unit.toNanos(time)))
			throw new TimeoutException();
		return super.get();
	}
}
