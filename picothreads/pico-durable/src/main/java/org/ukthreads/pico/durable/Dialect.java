// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.ukthreads.pico.NeverBlocks;

/** What differs between databases. */
@NeverBlocks
final class Dialect {
	final String product;

	Dialect(Connection db) throws SQLException {
		product = db.getMetaData().getDatabaseProductName();
	}

	private boolean isMySql() {
		return product.equals("MySQL") || product.equals("MariaDB");
	}

	boolean isSqlite() {
		return product.equals("SQLite");
	}

	/** Returns the statement that makes a commit durable; null: it is durable by itself. */
	String lasting() {
		return product.equals("H2") ? "checkpoint sync" : null;
	}

	/* Keys are case-sensitive, and a record may be larger than the 64 KB of MySQL's blob. */

	String key() {
		if (isMySql())
			return "varchar(250) character set utf8mb4 collate utf8mb4_bin";
		switch (product) {
		case "PostgreSQL":
			return "varchar(250) collate \"C\"";
		case "Microsoft SQL Server":
			return "nvarchar(250) collate Latin1_General_BIN2";
		default:
			return "varchar(250)";
		}
	}

	String content() {
		if (isMySql())
			return "longblob";
		switch (product) {
		case "PostgreSQL":
			return "bytea";
		case "Microsoft SQL Server":
			return "varbinary(max)";
		default:
			return "blob";
		}
	}

	/**
	 * Returns SQL for the database's clock in epoch milliseconds, by which the leases of workers on
	 * several machines are compared. For other databases it is the worker's own clock.
	 */
	String now() {
		if (isMySql())
			return "cast(unix_timestamp(sysdate(3)) * 1000 as signed)";
		switch (product) {
		case "PostgreSQL":
			return "cast(extract(epoch from clock_timestamp()) * 1000 as bigint)";
		case "H2":
			return "datediff(millisecond, timestamp with time zone"
				+ " '1970-01-01 00:00:00+00', current_timestamp)";
		default:
			return Long.toString(System.currentTimeMillis());
		}
	}

	/** Returns SQL for an argument where the database cannot infer that it is a long. */
	String argument() {
		return isMySql() ? "cast(? as signed)" : "cast(? as bigint)";
	}

	/**
	 * Makes the database end a session that stops in the middle of a transaction for that long.
	 * Such a session holds its worker's row and would keep other workers from taking over.
	 */
	void idle(Connection db, long millis) throws SQLException {
		if (product.equals("PostgreSQL"))
			execute(db, "set idle_in_transaction_session_timeout = " + millis);
		else if (product.equals("MariaDB"))
			execute(db, "set session idle_transaction_timeout = " + (millis + 999) / 1000);
		db.commit();
	}

	/**
	 * Returns the end of a query for at most that many rows. Where the database can do that, it
	 * leaves out rows that another worker is about to take.
	 */
	String free(int most) {
		switch (product) {
		case "PostgreSQL":
			return " limit " + most + " for update skip locked";
		case "MySQL": case "MariaDB": case "H2": case "SQLite":
			return " limit " + most;
		default:
			return "";
		}
	}

	/** Sets up a new connection. */
	void open(Connection db) throws SQLException {
		switch (product) {
		case "H2":
			execute(db, "set write_delay 0");
			execute(db, "set lock_timeout 10000");
			break;
		case "SQLite":
			execute(db, "pragma busy_timeout = 30000");
			execute(db, "pragma synchronous = full");
			break;
		case "HSQL Database Engine":
			execute(db, "set files write delay false");
			break;
		default:
			break;
		}
		if (!isSqlite())
			db.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
		db.setAutoCommit(false);
	}

	/**
	 * Returns true if another transaction was in the way: nothing was done, and it may be repeated.
	 */
	boolean isConflict(SQLException e) {
		for (SQLException x = e; x != null; x = x.getNextException()) {
			String s = String.valueOf(x.getSQLState());
			if (s.startsWith("40") || s.equals("HYT00") || isMySql() && x.getErrorCode() == 1205
					|| isSqlite() && (x.getErrorCode() & 0xff) == 5)
				return true;
		}
		return false;
	}

	boolean isDuplicate(SQLException e) {
		for (SQLException x = e; x != null; x = x.getNextException())
			if (String.valueOf(x.getSQLState()).startsWith("23")
					|| isSqlite() && (x.getErrorCode() & 0xff) == 19)
				return true;
		return false;
	}

	static void execute(Connection db, String sql) throws SQLException {
		try (Statement s = db.createStatement()) {
			s.execute(sql);
		}
	}
}
