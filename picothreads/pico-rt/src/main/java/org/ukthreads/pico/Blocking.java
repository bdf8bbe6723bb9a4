// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.Callable;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Runs calls that can only block an OS thread (waiting for a process, the system's resolver). A
 * helper thread makes the call while the fiber is parked. Thread-safe.
 */
public final class Blocking {
	private static final MethodRef CALL = MethodRef.primitive(Blocking.class, "call",
		"(Ljava/util/concurrent/Callable;)Ljava/lang/Object;");
	private static final MethodRef INTERRUPTIBLY = MethodRef.primitive(Blocking.class,
		"interruptibly", "(Ljava/util/concurrent/Callable;)Ljava/lang/Object;");
	private static final ThreadPoolExecutor HELPERS = new ThreadPoolExecutor(0,
		256, 5, TimeUnit.SECONDS,
		new SynchronousQueue<>(), r -> new RuntimeThread(r, "pico-helper", 0, true),
		(r, e) -> new RuntimeThread(r, "pico-helper-extra", 0, true).start());

	private static final LongAdder HELPED = new LongAdder();
	private static final AtomicInteger BUSY = new AtomicInteger();

	private Blocking() {}

	/**
	 * Runs r on a helper thread, for the wait that f has just opened. If no thread can be made,
	 * the wait is abandoned and the error is thrown.
	 */
	static void execute(Fiber f, Runnable r) {
		HELPED.increment();
		try {
			HELPERS.execute(r);
		} catch (Throwable e) {
			/* No thread could be made. */
			f.abandon();
			throw e;
		}
	}

	/** True while a call() or interruptibly() is under way. */
	public static boolean isBusy() {
		return BUSY.get() > 0;
	}

	/** Number of calls that were given to helper threads. */
	public static long helped() {
		return HELPED.sum();
	}

	/**
	 * Runs c on a helper thread and parks the calling fiber until c has ended. A platform
	 * thread runs c itself. Returns what c returns and throws what c throws.
	 */
	@Leaf
	public static Object call(Callable<?> c) throws Exception {
		return call(c, Fiber.W_NONE, CALL);
	}

	/**
	 * Like {@link #call}, for a call that an interrupt ends: an interrupt of the fiber reaches
	 * c.
	 */
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

	/** True: w is a call of something that is a Device. */
	static boolean isAtDevice(Waiter w) {
		return w instanceof Call && ((Call) w).what instanceof Device;
	}

	/** One call: the record of the fiber's wait and the task of the helper thread. */
	static final class Call extends Waiter implements Runnable {
		private final Fiber fiber;
		private final Callable<?> what;
		private final boolean interruptible;
		int ticket;
		/**
		 * The thread that makes the call; null before it begins and after it has ended. Under
		 * this.
		 */
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
			/* Checked after helper is set: a later interrupt() finds helper. */
			if (interruptible && fiber.isInterrupted())
				helper.interrupt();
		}

		/**
		 * Clears the interrupt, so that the helper's next call does not see it. If the call
		 * ended with an InterruptedException, the fiber's flag is cleared, too.
		 */
		private synchronized void leave(Throwable e) {
			helper = null;
			Thread.interrupted();
			if (e instanceof InterruptedException)
				fiber.rt.withdraw(fiber);
		}

		/** Called when the fiber is interrupted. */
		synchronized void interrupt() {
			if (helper != null)
				helper.interrupt();
		}
	}
}
