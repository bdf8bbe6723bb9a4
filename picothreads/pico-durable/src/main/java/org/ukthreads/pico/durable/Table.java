// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.ukthreads.pico.NeverBlocks;

/*
 * Two tables of a database, in plain SQL, that any number of workers share.
 *
 *   T          id, content                 a record
 *              owner                       of a thread: its worker; 0: none; -1: the record is
 *                                          not a thread
 *              due                         when a worker must look at it; 0: at once; a thread
 *                                          that has failed has a value of its own. Of the record
 *                                          that a thread has ended: when
 *              sent                        the number of the last message to it
 *              failed, why
 *   T_workers  id, name, until, turn, running
 *              row 0: turn is the number of the newest worker; a worker that joins, or buries
 *              another, locks this row
 *
 * Fencing. A worker's number is never used again. Each of its transactions begins by writing its
 * own row (turn + 1, until = now + lease); if that row is gone, nothing is done. A worker that
 * finds an expired lease deletes the row of that worker and frees its threads in the same
 * transaction. Both write the row, so one of them is first: a transaction that the dead worker had
 * begun is over before its threads are free, and a later one finds no row. In addition, each save
 * names the owner that it expects. Clocks decide only how long a dead worker's threads wait, never
 * which worker may write.
 *
 * `turn` also tells, on a new connection, whether the commit during which the old one was lost came
 * through: messages and the program's own SQL must not be made twice.
 *
 * A commit must be on disk when it returns. Databases that do otherwise by default are told so
 * (Dialect).
 *
 * Rejected: a lock that lives as long as the connection (each database has its own kind, connection
 * poolers have none, and it does not show that a process sleeps); fixed groups of threads that have
 * an owner each (a group can move only while all its threads stand still).
 */
@NeverBlocks
final class Table implements Shelf {
	private static final int TOGETHER = 512;

	private final Link link;
	private final String table;
	String name = "";
	long leaseMillis = 10_000;
	/** 0: this worker has not joined, or was fenced. */
	private long worker;
	private long turn;

	Table(DataSource source, Connection db, String table) throws SQLException {
		if (!table.matches("[A-Za-z_][A-Za-z0-9_]*"))
			throw new IllegalArgumentException("table: " + table);
		this.table = table;
		link = new Link(source, db);
		make(db);
	}

	/* --- the tables --- */

	private void make(Connection db) throws SQLException {
		String problem = lacks(db, "owner, due, sent, failed, why");
		if (problem != null) {
			/* Another worker may have made it in between, so look again. */
			if (lacks(db, "content") == null && lacks(db, "owner, due, sent, failed, why") != null)
				throw new SQLException("the table " + table + " was made by an earlier version"
					+ " of pico-durable: finish its threads with that version (" + problem + ")");
			if (link.dialect.isSqlite())
				wal(db);
			/* Another worker may do the same at the same time. */
			attempt(db, "create table " + table + " (id " + link.dialect.key()
				+ " primary key, content " + link.dialect.content() + " not null, owner bigint"
				+ " not null, due bigint not null, sent bigint not null, failed smallint not"
				+ " null, why varchar(1000))");
			attempt(db, "create index " + table + "_due on " + table + " (owner, due)");
			problem = lacks(db, "owner");
			if (problem != null)
				throw new SQLException("the table " + table + " cannot be made: " + problem);
		}
		if (lacks(db, workers(), "id") != null)
			attempt(db, "create table " + workers() + " (id bigint primary key, name"
				+ " varchar(200) not null, until bigint not null, turn bigint not null, running"
				+ " bigint not null)");
		attempt(db, "insert into " + workers() + " (id, name, until, turn, running)"
			+ " values (0, '', 0, 0, 0)");
	}

	/** Makes readers and the one writer not wait for each other. This is a setting of the file. */
	private static void wal(Connection db) throws SQLException {
		db.setAutoCommit(true);
		Dialect.execute(db, "pragma journal_mode = wal");
		db.setAutoCommit(false);
	}

	private String workers() {
		return table + "_workers";
	}

	private String lacks(Connection db, String columns) throws SQLException {
		return lacks(db, table, columns);
	}

