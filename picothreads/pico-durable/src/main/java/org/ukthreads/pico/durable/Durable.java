package org.ukthreads.pico.durable;

import java.time.Duration;
import org.ukthreads.pico.KeptFiber;

/**
 * What the code of a durable thread calls. Thread.sleep is durable, too: a long one is
 * stored with the time at which it ends.
 */
public final class Durable {
	private Durable() {}

	/**
	 * Stores this thread, here. When it returns, a crash cannot take the thread back to
	 * before this call.
	 */
	public static void commit() {
		KeptFiber.commit();
	}

	/** The next message that somebody sent; waits for it, however long it takes. */
	public static Object receive() {
		return receive(Long.MAX_VALUE);
	}

	/** Null: none came in time. */
	public static Object receive(Duration limit) {
		return receive(limit.compareTo(Duration.ofDays(30_000)) > 0 ? Long.MAX_VALUE
			: self().vault.runtime.clock().millis() + limit.toMillis());
	}

	/** A message is taken for good by the first commit or long wait after this. */
	private static Object receive(long until) {
		for (;;) {
			DurableThread.Message m = self().take();
			if (m != null)
				return m.value;
			long left = until - self().vault.runtime.clock().millis();
			if (left <= 0)
				return null;
			KeptFiber.await(until == Long.MAX_VALUE ? until : left * 1_000_000);
		}
	}

	private static DurableThread self() {
		return (DurableThread) KeptFiber.running();
	}

	public static String id() {
		return self().id;
	}

	/**
	 * A key for what must be done once: the same when the code after a commit runs again
	 * because of a crash, another one after the next commit (sleep, receive) that was stored.
	 */
	public static String key() {
		return self().key();
	}
}
