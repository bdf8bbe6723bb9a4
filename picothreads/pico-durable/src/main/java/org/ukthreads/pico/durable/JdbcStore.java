package org.ukthreads.pico.durable;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.ukthreads.pico.NeverBlocks;

/*
 * A table of a database, in plain SQL; all changes of a call are one transaction. The
 * connection is the store's own. Two processes must not share a table.
 *
 * A commit must be on the disk when it returns. Databases that think otherwise by
 * themselves are told so: H2 keeps commits in memory for half a second (a kill -9 lost
 * what it had committed), HSQLDB does not sync.
 */
@NeverBlocks
public final class JdbcStore implements Store {
	private final Connection db;
	private final String table;
	/** What makes a commit last; null: it does. */
	private final String lasting;

	public JdbcStore(Connection db, String table) throws SQLException {
		this.db = db;
		if (!table.matches("[A-Za-z_][A-Za-z0-9_]*"))
			throw new IllegalArgumentException("table: " + table);
		this.table = table;
		String product = db.getMetaData().getDatabaseProductName();
		lasting = product.equals("H2") ? "checkpoint sync" : null;
		if (product.equals("H2"))
			execute("set write_delay 0");
		else if (product.startsWith("HSQL"))
			execute("set files write delay false");
		db.setAutoCommit(false);
		if (!exists()) {
			execute("create table " + table + " (id varchar(250) primary key, content "
				+ (product.equals("PostgreSQL") ? "bytea" : "blob") + " not null)");
			db.commit();
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
			db.commit();
			if (lasting != null)
				execute(lasting);
		} catch (SQLException e) {
			rollback(e);
			throw new IOException(e);
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
		List<String> l = new ArrayList<>();
		try (Statement s = db.createStatement();
				ResultSet r = s.executeQuery("select id from " + table)) {
			while (r.next())
				l.add(r.getString(1));
			db.commit();
		} catch (SQLException e) {
			throw new IOException(e);
		}
		return l;
	}

	@Override
	public byte[] get(String key) throws IOException {
		try (PreparedStatement s = db.prepareStatement("select content from " + table
				+ " where id = ?")) {
			s.setString(1, key);
			try (ResultSet r = s.executeQuery()) {
				byte[] b = r.next() ? r.getBytes(1) : null;
				db.commit();
				return b;
			}
		} catch (SQLException e) {
			throw new IOException(e);
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
