package org.ukthreads.pico.durable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.NeverBlocks;
import org.ukthreads.pico.Room;

/*
 * A thread of a vault. Its record:
 *
 *   version, saves so far (not those in waits that were found to last, which are chance,
 *   and would change the key), messages taken, how it waits, until when (epoch millis),
 *   System.nanoTime and the time of day when it was saved,
 *   then a snapshot whose roots are the task (not begun) or the frames; and, of one that
 *   waits for a monitor, whose, and how often it will hold it
 *
 * `taken` counts the messages that the code has received. It is in the record, so that a
 * message is consumed by the same write that stores what the code did with it; the
 * message's own record is removed after that, and ignored if it is still there.
 */
@NeverBlocks
final class DurableThread extends KeptFiber {
	static final int VERSION = 2;
	static final int NEW = 0;

	final Vault vault;
	final String id;
	/** The carrier's, or whoever starts it. */
	private long saves;
	private long taken;
	/** Messages whose records are gone; the writer's. */
	private volatile long removed;
	private final ConcurrentLinkedQueue<Message> mailbox = new ConcurrentLinkedQueue<>();
	/** Messages numbered so far; under this. */
	private long sent;
	/** It takes no more; under this. */
	private boolean over;

	static final class Message {
		final long number;
		final Object value;

		Message(long number, Object value) {
			this.number = number;
			this.value = value;
		}
	}

	DurableThread(Vault vault, String id, Runnable task) {
		super(vault.runtime, task);
		this.vault = vault;
		this.id = id;
	}

	private Bytes header(int kind, long nanos) {
		Bytes b = new Bytes(1024);
		b.put(VERSION);
		if (kind == NEW || kind == COMMIT || kind == AWAIT || kind == SLEEP)
			saves++;
		b.unsigned(saves);
		b.unsigned(taken);
		b.put(kind);
		b.number(nanos == Long.MAX_VALUE ? Long.MAX_VALUE
			: vault.runtime.clock().millis() + nanos / 1_000_000);
		b.number(nanoTime());
		b.number(vault.runtime.clock().millis());
		return b;
	}

	/** Of a thread that has not begun. */
	byte[] record(Runnable task) {
		Bytes b = header(NEW, Long.MAX_VALUE);
		Encoder e = new Encoder(vault.codec, this);
		e.ref(task);
		byte[] s = e.finish();
		b.raw(s, s.length);
		return vault.seal.close(Vault.THREAD + id, b);
	}

	@Override
	protected void stopped(int kind, long nanos) {
		if (vault.writer.closed() || (kind == SLEEP && asked() < vault.sleepNanos))
			return;
		if (isPinned() || kind != COMMIT && kind != SLEEP && kind != AWAIT) {
			waits(kind, nanos);
			return;
		}
		Encoder e = new Encoder(vault.codec, this);
		Freezer.write(this, e);
		save(kind, nanos, e);
	}

	/**
	 * In any other call, for long: stored, unless it waits for what will not be there after
	 * a restart. Then that is told, and a crash takes it back to where it was last stored.
	 */
	private void waits(int kind, long nanos) {
		try {
			if (isPinned())
				throw new DurableException(
					"a frame below it is not translated and cannot be saved");
			Encoder e = new Encoder(vault.codec, this);
			Freezer.write(this, e);
			if (kind == MONITOR || kind == ENTER) {
				e.ref(monitor());
				e.number(monitorCount());
			} else if (kind != PARK && kind != JOIN) {
				throw new DurableException("the operating system is waited for");
			}
			/* Written here, so that what it meets is known. */
			byte[] snapshot = e.finish();
			if (nanos == Long.MAX_VALUE && !e.outside
					&& (kind == PARK || kind == JOIN
					|| vault.codec.nameOf(monitor()) == null))
				throw new DurableException("another thread would have to end that wait, and"
					+ " it is not saved with this one: wait with a time-out, wait at an"
					+ " object that is registered by external(name, object), or use"
					+ " Durable.receive()");
			save(kind, nanos, snapshot);
		} catch (Throwable e) {
			/* An error, too (a stream too deep), must not end who watches them all. */
			vault.unsaved(id, Freezer.where(this), e);
		}
	}

	private void save(int kind, long nanos, Encoder e) {
		save(kind, nanos, e.finish());
	}

