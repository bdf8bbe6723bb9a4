// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.NeverBlocks;
import org.ukthreads.pico.Room;

/*
 * A thread of a vault, in memory. Its record is a Header and a snapshot. The roots of the snapshot
 * are the versions that Durable.version returned, the object that the thread exposes, and its task
 * (if it has not begun) or its frames. If it waits for a monitor, the monitor and the number of
 * times that it will hold it follow.
 *
 * `taken` counts the messages that the code has received. It is in the record, so that the write
 * that stores what the code did with a message also consumes the message. The message's own record
 * is removed after that, and ignored if it is still there.
 *
 *   in memory --stored in a wait, for long--> leave() --RELEASE stored--> gone
 *   in memory --stored by a commit, too many here--> RELEASE stored --> leave() --> gone
 *   in memory --another worker owns its record (fenced)--> gone; its code stops for ever at
 *                                                the next call that would store it
 */
@NeverBlocks
final class DurableThread extends KeptFiber {
	/** Kinds of records beside the waits of KeptFiber. */
	static final int NEW = 0, ENDED = 32;

	final Vault vault;
	final String id;
	/** The worker that owned it when it came into memory; written before it runs. */
	long worker;
	/** Used on the thread's carrier, before that by the code that starts the thread. */
	private Header head = new Header();
	/** The last message whose record is removed; written by the writer. */
	private volatile long removed;
	private final ConcurrentLinkedQueue<Message> mailbox = new ConcurrentLinkedQueue<>();
	/** The last message that came into the mailbox; guarded by this. */
	private long heard;
	/** The thread has left the memory, or another worker owns it. Set under this. */
	private volatile boolean gone;
	/** The thread was cancelled, and its code has not noticed it. */
	private volatile boolean asked;
	private HashMap<String, Integer> versions;
	private Object exposed;
	/** What the next commit does in the database; used by the thread's own code. */
	private Transaction<?> work;
	private Object result;

	/*
	 * The wait that the thread is stored in: its ticket (0: none), since when (System.nanoTime),
	 * and until when (epoch milliseconds).
	 */
	private volatile int parked;
	private volatile long parkedAt;
	private volatile long parkedUntil;

	static final class Message {
		final long number;
		final Object value;

		Message(long number, Object value) {
			this.number = number;
			this.value = value;
		}
	}

	/** In the mailbox: cancels the thread. */
	static final Object CANCEL = new Object();

	DurableThread(Vault vault, String id, Runnable task) {
		super(vault.runtime, task);
		this.vault = vault;
		this.id = id;
	}

	/* --- saving --- */

	private Header header(int kind, long nanos) {
		if (kind == NEW || kind == COMMIT || kind == AWAIT || kind == SLEEP) {
			head.saves++;
			head.onces = 0;
		}
		head.kind = kind;
		head.seq++;
		long now = vault.runtime.clock().millis();
		head.until = nanos == Long.MAX_VALUE ? Long.MAX_VALUE : now + nanos / 1_000_000;
		head.nanoTime = nanoTime();
		head.millis = now;
		/* Its code has seen the interrupt, so it is not interrupted again. */
		if (asked && !isInterrupted())
			seen();
		return head;
	}

	private Encoder encoder() {
		Encoder e = new Encoder(vault.codec, this);
		e.ref(versions);
		e.ref(exposed);
		return e;
	}

	/** Returns the record of a thread that has not begun. */
	byte[] record(Runnable task) {
		head.release = vault.codec.releaseOf(task.getClass());
		head.task = Freezer.taskHash(task.getClass());
		Header h = header(NEW, Long.MAX_VALUE);
		Encoder e = encoder();
		e.ref(task);
		return sealed(h.bytes(null), e.finish());
	}

	/** Returns the first record of a thread that continues in the place of another. */
	byte[] migrated(Runnable task, Header of) {
		head = of;
		heard = head.taken;
		removed = head.taken;
		return record(task);
	}