	/** Returns null if the table has these columns, else what the database says. */
	private static String lacks(Connection db, String table, String columns)
			throws SQLException {
		try (Statement s = db.createStatement()) {
			s.executeQuery("select " + columns + " from " + table + " where id is null").close();
			return null;
		} catch (SQLException e) {
			return e.getMessage();
		} finally {
			db.rollback();
		}
	}

	private static void attempt(Connection db, String sql) throws SQLException {
		try {
			Dialect.execute(db, sql);
			db.commit();
		} catch (SQLException e) {
			db.rollback();
		}
	}

	/* --- workers --- */

	/** Returns the first number that the query finds, or -1. */
	private static long number(Connection db, String sql, Object... args) throws SQLException {
		try (PreparedStatement s = db.prepareStatement(sql)) {
			s.setMaxRows(1);
			for (int k = 0; k < args.length; k++)
				s.setObject(k + 1, args[k]);
			try (ResultSet r = s.executeQuery()) {
				return r.next() ? r.getLong(1) : -1;
			}
		}
	}

	private static int update(Connection db, String sql, Object... args) throws SQLException {
		try (PreparedStatement s = db.prepareStatement(sql)) {
			for (int k = 0; k < args.length; k++)
				s.setObject(k + 1, args[k]);
			return s.executeUpdate();
		}
	}

	/**
	 * Runs a transaction of this worker, which begins by checking that the worker was not fenced.
	 */
	private <T> T own(Link.Body<T> b) throws IOException {
		if (worker == 0)
			join();
		T t = link.call(db -> {
			if (update(db, "update " + workers() + " set until = " + link.dialect.now() + " + ?,"
					+ " turn = ? where id = ? and turn = ?", leaseMillis, turn + 1, worker,
					turn) == 0) {
				long was = worker;
				worker = 0;
				throw new FencedException("the lease of worker " + was + " ran out, and"
					+ " another worker has taken over");
			}
			return b.run(db);
		}, db -> number(db, "select turn from " + workers() + " where id = ?", worker)
			== turn + 1);
		turn++;
		return t;
	}

	private void join() throws IOException {
		link.lease(leaseMillis);
		worker = link.call(db -> {
			update(db, "update " + workers() + " set turn = turn + 1 where id = 0");
			long id = number(db, "select turn from " + workers() + " where id = 0");
			if (!name.isEmpty())
				for (long old : numbers(db, "select id from " + workers() + " where name = ?",
						name))
					bury(db, old);
			update(db, "insert into " + workers() + " (id, name, until, turn, running) values"
				+ " (?, ?, " + link.dialect.now() + " + ?, 0, 0)", id, name, leaseMillis);
			return id;
		});
		turn = 0;
	}

	private static List<Long> numbers(Connection db, String sql, Object... args)
			throws SQLException {
		List<Long> l = new ArrayList<>();
		try (PreparedStatement s = db.prepareStatement(sql)) {
			for (int k = 0; k < args.length; k++)
				s.setObject(k + 1, args[k]);
			try (ResultSet r = s.executeQuery()) {
				while (r.next())
					l.add(r.getLong(1));
			}
		}
		return l;
	}

	/** Deletes a worker and frees its threads; returns how many. Row 0 must be locked. */
	private int bury(Connection db, long dead) throws SQLException {
		update(db, "delete from " + workers() + " where id = ?", dead);
		return update(db, "update " + table + " set owner = 0, due = 0 where owner = ?", dead);
	}

	@Override
	public Workers beat(int running) throws IOException {
		Workers w = own(db -> {
			update(db, "update " + workers() + " set running = ? where id = ?", running, worker);
			Workers x = new Workers();
			try (Statement s = db.createStatement();
					ResultSet r = s.executeQuery("select count(*), sum(running) from " + workers()
						+ " where id > 0")) {
				r.next();
				x.count = r.getInt(1);
				x.running = r.getLong(2);
			}
			return x;
		});
		/* In a transaction of its own, because it locks rows of others. */
		w.freed = link.call(db -> {
			String late = "select id from " + workers() + " where id > 0 and until < "
				+ link.dialect.now();
			if (numbers(db, late).isEmpty())
				return 0;
			db.rollback();
			update(db, "update " + workers() + " set until = 0 where id = 0");
			int n = 0;
			for (long dead : numbers(db, late))
				if (update(db, "delete from " + workers() + " where id = ? and until < "
						+ link.dialect.now(), dead) > 0)
					n += bury(db, dead);
			return n;
		});
		return w;
	}

