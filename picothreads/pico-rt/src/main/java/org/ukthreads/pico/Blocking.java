// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.Callable;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Calls that can only block an OS thread (a process to wait for, the system's resolver):
 * a helper thread makes the call while the fiber is parked.
 */
public final class Blocking {
	private static final MethodRef CALL = MethodRef.primitive(Blocking.class, "call",
		"(Ljava/util/concurrent/Callable;)Ljava/lang/Object;");
	private static final MethodRef INTERRUPTIBLY = MethodRef.primitive(Blocking.class,
		"interruptibly", "(Ljava/util/concurrent/Callable;)Ljava/lang/Object;");
	private static final ThreadPoolExecutor HELPERS = new ThreadPoolExecutor(0,
		Integer.getInteger("pico.helpers", 256), 5, TimeUnit.SECONDS,
		new SynchronousQueue<>(), r -> new RuntimeThread(r, "pico-helper", 0, true),
		(r, e) -> new RuntimeThread(r, "pico-helper-extra", 0, true).start());

	private static final LongAdder HELPED = new LongAdder();
	private static final AtomicInteger BUSY = new AtomicInteger();

	private Blocking() {}

	/** For f, which has begun to wait for it. */
	static void execute(Fiber f, Runnable r) {
		HELPED.increment();
		try {
			HELPERS.execute(r);
		} catch (Throwable e) {
			/* No more threads. */
			f.abandon();
			throw e;
		}
	}

	/** Is any call of call() or interruptibly() under way? */
	public static boolean isBusy() {
		return BUSY.get() > 0;
	}

	/** How many calls helper threads have made. */
	public static long helped() {
		return HELPED.sum();
	}

	/** Runs c on a helper thread; the calling fiber parks until it has ended. */
	@Leaf
	public static Object call(Callable<?> c) throws Exception {
		return call(c, Fiber.W_NONE, CALL);
	}

	/** The same for a call that an interrupt ends: one of the fiber reaches c. */
	@Leaf
	public static Object interruptibly(Callable<?> c) throws Exception {
		return call(c, Fiber.W_CALL, INTERRUPTIBLY);
	}

	private static Object call(Callable<?> c, int kind, MethodRef as) throws Exception {
		Fiber f = Fiber.current();
		if (f.isForeign())
			return c.call();
		Call call = new Call(f, c, kind == Fiber.W_CALL);
		call.ticket = f.begin(kind, call);
		BUSY.incrementAndGet();
		try {
			execute(f, call);
		} catch (Throwable e) {
			BUSY.decrementAndGet();
			throw e;
		}
		f.stop(as);
		return f.takeA();
	}

	/** One call: what the fiber waits for, and what the helper runs. */
	static final class Call extends Waiter implements Runnable {
		private final Fiber fiber;
		private final Callable<?> what;
		private final boolean interruptible;
		int ticket;
		/** Makes the call; null: nobody, nobody yet, or nobody any more. */
		private Thread helper;

		Call(Fiber fiber, Callable<?> what, boolean interruptible) {
			this.fiber = fiber;
			this.what = what;
			this.interruptible = interruptible;
		}

		@Override
		public void run() {
			Object v = null;
			Throwable e = null;
			enter();
			try {
				v = what.call();
			} catch (Throwable x) {
				e = x;
			}
			leave(e);
			if (fiber.claim(ticket)) {
				if (e != null)
					fiber.fail(e);
				else
					fiber.retA = v;
				fiber.wake();
			}
			BUSY.decrementAndGet();
		}

		private synchronized void enter() {
			helper = Thread.currentThread();
			/* After helper: who interrupts later finds it. */
			if (interruptible && fiber.isInterrupted())
				helper.interrupt();
		}

		/** The next call of this helper must not see our interrupt. */
		private synchronized void leave(Throwable e) {
			helper = null;
			Thread.interrupted();
			if (e instanceof InterruptedException)
				fiber.rt.withdraw(fiber);
		}

		/** The fiber was interrupted, and says so. */
		synchronized void interrupt() {
			if (helper != null)
				helper.interrupt();
		}
	}
}
