// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
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
	 * Was this thread cancelled? Who sleeps or waits then gets an InterruptedException, who
	 * receives a CancelledException, once; after that it may commit, sleep and receive, to
	 * undo what it did.
	 */
	public static boolean isCancelled() {
		return self().isCancelled();
	}

	/**
	 * Stores this thread, here, and does that in the database of its store (a JdbcStore), in
	 * one transaction: both have happened, or none. What it throws, this throws, and nothing
	 * was done.
	 */
	@SuppressWarnings("unchecked")
	public static <T> T transaction(Transaction<T> what) throws SQLException {
		self().work(what);
		KeptFiber.commit();
		return (T) self().result();
	}

	/**
	 * Does that in any other database, in a transaction of its own, once: when the code after
	 * a commit runs again because of a crash, and comes here again, the result is that of
	 * the first time. It is kept in the table pico_once of that database, which is made when
	 * it is not there; its rows may go when the thread has ended.
	 */
	public static <T> T once(DataSource database, Transaction<T> what) throws SQLException {
		return Once.run(self().onceKey(), self().vault.codec, database, what);
	}

	/**
	 * Which code this thread is to follow where it differs between releases: the number is
	 * the same whenever this thread asks for that name. One that was started by another
	 * release than the one that runs gets min, a new one max.
	 *
	 * @throws DurableException the thread is at another version than the program knows
	 */
	public static int version(String name, int min, int max) {
		return self().version(name, min, max);
	}

	/** What Vault.query() shows of this thread: saved with it, so it may change. */
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
	 * A key for what must be done once: the same when the code after a commit runs again
	 * because of a crash, another one after the next commit (sleep, receive) that was stored.
	 */
	public static String key() {
		return self().key();
	}
}
