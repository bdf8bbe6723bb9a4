// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.ukthreads.pico.NeverBlocks;

/** What databases say each in their own way. */
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

	/** Makes a commit last, if it does not by itself; null: it does. */
	String lasting() {
		return product.equals("H2") ? "checkpoint sync" : null;
	}

	/* Keys differ by case, and a record may have more than the 64 KB of MySQL's blob. */

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
	 * The database's clock, epoch milliseconds: the leases of workers on several machines are
	 * compared by it. Where it is not known how to ask, the worker's own.
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

	/** An argument of which the database could not see that it is a long. */
	String argument() {
		return isMySql() ? "cast(? as signed)" : "cast(? as bigint)";
	}

	/**
	 * A session that stands still in the middle of a transaction holds its worker's row, and
	 * nobody could take over: the database is to end it then.
	 */
	void idle(Connection db, long millis) throws SQLException {
		if (product.equals("PostgreSQL"))
			execute(db, "set idle_in_transaction_session_timeout = " + millis);
		else if (product.equals("MariaDB"))
			execute(db, "set session idle_transaction_timeout = " + (millis + 999) / 1000);
		db.commit();
	}

	/** At the end of a query for so many rows that nobody else is about to take. */
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

	/** A new connection's settings; fresh: the table is about to be made. */
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

	/** Another transaction was in the way: nothing was done, and it may be tried again. */
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