	private void save(int kind, long nanos, byte[] snapshot) {
		Bytes b = header(kind, nanos);
		b.raw(snapshot, snapshot.length);
		List<Store.Change> cs = new ArrayList<>(1);
		cs.add(new Store.Change(Vault.THREAD + id,
			vault.seal.close(Vault.THREAD + id, b)));
		long gone = taken;
		for (long k = removed; k < gone;)
			cs.add(new Store.Change(Vault.message(id, ++k), null));
		vault.writer.add(cs, x -> {
			if (x == null)
				removed = gone;
			if (kind == COMMIT) {
				/* It was none: the same key again. */
				if (x != null)
					saves--;
				committed(x);
			} else if (x != null) {
				vault.report(id, x);
			}
		});
	}

	@Override
	protected void ended(Throwable e) {
		vault.ended(this, e);
	}

	/** The records that go when it has ended well. */
	synchronized List<Store.Change> last() {
		over = true;
		List<Store.Change> cs = new ArrayList<>(1);
		cs.add(new Store.Change(Vault.THREAD + id, null));
		for (long k = removed; k < sent;)
			cs.add(new Store.Change(Vault.message(id, ++k), null));
		return cs;
	}

	/** Reads a record; then start(). */
	static DurableThread read(Vault v, String id, byte[] record) {
		Bytes b = v.seal.open(Vault.THREAD + id, record);
		int version = b.get();
		if (version != VERSION)
			throw new DurableException("a record of version " + version);
		long saves = b.unsigned();
		long taken = b.unsigned();
		int kind = b.get();
		long until = b.number();
		long nanoTime = b.number();
		long millis = b.number();
		DurableThread t;
		try {
			if (kind == NEW) {
				Runnable task = (Runnable) new Decoder(v.codec, b, null).ref();
				t = new DurableThread(v, id, task);
			} else {
				t = new DurableThread(v, id, null);
				Decoder d = new Decoder(v.codec, b, t);
				Freezer.read(t, d);
				if (kind == MONITOR || kind == ENTER) {
					t.at = d.ref();
					t.holds = (int) d.number();
				}
				t.guests = d.guests;
				t.nanoTime(nanoTime + 1_000_000
					* Math.max(0, v.runtime.clock().millis() - millis));
			}
		} catch (ClassNotFoundException e) {
			throw new DurableException("a class is missing: " + e.getMessage(), e);
		}
		t.saves = saves;
		t.taken = taken;
		t.removed = taken;
		t.sent = taken;
		t.kind = kind;
		t.until = until;
		return t;
	}

	/* Of one that was read, until it goes. */
	private int kind;
	private long until;
	private Object at;
	private int holds;
	private List<Room.Guest> guests = new ArrayList<>();

	void go() {
		if (kind == NEW) {
			start();
			return;
		}
		long ms = until == Long.MAX_VALUE ? Long.MAX_VALUE
			: Math.max(0, until - vault.runtime.clock().millis());
		long nanos = ms > Long.MAX_VALUE / 2_000_000 ? Long.MAX_VALUE
			: Math.max(1, ms * 1_000_000);
		guests.forEach(Room.Guest::back);
		guests.clear();
		Object o = at;
		at = null;
		if (o != null)
			arm(kind, nanos, o, holds);
		else
			arm(kind, nanos);
	}

	long taken() {
		return taken;
	}

	/** One that was stored earlier; in order of their numbers; before go(). */
	synchronized void stored(long number, Object value) {
		sent = Math.max(sent, number);
		deliver(number, value);
	}

	/**
	 * Numbers a message, stores it and delivers it. Numbers, records and deliveries are in
	 * one order: `taken` stands for all that have a lower number.
	 */
	synchronized void post(byte[] value, Object copy, Consumer<Throwable> then) {
		if (over)
			throw new DurableException("the thread " + id + " has ended");
		long number = ++sent;
		Bytes b = new Bytes(value.length + 1 + Seal.SIZE);
		b.put(VERSION);
		b.raw(value, value.length);
		String key = Vault.message(id, number);
		vault.writer.add(Collections.singletonList(
			new Store.Change(key, vault.seal.close(key, b))), x -> {
				if (x == null)
					deliver(number, copy);
				then.accept(x);
			});
	}

	private void deliver(long number, Object value) {
		mailbox.add(new Message(number, value));
		poke();
	}

	/** The next message for the running code, or null. */
	Message take() {
		Message m = mailbox.poll();
		if (m != null)
			taken = m.number;
		return m;
	}

	String key() {
		return id + '#' + saves;
	}

	@Override
	public String toString() {
		return "durable thread " + id;
	}
}
