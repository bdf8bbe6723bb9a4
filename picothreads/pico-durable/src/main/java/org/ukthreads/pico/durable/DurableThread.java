package org.ukthreads.pico.durable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.NeverBlocks;

/*
 * A thread of a vault. Its record:
 *
 *   version, saves so far, messages taken, how it waits, until when (epoch millis),
 *   then a snapshot whose roots are the task (not begun) or the frames
 *
 * `taken` counts the messages that the code has received. It is in the record, so that a
 * message is consumed by the same write that stores what the code did with it; the
 * message's own record is removed after that, and ignored if it is still there.
 */
@NeverBlocks
final class DurableThread extends KeptFiber {
	static final int VERSION = 1;
	static final int NEW = 0;

	final Vault vault;
	final String id;
	/** The carrier's, or whoever starts it. */
	private long saves;
	private long taken;
	private long removed;
	private final ConcurrentLinkedQueue<Message> mailbox = new ConcurrentLinkedQueue<>();
	/** Messages numbered so far. */
	private final AtomicLong sent = new AtomicLong();

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
		b.unsigned(++saves);
		b.unsigned(taken);
		b.put(kind);
		b.number(nanos == Long.MAX_VALUE ? Long.MAX_VALUE
			: vault.runtime.clock().millis() + nanos / 1_000_000);
		return b;
	}

	/** Of a thread that has not begun. */
	byte[] record(Runnable task) {
		Bytes b = header(NEW, Long.MAX_VALUE);
		Encoder e = new Encoder(vault.codec, this);
		e.ref(task);
		return seal(b, e);
	}

	private byte[] seal(Bytes b, Encoder e) {
		byte[] s = e.finish();
		b.raw(s, s.length);
		return vault.seal.close(Vault.THREAD + id, b);
	}

	@Override
	protected void stopped(int kind, long nanos) {
		if (vault.writer.closed() || (kind == SLEEP && nanos < vault.sleepNanos))
			return;
		Bytes b = header(kind, nanos);
		Encoder e = new Encoder(vault.codec, this);
		Freezer.write(this, e);
		List<Store.Change> cs = new ArrayList<>(1);
		cs.add(new Store.Change(Vault.THREAD + id, seal(b, e)));
		while (removed < taken)
			cs.add(new Store.Change(Vault.message(id, ++removed), null));
		vault.writer.add(cs, kind == COMMIT ? this::committed : x -> {
			if (x != null)
				vault.report(id, x);
		});
	}

	@Override
	protected void ended(Throwable e) {
		vault.ended(this, e);
	}

	/** The records that go when it has ended well. */
	List<Store.Change> last() {
		List<Store.Change> cs = new ArrayList<>(1);
		cs.add(new Store.Change(Vault.THREAD + id, null));
		while (removed < sent.get())
			cs.add(new Store.Change(Vault.message(id, ++removed), null));
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
		DurableThread t;
		try {
			if (kind == NEW) {
				Runnable task = (Runnable) new Decoder(v.codec, b, null).ref();
				t = new DurableThread(v, id, task);
			} else {
				t = new DurableThread(v, id, null);
				Freezer.read(t, new Decoder(v.codec, b, t));
			}
		} catch (ClassNotFoundException e) {
			throw new DurableException("a class is missing: " + e.getMessage(), e);
		}
		t.saves = saves;
		t.taken = taken;
		t.removed = taken;
		t.sent.set(taken);
		t.kind = kind;
		t.until = until;
		return t;
	}

	private int kind;
	private long until;

	void go() {
		if (kind == NEW) {
			start();
			return;
		}
		long ms = until == Long.MAX_VALUE ? Long.MAX_VALUE
			: Math.max(0, until - vault.runtime.clock().millis());
		arm(kind, ms > Long.MAX_VALUE / 2_000_000 ? Long.MAX_VALUE
			: Math.max(1, ms * 1_000_000));
	}

	/** One that was stored earlier; in order of their numbers. */
	void stored(long number, Object value) {
		sent.set(Math.max(sent.get(), number));
		if (number > taken)
			mailbox.add(new Message(number, value));
	}

	long nextMessage() {
		return sent.incrementAndGet();
	}

	void deliver(long number, Object value) {
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