	@Override
	public long worker() {
		return worker;
	}

	@Override
	public boolean shared() {
		return true;
	}

	/* --- records --- */

	/* Statements of one kind go to the database together, each for a record of its own. */

	private final class Batch implements AutoCloseable {
		final Connection db;
		private final Map<String, Group> groups = new LinkedHashMap<>();
		/** The records whose statements are not sent yet, and the statement of each. */
		private final Map<String, String> pending = new HashMap<>();

		Batch(Connection db) {
			this.db = db;
		}

		void add(Act a, String key, String sql, Object... args) throws SQLException {
			Group g = groups.get(sql);
			String other = pending.put(key, sql);
			if (other != null && !other.equals(sql) || g != null && g.acts.size() == TOGETHER) {
				flush();
				pending.put(key, sql);
				g = null;
			}
			if (g == null) {
				g = new Group(db.prepareStatement(sql));
				groups.put(sql, g);
			}
			for (int k = 0; k < args.length; k++)
				if (args[k] instanceof byte[])
					g.open.setBytes(k + 1, (byte[]) args[k]);
				else
					g.open.setObject(k + 1, args[k]);
			g.open.addBatch();
			g.acts.add(a);
		}

		void flush() throws SQLException {
			for (Group g : groups.values()) {
				int[] n = g.open.executeBatch();
				for (int k = 0; k < n.length; k++)
					if (n[k] == 0)
						missed(g.acts.get(k));
			}
			close();
		}

		@Override
		public void close() throws SQLException {
			for (Group g : groups.values())
				g.open.close();
			groups.clear();
			pending.clear();
		}
	}

	private static final class Group {
		final PreparedStatement open;
		final List<Act> acts = new ArrayList<>();

		Group(PreparedStatement open) {
			this.open = open;
		}
	}

	/** Throws the error of an act that has changed no row. For some acts that is no error. */
	private static void missed(Act a) {
		switch (a.op) {
		case SAVE: case RELEASE: case FAILED: case END:
			throw new FencedException("the thread " + a.id + " belongs to another worker now");
		case REMOVE:
			throw Alone.running(a.id);
		case WAKE: case SEND:
			throw Alone.none(a.id);
		default:
			break;
		}
	}

	private static final String NEVER = Long.toString(Act.NEVER);
	/**
	 * The due time of a thread that has failed. By it resume() finds these threads in the index,
	 * even among a million parked ones.
	 */
	private static final long FAILED = Act.NEVER - 1;
	/**
	 * Selects one row if it has that owner. The sum keeps query planners from the index of owners:
	 * PostgreSQL plans while the table is empty, when either index will do. It would keep that plan
	 * and go through all threads of a worker for each save.
	 */
	private static final String ONE = " where id = ? and owner + 0";

	/**
	 * Acts that were committed but could not be made durable come again. Then only the second step
	 * is done. If a crash of the database has lost the commit, it has lost the worker's turn, too.
	 */
	@Override
	public void make(List<Act> acts) throws IOException {
		try {
			own(db -> {
				try (Batch b = new Batch(db)) {
					for (Act a : acts)
						add(b, a);
					b.flush();
					notEnded(db, acts);
				}
				return null;
			});
			acts.forEach(a -> a.committed = true);
		} catch (IOException e) {
			if (acts.size() == 1 && acts.get(0).op == Act.Op.START
					&& e.getCause() instanceof SQLException
					&& link.dialect.isDuplicate((SQLException) e.getCause()))
				throw Alone.there(acts.get(0).id);
			throw e;
		}
		last();
	}

	/**
	 * Checks that no thread of those that start has ended. This comes after the inserts. Before
	 * them, another worker might end the thread in between; now either the insert waited for that
	 * transaction, or the thread is still there and the insert failed.
	 */
	private void notEnded(Connection db, List<Act> acts) throws SQLException {
		List<String> marks = new ArrayList<>();
		for (Act a : acts)
			if (a.op == Act.Op.START && !a.committed)
				marks.add(Vault.ENDED + a.id);
		for (int k = 0; k < marks.size(); k += TOGETHER) {
			List<String> some = marks.subList(k, Math.min(marks.size(), k + TOGETHER));
			for (String found : keys(db, 1, "select id from " + table + " where id in ("
					+ String.join(", ", Collections.nCopies(some.size(), "?")) + ")",
					some.toArray()))
				throw Alone.ended(found.substring(Vault.ENDED.length()));
		}
	}

