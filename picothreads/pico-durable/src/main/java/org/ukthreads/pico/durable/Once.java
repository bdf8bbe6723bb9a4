// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import javax.sql.DataSource;

/**
 * A transaction that stores its key. The key is its first insert, so that of two transactions that
 * try at once one waits for the other and then finds the key.
 */
final class Once {
	private Once() {}

	static <T> T run(String key, Codec codec, DataSource database, Transaction<T> what)
			throws SQLException {
		try (Connection db = database.getConnection()) {
			boolean auto = db.getAutoCommit();
			db.setAutoCommit(false);
			try {
				return in(db, key, codec, what);
			} catch (SQLException | RuntimeException | Error e) {
				db.rollback();
				throw e;
			} finally {
				db.setAutoCommit(auto);
			}
		}
	}

	@SuppressWarnings("unchecked")
	private static <T> T in(Connection db, String key, Codec codec, Transaction<T> what)
			throws SQLException {
		byte[] done = done(db, key);
		if (done != null)
			return (T) codec.value(new Bytes(done, 0));
		try (PreparedStatement s = db.prepareStatement(
				"insert into pico_once (id, result) values (?, ?)")) {
			s.setString(1, key);
			s.setBytes(2, codec.value((Object) null));
			s.executeUpdate();
		} catch (SQLException e) {
			db.rollback();
			done = done(db, key);
			if (done == null)
				throw e;
			return (T) codec.value(new Bytes(done, 0));
		}
		T t = what.run(db);
		if (t != null)
			try (PreparedStatement s = db.prepareStatement(
					"update pico_once set result = ? where id = ?")) {
				s.setBytes(1, codec.value((Object) t));
				s.setString(2, key);
				s.executeUpdate();
			}
		db.commit();
		return t;
	}

	/** Returns the result that is stored, or null. Makes the table if it does not exist. */
	private static byte[] done(Connection db, String key) throws SQLException {
		try {
			return find(db, key);
		} catch (SQLException e) {
			db.rollback();
			Dialect d = new Dialect(db);
			try {
				Dialect.execute(db, "create table pico_once (id " + d.key() + " primary key,"
					+ " result " + d.content() + " not null)");
				db.commit();
			} catch (SQLException again) {
				/*
				 * Another process made it meanwhile, or the first error had another cause: find()
				 * tells.
				 */
				db.rollback();
			}
			return find(db, key);
		}
	}

	private static byte[] find(Connection db, String key) throws SQLException {
		try (PreparedStatement s = db.prepareStatement(
				"select result from pico_once where id = ?")) {
			s.setString(1, key);
			try (ResultSet r = s.executeQuery()) {
				return r.next() ? r.getBytes(1) : null;
			}
		}
	}
}
