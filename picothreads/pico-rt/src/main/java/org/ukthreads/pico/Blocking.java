package org.ukthreads.pico;

import java.util.concurrent.Callable;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Calls that can only block an OS thread (a process to wait for, the system's resolver):
 * a helper thread makes the call while the fiber is parked.
 */
public final class Blocking {
	private static final MethodRef CALL = MethodRef.primitive(Blocking.class, "call",
		"(Ljava/util/concurrent/Callable;)Ljava/lang/Object;");
	private static final ThreadPoolExecutor HELPERS = new ThreadPoolExecutor(0,
		Integer.getInteger("pico.helpers", 256), 5, TimeUnit.SECONDS,
		new SynchronousQueue<>(), r -> {
			Thread t = new Thread(null, r, "pico-helper", 0);
			t.setDaemon(true);
			return t;
		}, (r, e) -> new Thread(r, "pico-helper-extra").start());

	private Blocking() {}

	static void execute(Runnable r) {
		HELPERS.execute(r);
	}

	/** Runs c on a helper thread; the calling fiber parks until it has ended. */
	@Leaf
	public static Object call(Callable<?> c) throws Exception {
		Fiber f = Fiber.current();
		if (f.isForeign())
			return c.call();
		int ticket = f.begin(Fiber.W_NONE, null);
		execute(() -> {
			Object v = null;
			Throwable e = null;
			try {
				v = c.call();
			} catch (Throwable x) {
				e = x;
			}
			if (f.claim(ticket)) {
				if (e != null)
					f.fail(e);
				else
					f.retA = v;
				f.wake();
			}
		});
		f.stop(CALL);
		return f.takeA();
	}
}