	private void last() throws IOException {
		String lasting = link.dialect.lasting();
		if (lasting != null)
			link.call(db -> {
				Dialect.execute(db, lasting);
				return null;
			});
	}

	/**
	 * Checks that the owner that the act names is the worker that writes now. Otherwise an act that
	 * was lost with a connection, and comes again when this is another worker, would be made twice.
	 */
	private void check(Act a) {
		switch (a.op) {
		case SAVE: case RELEASE: case FAILED: case END:
			if (a.owner != worker)
				missed(a);
			break;
		default:
			break;
		}
	}

	private void add(Batch b, Act a) throws SQLException {
		check(a);
		if (a.committed)
			return;
		String due = "due = case when sent > ? then 0 else ";
		String mine = ONE + " = ?";
		String argument = link.dialect.argument();
		switch (a.op) {
		case START:
			a.owner = worker;
			b.add(a, a.key(), "insert into " + table + " (id, content, owner, due, sent,"
				+ " failed) values (?, ?, ?, " + NEVER + ", 0, 0)", a.key(), a.value(), worker);
			break;
		case SAVE:
			b.add(a, a.key(), "update " + table + " set content = ?, " + due + NEVER + " end"
				+ mine, a.value(), a.heard, a.key(), a.owner);
			break;
		case RELEASE:
			byte[] v = a.value();
			if (v == null)
				b.add(a, a.key(), "update " + table + " set owner = 0, " + due + argument + " end" + mine,
					a.heard, a.due, a.key(), a.owner);
			else
				b.add(a, a.key(), "update " + table + " set owner = 0, content = ?, " + due
					+ argument + " end" + mine, v, a.heard, a.due, a.key(), a.owner);
			break;
		case FAILED:
			b.add(a, a.key(), "update " + table + " set owner = 0, due = " + FAILED
				+ ", failed = 1, why = ?" + mine, a.why, a.key(), a.owner);
			break;
		case HEARD:
			b.add(a, a.key(), "update " + table + " set " + due + NEVER + " end" + mine,
				a.heard, a.key(), a.owner);
			break;
		case WAKE:
			b.add(a, a.key(), "update " + table + " set due = 0, failed = 0 where id = ?",
				a.key());
			break;
		case DROP:
			b.add(a, a.id, "delete from " + table + " where id = ?", a.id);
			break;
		default:
			b.flush();
			single(b, a);
			break;
		}
	}

	private void single(Batch b, Act a) throws SQLException {
		switch (a.op) {
		case WORK:
			try {
				a.work.run(b.db);
			} catch (SQLException | RuntimeException e) {
				throw e;
			} catch (Exception e) {
				throw new DurableException(e.toString(), e);
			}
			break;
		case PUT:
			byte[] v = a.value();
			if (put(b.db, "update " + table + " set content = ? where id = ?", v, a.id) == 0)
				put(b.db, "insert into " + table + " (content, id, owner, due, sent, failed)"
					+ " values (?, ?, -1, " + NEVER + ", 0, 0)", v, a.id);
			break;
		case SEND:
			send(b.db, a);
			break;
		case RESEAL:
			reseal(b.db, a);
			break;
		case FORGET:
			forget(b.db, a);
			break;
		default:
			end(b, a);
			break;
		}
	}

	private static int put(Connection db, String sql, byte[] v, String id)
			throws SQLException {
		try (PreparedStatement s = db.prepareStatement(sql)) {
			s.setBytes(1, v);
			s.setString(2, id);
			return s.executeUpdate();
		}
	}

	/** The vault tells this worker's own threads when the message is stored. */
	private void send(Connection db, Act a) throws SQLException {
		if (update(db, "update " + table + " set sent = sent + 1, due = case when owner = ? or"
				+ " failed = 1 then due else 0 end where id = ?", worker, a.key()) == 0)
			missed(a);
		a.number = number(db, "select sent from " + table + " where id = ?", a.key());
		put(db, "insert into " + table + " (content, id, owner, due, sent, failed) values"
			+ " (?, ?, -1, " + NEVER + ", 0, 0)", a.sealer.apply(a.number),
			Vault.message(a.id, a.number));
	}

