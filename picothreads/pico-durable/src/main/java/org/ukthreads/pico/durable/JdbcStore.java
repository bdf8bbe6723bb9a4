// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;
import org.ukthreads.pico.NeverBlocks;

/**
 * A store in a database: PostgreSQL, MySQL, MariaDB, SQLite, H2, or any other that understands
 * plain SQL. Any number of vaults may share one table. Each thread is run by one of them, which
 * holds a lease. If that vault is silent for longer than its lease, the others take over its
 * threads. See Table.
 */
@NeverBlocks
public final class JdbcStore implements Store {
	final Table table;

	/** Uses this connection, which belongs to the store from now on. */
	public JdbcStore(Connection db, String table) throws SQLException {
		this.table = new Table(null, db, table);
	}

	/** Takes connections from the source, one at a time, and replaces one that is lost. */
	public JdbcStore(DataSource source, String table) throws SQLException {
		this.table = new Table(source, source.getConnection(), table);
	}

	/**
	 * Names this worker. The name promises that at most one process has it. So a process that
	 * starts gets the threads of an earlier one with that name at once, without waiting for the end
	 * of its lease. Call this before the vault is made.
	 */
	public JdbcStore worker(String name) {
		table.name = name;
		return this;
	}

	/**
	 * Sets how long, in milliseconds, a worker may be silent before the others take over its
	 * threads. The default is 10,000. All workers must have the same.
	 */
	public JdbcStore lease(long millis) {
		if (millis < 100)
			throw new IllegalArgumentException("a lease of " + millis + " ms: at least 100");
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
