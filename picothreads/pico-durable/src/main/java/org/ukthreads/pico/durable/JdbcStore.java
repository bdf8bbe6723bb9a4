package org.ukthreads.pico.durable;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.ukthreads.pico.NeverBlocks;

/*
 * A table of a database, in plain SQL; all changes of a call are one transaction. The
 * connection is the store's own. Two processes must not share a table.
 *
 * A commit must be on the disk when it returns. Databases that think otherwise by
 * themselves are told so: H2 keeps commits in memory for half a second (a kill -9 lost
 * what it had committed), HSQLDB does not sync.
 *
 * With a DataSource, a connection that is lost is replaced and the call made once more: it
 * puts and removes by key, so it does not matter whether it had come through.
 */
@NeverBlocks
public final class JdbcStore implements Store {
	/** Null: there is but one connection. */
	private final DataSource source;
	private Connection db;
	private final String table;
	/** What makes a commit last; null: it does. */
	private final String lasting;

	/** What a call does with the connection. */
	private interface Work<T> {
		T run() throws SQLException;
	}

	public JdbcStore(Connection db, String table) throws SQLException {
		this(null, db, table);
	}

	/** Asks for connections, and keeps one at a time. */
	public JdbcStore(DataSource source, String table) throws SQLException {
		this(source, source.getConnection(), table);
	}

	private JdbcStore(DataSource source, Connection db, String table) throws SQLException {
		this.source = source;
		this.db = db;
		if (!table.matches("[A-Za-z_][A-Za-z0-9_]*"))
			throw new IllegalArgumentException("table: " + table);
		this.table = table;
		String product = product();
		lasting = product.equals("H2") ? "checkpoint sync" : null;
		open(product);
		if (!exists()) {
			execute("create table " + table + " (id " + key(product) + " primary key, content "
				+ content(product) + " not null)");
			db.commit();
		}
	}

	private String product() throws SQLException {
		return db.getMetaData().getDatabaseProductName();
	}

	/** A new connection. */
	private void open(String product) throws SQLException {
		if (product.equals("H2"))
			execute("set write_delay 0");
		else if (product.startsWith("HSQL"))
			execute("set files write delay false");
		db.setAutoCommit(false);
	}

	/* Keys differ by case, and a record may have more than the 64 KB of MySQL's blob. */

	private static String key(String product) {
		switch (product) {
		case "MySQL": case "MariaDB":
			return "varchar(250) character set utf8mb4 collate utf8mb4_bin";
		case "Microsoft SQL Server":
			return "nvarchar(250) collate Latin1_General_BIN2";
		default:
			return "varchar(250)";
		}
	}

	private static String content(String product) {
		switch (product) {
		case "PostgreSQL":
			return "bytea";
		case "MySQL": case "MariaDB":
			return "longblob";
		case "Microsoft SQL Server":
			return "varbinary(max)";
		default:
			return "blob";
		}
	}

	private <T> T call(Work<T> w) throws IOException {
		try {
			return once(w);
		} catch (SQLException e) {
			if (source == null || isAlive())
				throw new IOException(e);
			try {
				close();
			} catch (IOException x) {
				e.addSuppressed(x);
			}
			try {
				db = source.getConnection();
				open(product());
				return once(w);
			} catch (SQLException again) {
				again.addSuppressed(e);
				throw new IOException(again);
			}
		}
	}

	private <T> T once(Work<T> w) throws SQLException {
		try {
			T t = w.run();
			db.commit();
			return t;
		} catch (SQLException e) {
			rollback(e);
			throw e;
		}
	}

	private boolean isAlive() {
		try {
			return db.isValid(5);
		} catch (SQLException e) {
			return false;
		}
	}

	private void execute(String sql) throws SQLException {
		try (Statement s = db.createStatement()) {
			s.execute(sql);
		}
	}

	private boolean exists() throws SQLException {
		try (Statement s = db.createStatement()) {
			s.executeQuery("select count(*) from " + table + " where id is null").close();
			return true;
		} catch (SQLException e) {
			return false;
		} finally {
			db.rollback();
		}
	}

	@Override
	public void apply(List<Change> changes) throws IOException {
		call(() -> {
			change(changes);
			return null;
		});
		if (lasting != null)
			call(() -> {
				execute(lasting);
				return null;
			});
	}

	private void change(List<Change> changes) throws SQLException {
		try (PreparedStatement update = db.prepareStatement("update " + table
					+ " set content = ? where id = ?");
				PreparedStatement insert = db.prepareStatement("insert into " + table
					+ " (content, id) values (?, ?)");
				PreparedStatement delete = db.prepareStatement("delete from " + table
					+ " where id = ?")) {
			for (Change c : changes) {
				if (c.value == null) {
					delete.setString(1, c.key);
					delete.executeUpdate();
				} else if (put(update, c) == 0) {
					put(insert, c);
				}
			}
		}
	}

	private static int put(PreparedStatement s, Change c) throws SQLException {
		s.setBytes(1, c.value);
		s.setString(2, c.key);
		return s.executeUpdate();
	}

	private void rollback(SQLException why) {
		try {
			db.rollback();
		} catch (SQLException e) {
			why.addSuppressed(e);
		}
	}

	@Override
	public List<String> keys() throws IOException {
		return call(() -> {
			List<String> l = new ArrayList<>();
			try (Statement s = db.createStatement();
					ResultSet r = s.executeQuery("select id from " + table)) {
				while (r.next())
					l.add(r.getString(1));
			}
			return l;
		});
	}

	@Override
	public byte[] get(String key) throws IOException {
		return call(() -> {
			try (PreparedStatement s = db.prepareStatement("select content from " + table
					+ " where id = ?")) {
				s.setString(1, key);
				try (ResultSet r = s.executeQuery()) {
					return r.next() ? r.getBytes(1) : null;
				}
			}
		});
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