	private byte[] sealed(Bytes b, byte[] snapshot) {
		b.raw(snapshot, snapshot.length);
		return vault.seal.close(Vault.THREAD + id, b);
	}

	@Override
	protected void stopped(int kind, long nanos) {
		if (gone) {
			if (leavable() != 0)
				leave(leavable());
			return;
		}
		if (vault.writer.closed() || (kind == SLEEP && asked() < vault.sleepNanos))
			return;
		if (isPinned() || kind != COMMIT && kind != SLEEP && kind != AWAIT) {
			waits(kind, nanos);
			return;
		}
		Encoder e = encoder();
		Freezer.write(this, e);
		save(kind, nanos, e.finish(), !e.rooms);
	}

	/**
	 * Stores a thread that has waited for long in any other call, unless nothing could end that
	 * wait after a restart. Then the wait is reported, and a crash takes the thread back to where
	 * it was last stored.
	 */
	private void waits(int kind, long nanos) {
		try {
			if (isPinned())
				throw new DurableException(
					"a frame below it is not translated and cannot be saved");
			Encoder e = encoder();
			Freezer.write(this, e);
			if (kind == MONITOR || kind == ENTER) {
				e.ref(monitor());
				e.number(monitorCount());
			} else if (kind != PARK && kind != JOIN) {
				throw new DurableException("the thread waits for the operating system");
			}
			/* All objects are written here, because only then it is known what they reach. */
			byte[] snapshot = e.finish();
			if (nanos == Long.MAX_VALUE && !e.outside
					&& (kind == PARK || kind == JOIN
					|| vault.codec.nameOf(monitor()) == null))
				throw new DurableException("another thread would have to end that wait, and"
					+ " it is not saved with this one: wait with a time-out, wait at an"
					+ " object that is registered by external(name, object), or use"
					+ " Durable.receive()");
			save(kind, nanos, snapshot, false);
		} catch (Throwable e) {
			/*
			 * Not even an error (as from a stream that is too deep) may end the thread that watches
			 * all.
			 */
			vault.unsaved(id, Freezer.where(this), e);
		}
	}

	/** @param mayLeave true: nothing in this process needs the thread in memory */
	private void save(int kind, long nanos, byte[] snapshot, boolean mayLeave) {
		Transaction<?> w = work;
		work = null;
		parked = 0;
		int ticket = leavable();
		/*
		 * It may leave with the result of its transaction: the record holds that for the worker
		 * that continues the thread.
		 */
		boolean leaves = kind == COMMIT && mayLeave && ticket != 0 && vault.mayGo();
		Act save = Act.of(leaves ? Act.Op.RELEASE : Act.Op.SAVE, id, null, worker);
		Header h = header(kind, nanos);
		save.heard = heard;
		save.due = leaves ? 0 : h.until;
		List<Act> acts = new ArrayList<>(2);
		Object[] made = new Object[1];
		if (w == null) {
			save.value = sealed(h.bytes(null), snapshot);
		} else {
			Header copy = h.copy();
			acts.add(working(w, made));
			save.later = () -> sealed(copy.bytes(vault.codec.value(made[0])), snapshot);
		}
		acts.add(save);
		long taken = h.taken;
		for (long k = removed; k < taken;)
			acts.add(Act.put(Vault.message(id, ++k), null));
		long until = h.until;
		long number = h.seq;
		vault.writer.add(acts, x -> {
			if (x == null) {
				removed = taken;
				vault.saved(id, number, save.value.length, kind == COMMIT);
				if (kind != COMMIT && mayLeave) {
					parkedUntil = until;
					parkedAt = System.nanoTime();
					parked = ticket;
				}
				if (leaves)
					left(ticket);
				result = made[0];
			}
			if (x instanceof FencedException)
				vault.lost(this);
			else if (kind == COMMIT && !(x == null && leaves))
				answer(x);
			else if (x != null)
				vault.report(id, x);
		});
	}

