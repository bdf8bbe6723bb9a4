// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.ukthreads.pico.KeptFiber;

/**
 * What the code of a durable thread may call. Thread.sleep is durable, too: a long sleep is stored
 * with the time at which it ends.
 */
public final class Durable {
	private Durable() {}

	/**
	 * Stores this thread at this point. After that no crash takes the thread back to before this
	 * call.
	 */
	public static void commit() {
		KeptFiber.commit();
	}

	/** Returns the next message to this thread, and waits for it however long it takes. */
	public static Object receive() {
		return receive(Long.MAX_VALUE);
	}

	/** Returns the next message to this thread, or null if none comes within the limit. */
	public static Object receive(Duration limit) {
		return receive(limit.compareTo(Duration.ofDays(30_000)) > 0 ? Long.MAX_VALUE
			: self().vault.runtime.clock().millis() + limit.toMillis());
	}

	/** The next commit or stored wait consumes the message for good. */
	private static Object receive(long until) {
		for (;;) {
			if (self().isToEnd(Thread.interrupted()))
				throw new CancelledException("the thread " + id() + " was cancelled");
			DurableThread.Message m = self().take();
			if (m != null)
				return m.value;
			long left = until - self().vault.runtime.clock().millis();
			if (left <= 0)
				return null;
			KeptFiber.await(until == Long.MAX_VALUE ? until : left * 1_000_000);
		}
	}

	/**
	 * Returns true if this thread was cancelled. A sleep or wait then ends by an
	 * InterruptedException, a receive by a CancelledException, once. After that the thread may
	 * commit, sleep and receive to undo what it did.
	 */
	public static boolean isCancelled() {
		return self().isCancelled();
	}

	/**
	 * Stores this thread at this point and runs {@code what} in the database of its store (a
	 * JdbcStore), in one transaction: both happen or none. If {@code what} throws, this throws the
	 * same, and nothing was done.
	 */
	@SuppressWarnings("unchecked")
	public static <T> T transaction(Transaction<T> what) throws SQLException {
		self().work(what);
		KeptFiber.commit();
		return (T) self().result();
	}

	/**
	 * Runs {@code what} once in any other database, in a transaction of its own. If a crash makes
	 * the code after a commit run again up to this call, this returns the result of the first time.
	 * The result is kept in the table pico_once of that database, which is made if it does not
	 * exist. Its rows may be deleted when the thread has ended.
	 */
	public static <T> T once(DataSource database, Transaction<T> what) throws SQLException {
		return Once.run(self().onceKey(), self().vault.codec, database, what);
	}

	/**
	 * Returns which version of the code this thread must follow where releases differ. The number
	 * is the same whenever this thread asks for that name. A thread that another release started
	 * gets min, a new one max.
	 *
	 * @throws DurableException the thread is at a version that the program does not know
	 */
	public static int version(String name, int min, int max) {
		return self().version(name, min, max);
	}

	/**
	 * Sets the object that Vault.query() shows of this thread. It is saved with the thread, so it
	 * may change.
	 */
	public static void expose(Object view) {
		self().expose(view);
	}

	private static DurableThread self() {
		return (DurableThread) KeptFiber.running();
	}

	public static String id() {
		return self().id;
	}

	/**
	 * Returns a key for something that must be done once. The key is the same when a crash makes
	 * the code after a commit run again, and another one after the next stored commit, sleep or
	 * receive.
	 */
	public static String key() {
		return self().key();
	}
}
