// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;
import org.ukthreads.pico.NeverBlocks;

/**
 * A database: PostgreSQL, MySQL, MariaDB, SQLite, H2, or any other that speaks plain SQL. Any
 * number of vaults share one table: each thread is run by one of them, which holds a lease;
 * when it is silent for that long, the others take over what it had. See Table.
 */
@NeverBlocks
public final class JdbcStore implements Store {
	final Table table;

	/** On a connection that is the store's from here on. */
	public JdbcStore(Connection db, String table) throws SQLException {
		this.table = new Table(null, db, table);
	}

	/** Asks for connections, and keeps one at a time; one that is lost is replaced. */
	public JdbcStore(DataSource source, String table) throws SQLException {
		this.table = new Table(source, source.getConnection(), table);
	}

	/**
	 * This worker's name, for people; and: there is at most one process of that name, so
	 * that one which starts has what an earlier one had at once, without waiting for the
	 * end of its lease. Before the vault is made.
	 */
	public JdbcStore worker(String name) {
		table.name = name;
		return this;
	}

	/**
	 * How long, in milliseconds, a worker may be silent before the others take over what it
	 * has; 10,000 unless told. The same for all workers.
	 */
	public JdbcStore lease(long millis) {
		if (millis < 100)
			throw new IllegalArgumentException("a lease of " + millis + " ms");
		table.leaseMillis = millis;
		return this;
	}

	@Override
	public void apply(List<Change> changes) throws IOException {
		table.raw(changes);
	}

	@Override
	public List<String> keys() throws IOException {
		return table.keys();
	}

	@Override
	public byte[] get(String key) throws IOException {
		return table.get(key);
	}

	@Override
	public void close() throws IOException {
		table.close();
	}
}