	/** The writer runs it, while this thread is stopped. */
	private Act working(Transaction<?> w, Object[] made) {
		Act a = new Act(Act.Op.WORK, "");
		a.work = db -> {
			transacts(this);
			try {
				made[0] = w.run(db);
			} catch (java.sql.SQLException e) {
				throw e;
			} catch (RuntimeException | Error e) {
				throw new Failed(e);
			} finally {
				transacts(null);
			}
		};
		return a;
	}

	/** Wraps what the program's own part of a transaction threw. */
	private static final class Failed extends DurableException {
		private static final long serialVersionUID = 1;

		Failed(Throwable e) {
			super(e.toString(), e);
		}
	}

	private void answer(Throwable x) {
		/* Nothing was committed, so the key stays the same. */
		if (x != null)
			head.saves--;
		committed(x instanceof Failed ? x.getCause() : x);
	}

	/** Called after a commit that has released the thread to other workers. */
	private void left(int ticket) {
		synchronized (this) {
			gone = true;
		}
		leave(ticket);
		vault.gone(this);
	}

	@Override
	protected void ended(Throwable e) {
		vault.ended(this, e);
	}

	/** Returns the act for a thread that has ended without an exception. */
	Act last() {
		Header h = header(ENDED, 0);
		Act a = Act.of(Act.Op.END, id, vault.seal.close(Vault.ENDED + id, h.bytes(null)), worker);
		a.heard = removed;
		a.due = h.until;
		return a;
	}

	/* --- leaving the memory --- */

	/**
	 * Makes a thread leave that has been stored in a wait for that long and will stay in it for as
	 * long again. Returns the act that stores that, or null if the thread stays.
	 */
	Act passivate(long nanos) {
		int t = parked;
		if (t == 0 || System.nanoTime() - parkedAt < nanos || t != leavable()
				|| parkedUntil - vault.runtime.clock().millis() < nanos / 1_000_000)
			return null;
		synchronized (this) {
			if (gone || !mailbox.isEmpty() || asked || !leave(t))
				return null;
			gone = true;
			Act a = Act.of(Act.Op.RELEASE, id, null, worker);
			a.heard = heard;
			a.due = parkedUntil;
			return a;
		}
	}

	/**
	 * Drops the thread from this process, for example because another worker owns its record. What
	 * its code does from then on is not stored. Returns false if the thread was gone already.
	 */
	boolean drop() {
		synchronized (this) {
			if (gone)
				return false;
			gone = true;
		}
		int t = leavable();
		if (t != 0)
			leave(t);
		return true;
	}

	boolean isGone() {
		return gone;
	}

	/* --- loading --- */

	/** Makes a thread from a record. Call go() after that. */
	static DurableThread read(Vault v, String id, byte[] record) {
		Bytes b = v.seal.open(Vault.THREAD + id, record);
		Header h = new Header(b);
		DurableThread t;
		Decoder d;
		try {
			if (h.kind == NEW) {
				d = new Decoder(v.codec, b, null);
				HashMap<String, Integer> versions = versions(d);
				Object exposed = d.ref();
				Runnable task = (Runnable) d.ref();
				t = new DurableThread(v, id, task);
				t.versions = versions;
				t.exposed = exposed;
				Freezer.checkTask(task.getClass(), h.task);
				if (!h.release.equals(v.codec.releaseOf(task.getClass())))
					v.restarts(id, h.release);
			} else {
				t = new DurableThread(v, id, null);
				d = new Decoder(v.codec, b, t);
				t.versions = versions(d);
				t.exposed = d.ref();
				Freezer.read(t, d);
				v.codec.releaseOf(d.outermost);
				if (h.kind == MONITOR || h.kind == ENTER) {
					t.at = d.ref();
					t.holds = (int) d.number();
				}
				t.guests = d.guests;
				t.nanoTime(h.nanoTime + 1_000_000
					* Math.max(0, v.runtime.clock().millis() - h.millis));
			}
		} catch (ClassNotFoundException e) {
			throw new DurableException("a class is missing: " + e.getMessage(), e);
		}
		t.head = h;
		t.removed = h.taken;
		t.heard = h.taken;
		t.result = h.result == null ? null : v.codec.value(new Bytes(h.result, 0));
		return t;
	}

