// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
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
 *              owner                       of a thread: its worker, 0 nobody; -1: no thread
 *              due                         when somebody is to look at it; 0: at once;
 *                                          of one that has failed: a time of its own
 *              sent                        its messages are numbered up to this
 *              failed, why
 *   T_workers  id, name, until, turn, running
 *              id 0: turn is the last worker's number; who joins or buries locks this row
 *
 * Fencing. A worker's number is never used again. Each of its transactions begins by
 * writing its own row (turn + 1, until = now + lease): no row, and nothing is done. Who
 * finds that a lease has run out deletes that row, and in the same transaction frees what
 * the dead one had. Both write the row, so one of them is first: a transaction of the dead
 * that had begun is over before its threads are free, and a later one finds no row. Beside
 * that each save names the owner that it believes in. Clocks decide only how long a dead
 * worker's threads wait, never who may write.
 *
 * `turn` also says, on a new connection, whether the commit that the old one was lost in
 * had come through: messages and the program's own SQL must not be made twice.
 *
 * A commit must be on the disk when it returns; databases that think otherwise by
 * themselves are told so (Dialect).
 *
 * Rejected: a lock that lives as long as the connection (each database has its own, poolers
 * have none, and it says nothing of a process that sleeps); threads in fixed parts of which
 * each has an owner (a part moves only when all its threads stand still).
 */
@NeverBlocks
final class Table implements Shelf {
	private static final int TOGETHER = 512;

	private final Link link;
	private final String table;
	String name = "";
	long leaseMillis = 10_000;
	/** 0: it has not joined, or was fenced. */
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
			/* Looked at again: another worker may have made it in between. */
			if (lacks(db, "content") == null && lacks(db, "owner, due, sent, failed, why") != null)
				throw new SQLException("the table " + table + " was made by an earlier version"
					+ " of pico-durable: finish its threads by that one (" + problem + ")");
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

	/** Readers and one writer at a time do not wait for each other. A setting of the file. */
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

	/** Null: they are there. */
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

	/** The first one found, or -1. */
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

	/** A transaction of this worker: the first thing is to see that it is one. */
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

	/** The row of 0 is locked. */
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
		/* In one of its own: it locks others' rows. */
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

	/* Statements of one kind go to the database together, each with its own record. */

	private final class Batch implements AutoCloseable {
		final Connection db;
		private final Map<String, Group> groups = new LinkedHashMap<>();
		/** The records of what is not sent yet, and by which statement. */
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

	/** It changed no row. */
	private static void missed(Act a) {
		switch (a.op) {
		case SAVE: case RELEASE: case FAILED: case END:
			throw new FencedException("the thread " + a.id + " is another worker's now");
		case REMOVE:
			throw Alone.running(a.id);
		case WAKE: case SEND:
			throw Alone.none(a.id);
		default:
			break;
		}
	}

	private static final String NEVER = Long.toString(Act.NEVER);
	/** When a failed one is due: so resume() finds those by the index, among a million parked. */
	private static final long FAILED = Act.NEVER - 1;
	/**
	 * One row, if its owner is so. The sum keeps planners from the index of owners: PostgreSQL
	 * plans while the table is empty, when either index will do, and goes on by that one, through
	 * all the threads of a worker for each save.
	 */
	private static final String ONE = " where id = ? and owner + 0";

	/**
	 * What was committed and could not be made to last is asked for again: then only that it lasts.
	 * A database that lost it in a crash has lost the worker's turn, too.
	 */
	@Override
	public void make(List<Act> acts) throws IOException {
		try {
			own(db -> {
				try (Batch b = new Batch(db)) {
					for (Act a : acts)
						add(b, a);
					b.flush();
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

	private void last() throws IOException {
		String lasting = link.dialect.lasting();
		if (lasting != null)
			link.call(db -> {
				Dialect.execute(db, lasting);
				return null;
			});
	}

	/**
	 * The owner of a thread's act is who has it, and who writes now: else what was lost with a
	 * connection, and is made again when this is another worker, would be made twice.
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

	/** Our own threads are told by the vault, when this is stored. */
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
	 * Nobody's, a message, or our own, whose changes are all made by this writer. The update
	 * before the read locks the row.
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
			/* By hand: it is not known which of its messages are still there. */
			for (String k : keys(b.db, "select id from " + table + " where id > ? and id < ?",
					Vault.message(a.id, ""), Vault.MESSAGE + a.id + '0'))
				if (k.startsWith(Vault.message(a.id, "")) && Vault.number(k) > 0)
					update(b.db, "delete from " + table + " where id = ?", k);
			return;
		}
		long sent = number(b.db, "select sent from " + table + ONE + " = ?", a.key(), a.owner);
		b.add(a, a.key(), "delete from " + table + ONE + " = ?", a.key(), a.owner);
		for (long n = a.heard; n < sent;)
			add(b, Act.put(Vault.message(a.id, ++n), null));
	}

	private static List<String> keys(Connection db, String sql, Object... args)
			throws SQLException {
		List<String> l = new ArrayList<>();
		try (PreparedStatement s = db.prepareStatement(sql)) {
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
		return link.call(db -> keys(db, "select id from " + table));
	}

	@Override
	public byte[] get(String key) throws IOException {
		return link.call(db -> content(db, key));
	}

	/** Records without owners, as any store's: for tools. */
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

	/* --- whose a thread is --- */

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

	/** Nobody's that are due then, of those that have failed (1) or have not (0). */
	private List<Claim> claim(long until, int failed, int most) throws IOException {
		String free = "select id, sent from " + table + " where owner = 0 and due "
			+ (failed == 0 ? "<=" : "=") + " ? and failed = " + failed;
		/* Most often there is none: seen without a transaction of our own. */
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

	/** What it has is free at once. */
	@Override
	public void close() throws IOException {
		try {
			if (worker != 0)
				link.call(db -> {
					update(db, "update " + workers() + " set until = 0 where id = 0");
					return bury(db, worker);
				});
		} catch (IOException e) {
			/* The end of the lease will do it. */
		} finally {
			worker = 0;
			link.close();
		}
	}
}