	/**
	 * Seals a message again, or a thread that no other worker owns. If this worker owns it, this
	 * writer makes all its changes. The update before the read locks the row.
	 */
	private void reseal(Connection db, Act a) throws SQLException {
		a.value = null;
		if (update(db, "update " + table + " set failed = failed where id = ?"
				+ " and (owner + 0 <= 0 or owner + 0 = ?)", a.id, worker) == 0)
			return;
		byte[] old = content(db, a.id);
		byte[] fresh = a.resealer.apply(old);
		if (fresh != null)
			put(db, "update " + table + " set content = ? where id = ?", fresh, a.id);
		a.value = fresh == null ? old : fresh;
	}

	private byte[] content(Connection db, String key) throws SQLException {
		try (PreparedStatement s = db.prepareStatement("select content from " + table
				+ " where id = ?")) {
			s.setString(1, key);
			try (ResultSet r = s.executeQuery()) {
				return r.next() ? r.getBytes(1) : null;
			}
		}
	}

	private void end(Batch b, Act a) throws SQLException {
		if (a.op == Act.Op.REMOVE) {
			if (update(b.db, "delete from " + table + ONE + " = 0", a.key()) == 0
					&& number(b.db, "select owner from " + table + " where id = ?", a.key()) > 0)
				missed(a);
			/* REMOVE does not know which of its messages are still there. */
			for (String k : keys(b.db, 0, "select id from " + table + " where id > ? and id < ?",
					Vault.message(a.id, ""), Vault.MESSAGE + a.id + '0'))
				if (k.startsWith(Vault.message(a.id, "")) && Vault.number(k) > 0)
					update(b.db, "delete from " + table + " where id = ?", k);
			return;
		}
		long sent = number(b.db, "select sent from " + table + ONE + " = ?", a.key(), a.owner);
		String mark = Vault.ENDED + a.id;
		/* There is one if an earlier version, which does not look for it, ran the id again. */
		update(b.db, "delete from " + table + " where id = ?", mark);
		b.add(a, a.key(), "update " + table + " set id = ?, content = ?, owner = -1, due = ?,"
			+ " sent = 0, failed = 0" + ONE + " = ?", mark, a.value(), a.due, a.key(), a.owner);
		for (long n = a.heard; n < sent;)
			add(b, Act.put(Vault.message(a.id, ++n), null));
	}

	/** Some at a time, so that no transaction is long. */
	private void forget(Connection db, Act a) throws SQLException {
		List<String> marks = a.due == Act.NEVER ? Collections.singletonList(Vault.ENDED + a.id)
			: keys(db, TOGETHER, "select id from " + table + " where owner = -1 and due < ?"
				+ " and id > ? and id < ?", a.due, Vault.ENDED, "e0");
		a.number = 0;
		for (String k : marks)
			a.number += update(db, "delete from " + table + " where id = ?", k);
	}

	/** @param most 0: all */
	private static List<String> keys(Connection db, int most, String sql, Object... args)
			throws SQLException {
		List<String> l = new ArrayList<>();
		try (PreparedStatement s = db.prepareStatement(sql)) {
			s.setMaxRows(most);
			for (int k = 0; k < args.length; k++)
				s.setObject(k + 1, args[k]);
			try (ResultSet r = s.executeQuery()) {
				while (r.next())
					l.add(r.getString(1));
			}
		}
		return l;
	}

	@Override
	public List<String> keys() throws IOException {
		return link.call(db -> keys(db, 0, "select id from " + table));
	}

	@Override
	public byte[] get(String key) throws IOException {
		return link.call(db -> content(db, key));
	}

	/** Changes records without looking at owners, as any store does. For tools. */
	void raw(List<Store.Change> changes) throws IOException {
		link.call(db -> {
			for (Store.Change c : changes)
				if (c.value == null)
					update(db, "delete from " + table + " where id = ?", c.key);
				else if (put(db, "update " + table + " set content = ? where id = ?", c.value,
						c.key) == 0)
					put(db, "insert into " + table + " (content, id, owner, due, sent, failed)"
						+ " values (?, ?, " + (c.key.startsWith(Vault.THREAD) ? 0 : -1)
						+ ", 0, 0, 0)", c.value, c.key);
			return null;
		});
		last();
	}