	@SuppressWarnings("unchecked")
	static HashMap<String, Integer> versions(Decoder d) {
		return (HashMap<String, Integer>) d.ref();
	}

	/* Of a thread that was read, until go(). */
	private Object at;
	private int holds;
	private List<Room.Guest> guests = new ArrayList<>();

	void go() {
		int kind = head.kind;
		if (kind == NEW) {
			start();
			return;
		}
		long ms = head.until == Long.MAX_VALUE ? Long.MAX_VALUE
			: Math.max(0, head.until - vault.runtime.clock().millis());
		long nanos = ms > Long.MAX_VALUE / 2_000_000 ? Long.MAX_VALUE
			: Math.max(1, ms * 1_000_000);
		guests.forEach(Room.Guest::back);
		guests.clear();
		Object o = at;
		at = null;
		long until = head.until;
		if (o != null)
			arm(kind, nanos, o, holds);
		else
			arm(kind, nanos);
		/* It is stored in this wait already, so it may leave again. */
		if (kind == AWAIT || kind == SLEEP) {
			parkedUntil = until;
			parkedAt = System.nanoTime();
			parked = leavable();
		}
		if (asked)
			interrupt();
	}

	/* --- messages --- */

	/** Returns the number of the last message that came. Later ones are still in the store. */
	synchronized long heard() {
		return heard;
	}

	/**
	 * Adds the next message to the mailbox. They must come in the order of their numbers, because
	 * `taken` stands for all lower ones. Returns false if the thread has left or an earlier message
	 * is missing.
	 */
	synchronized boolean deliver(long number, Object value) {
		if (gone || number != heard + 1)
			return false;
		heard = number;
		mailbox.add(new Message(number, value));
		if (value == CANCEL && !head.cancelled) {
			asked = true;
			interrupt();
		}
		poke();
		return true;
	}

	/** Skips the number of a message that does not exist. Returns false if the thread has left. */
	synchronized boolean skip(long number) {
		if (gone)
			return false;
		if (number == heard + 1)
			heard = number;
		return true;
	}

	/** Returns the next message for the running code, or null. */
	Message take() {
		for (;;) {
			Message m = mailbox.poll();
			if (m == null)
				return null;
			head.taken = m.number;
			if (m.value != CANCEL)
				return m;
		}
	}

	/* --- what its code asks --- */

	/** In a transaction the number is already that of the commit. */
	String key() {
		return id + '#' + (head.saves - (transacts() ? 1 : 0));
	}

	String onceKey() {
		outside("Durable.once()");
		return key() + '/' + ++head.onces;
	}

	private void seen() {
		asked = false;
		head.cancelled = true;
	}

	/**
	 * Returns true if the thread was cancelled and its code has not yet seen that by an
	 * InterruptedException.
	 *
	 * @param interrupted the thread's interrupt flag, which tells that
	 */
	boolean isToEnd(boolean interrupted) {
		outside("Durable.receive()");
		if (!asked)
			return false;
		seen();
		return interrupted;
	}

	boolean isCancelled() {
		return asked || head.cancelled;
	}

	void expose(Object o) {
		outside("Durable.expose()");
		exposed = o;
	}

	void work(Transaction<?> w) {
		outside("Durable.transaction()");
		work = w;
	}

	Object result() {
		Object r = result;
		result = null;
		return r;
	}

	/** See Durable.version. */
	int version(String name, int min, int max) {
		Integer v = versions == null ? null : versions.get(name);
		if (v == null) {
			outside("the first Durable.version(\"" + name + "\")");
			v = head.release.equals(vault.codec.releaseOf(null)) ? max : min;
			if (versions == null)
				versions = new HashMap<>();
			versions.put(name, v);
		}
		if (v < min || v > max)
			throw new DurableException("the thread " + id + " is at version " + v + " of "
				+ name + ", and the program knows " + min + " to " + max);
		return v;
	}

	@Override
	public String toString() {
		return "durable thread " + id;
	}
}
