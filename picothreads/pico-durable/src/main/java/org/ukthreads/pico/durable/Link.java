// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.Closeable;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.ukthreads.pico.NeverBlocks;

/*
 * One connection to the database, and transactions that happen exactly once whatever becomes of it.
 *
 *   conflict with another transaction: rolled back and repeated
 *   connection lost before the commit: repeated on a new connection (of a DataSource)
 *   connection lost during the commit: the new connection tells whether the commit came through
 *   rollback fails: the connection is closed and counts as lost. Otherwise the next commit on it,
 *   that of a reader, would make half of a transaction durable
 *   no new connection: asked for again for as long as a lease, because a database that restarts is
 *   back soon; then LostException
 */
@NeverBlocks
final class Link implements Closeable {
	private static final int TRIES = 20;
	/** Between two attempts to get a connection, ns. */
	private static final long AGAIN = 50_000_000;
	/** Null: a lost connection cannot be replaced. */
	private final DataSource source;
	private Connection db;
	final Dialect dialect;
	private long leaseMillis;

	/** What is done with the connection. */
	interface Body<T> {
		T run(Connection db) throws SQLException, IOException;
	}

	/** Asks on a new connection whether the last commit came through. */
	interface Asked {
		boolean cameThrough(Connection db) throws SQLException;
	}

	/** The database is away: the call was not made, or it is not known whether it was. */
	static final class LostException extends IOException {
		private static final long serialVersionUID = 1;

		LostException(SQLException why) {
			super(why);
		}
	}

	Link(DataSource source, Connection first) throws SQLException {
		this.source = source;
		db = first;
		dialect = new Dialect(db);
		dialect.open(db);
	}

	/** Runs a transaction that may be made twice. */
	<T> T call(Body<T> b) throws IOException {
		return call(b, c -> false);
	}

	<T> T call(Body<T> b, Asked asked) throws IOException {
		SQLException first = null;
		for (int tries = 1;; tries++) {
			T t = null;
			boolean committing = false;
			try {
				t = b.run(db);
				committing = true;
				db.commit();
				return t;
			} catch (SQLException e) {
				boolean clean = rollback(e);
				if (first != null && first != e)
					e.addSuppressed(first);
				first = e;
				if (clean && dialect.isConflict(e) && tries < TRIES) {
					LockSupport.parkNanos(ThreadLocalRandom.current().nextInt(1_000_000,
						5_000_000 * tries));
					continue;
				}
				if (source == null || clean && isAlive())
					throw new IOException(e);
				if (tries >= TRIES)
					throw new LostException(e);
				if (replaced(e, committing ? asked : c -> false))
					return t;
			} catch (IOException | RuntimeException | Error e) {
				rollback(e);
				throw e;
			}
		}
	}

	/**
	 * From now on the database ends a transaction that stops for that long, and a lost connection
	 * is waited for that long.
	 */
	void lease(long millis) throws IOException {
		leaseMillis = millis;
		call(c -> {
			dialect.idle(c, millis);
			return null;
		});
	}

	/** Waits for a new connection and returns what it tells. */
	private boolean replaced(SQLException why, Asked asked) throws LostException {
		long end = System.nanoTime() + leaseMillis * 1_000_000;
		for (;;)
			try {
				replace(why);
				return asked.cameThrough(db);
			} catch (SQLException e) {
				if (System.nanoTime() - end >= 0)
					throw new LostException(e);
				LockSupport.parkNanos(AGAIN);
			}
	}

	private void replace(SQLException why) throws SQLException {
		closed(why);
		db = source.getConnection();
		dialect.open(db);
		if (leaseMillis > 0)
			dialect.idle(db, leaseMillis);
	}

	private boolean isAlive() {
		try {
			return db.isValid(5);
		} catch (SQLException e) {
			return false;
		}
	}

	/** Returns false if the rollback failed and the connection is closed. */
	private boolean rollback(Throwable why) {
		try {
			db.rollback();
			return true;
		} catch (SQLException e) {
			why.addSuppressed(e);
		}
		closed(why);
		return false;
	}

	private void closed(Throwable why) {
		try {
			db.close();
		} catch (SQLException e) {
			why.addSuppressed(e);
		}
	}

	@Override
	public void close() throws IOException {
		try {
			db.close();
		} catch (SQLException e) {
			throw new IOException(e);
		}
	}
}