	/* --- the owners of threads --- */

	private static List<Claim> claims(Connection db, String sql, int most, Object... args)
			throws SQLException {
		List<Claim> l = new ArrayList<>();
		try (PreparedStatement s = db.prepareStatement(sql)) {
			s.setMaxRows(most);
			for (int k = 0; k < args.length; k++)
				s.setObject(k + 1, args[k]);
			try (ResultSet r = s.executeQuery()) {
				while (r.next())
					l.add(new Claim(r.getString(1).substring(Vault.THREAD.length()),
						r.getLong(2)));
			}
		}
		return l;
	}

	@Override
	public List<Claim> claim(long until, int most, boolean failed) throws IOException {
		List<Claim> won = claim(until, 0, most);
		if (failed)
			won.addAll(claim(FAILED, 1, most));
		return won;
	}

	/**
	 * Claims threads that no worker owns and that are due by {@code until}: those that have failed
	 * (1) or those that have not (0).
	 */
	private List<Claim> claim(long until, int failed, int most) throws IOException {
		String free = "select id, sent from " + table + " where owner = 0 and due "
			+ (failed == 0 ? "<=" : "=") + " ? and failed = " + failed;
		/* Usually there is none. This needs no transaction of this worker. */
		if (link.call(db -> claims(db, free, 1, until)).isEmpty())
			return new ArrayList<>();
		return own(db -> {
			List<Claim> won = new ArrayList<>();
			try (PreparedStatement s = db.prepareStatement("update " + table + " set owner = ?,"
					+ " due = " + NEVER + ", failed = 0" + ONE + " = 0")) {
				for (Claim c : claims(db, free + " order by due, id" + link.dialect.free(most),
						most, until)) {
					s.setLong(1, worker);
					s.setString(2, Vault.THREAD + c.id);
					if (s.executeUpdate() > 0)
						won.add(c);
				}
			}
			return won;
		});
	}

	@Override
	public List<Claim> told() throws IOException {
		if (worker == 0)
			return new ArrayList<>();
		return link.call(db -> claims(db, "select id, sent from " + table + " where owner = ?"
			+ " and due = 0", 0, worker));
	}

	private List<Row> rows(String where, int most, String... args) throws IOException {
		return link.call(db -> {
			List<Row> l = new ArrayList<>();
			try (PreparedStatement s = db.prepareStatement("select id, owner, due, sent, failed,"
					+ " why, content from " + table + " where " + where)) {
				s.setMaxRows(most);
				for (int k = 0; k < args.length; k++)
					s.setString(k + 1, args[k]);
				try (ResultSet r = s.executeQuery()) {
					while (r.next())
						l.add(row(r));
				}
			}
			return l;
		});
	}

	@Override
	public List<Row> rows(String after, int most) throws IOException {
		return rows("id > ? and id < ? order by id", most, Vault.THREAD + after, "t0");
	}

	@Override
	public Row row(String id) throws IOException {
		List<Row> l = rows("id = ?", 1, Vault.THREAD + id);
		return l.isEmpty() ? null : l.get(0);
	}

	private static Row row(ResultSet r) throws SQLException {
		Row x = new Row();
		x.id = r.getString(1).substring(Vault.THREAD.length());
		x.owner = r.getLong(2);
		x.due = r.getLong(3);
		x.sent = r.getLong(4);
		x.failed = r.getInt(5) != 0;
		x.why = r.getString(6);
		x.record = r.getBytes(7);
		return x;
	}

	@Override
	public boolean alive() throws IOException {
		return link.call(db -> number(db, "select 1 from " + table
			+ " where owner >= 0 and failed = 0")) > 0;
	}

	/** Frees the worker's threads at once. */
	@Override
	public void close() throws IOException {
		try {
			if (worker != 0)
				link.call(db -> {
					update(db, "update " + workers() + " set until = 0 where id = 0");
					return bury(db, worker);
				});
		} catch (IOException e) {
			/* The threads become free when the lease ends. */
		} finally {
			worker = 0;
			link.close();
		}
	}
}
