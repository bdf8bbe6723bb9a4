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
 * A connection of its own, and transactions that are made once, whatever happens to it.
 *
 *   conflict with another transaction: rolled back, made again
 *   lost before the commit was asked for: a new connection (of a DataSource), made again
 *   lost while it was: the new connection says whether it had come through
 */
@NeverBlocks
final class Link implements Closeable {
	private static final int TRIES = 20;
	/** Null: there is but one connection. */
	private final DataSource source;
	private Connection db;
	final Dialect dialect;
	private long idleMillis;

	/** What is done with the connection. */
	interface Body<T> {
		T run(Connection db) throws SQLException, IOException;
	}

	/** On a new connection: did the last commit come through? */
	interface Asked {
		boolean cameThrough(Connection db) throws SQLException;
	}

	Link(DataSource source, Connection first) throws SQLException {
		this.source = source;
		db = first;
		dialect = new Dialect(db);
		dialect.open(db);
	}

	/** For what may be done twice. */
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
				rollback(e);
				if (first != null && first != e)
					e.addSuppressed(first);
				first = e;
				if (dialect.isConflict(e) && tries < TRIES) {
					LockSupport.parkNanos(ThreadLocalRandom.current().nextInt(1_000_000,
						5_000_000 * tries));
					continue;
				}
				if (source == null || tries > 2 || isAlive())
					throw new IOException(e);
				try {
					replace(e);
					if (committing && asked.cameThrough(db))
						return t;
				} catch (SQLException again) {
					again.addSuppressed(e);
					throw new IOException(again);
				}
			} catch (IOException | RuntimeException | Error e) {
				rollback(e);
				throw e;
			}
		}
	}

	/** From now on a transaction that stands still for so long is the database's to end. */
	void idle(long millis) throws IOException {
		idleMillis = millis;
		call(c -> {
			dialect.idle(c, millis);
			return null;
		});
	}

	private void replace(SQLException why) throws SQLException {
		try {
			db.close();
		} catch (SQLException e) {
			why.addSuppressed(e);
		}
		db = source.getConnection();
		dialect.open(db);
		if (idleMillis > 0)
			dialect.idle(db, idleMillis);
	}

	private boolean isAlive() {
		try {
			return db.isValid(5);
		} catch (SQLException e) {
			return false;
		}
	}

	private void rollback(Throwable why) {
		try {
			db.rollback();
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
