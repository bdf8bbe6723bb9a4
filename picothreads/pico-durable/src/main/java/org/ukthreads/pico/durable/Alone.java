// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;
import org.ukthreads.pico.NeverBlocks;

/*
 * The shelf over a store that only one process uses. It keeps the owner, the due time and the
 * number of messages of each thread in memory, and rebuilds them from the store's keys. That takes
 * about 200 bytes for each parked thread; with a database it takes none.
 */
@NeverBlocks
final class Alone implements Shelf {
	private final Store store;
	private final boolean looks;
	private Map<String, Entry> threads;
	/** Threads that no worker owns, by due time. Entries that are out of date are skipped. */
	private final PriorityQueue<Due> queue = new PriorityQueue<>();

	/** In place of a message's number: the thread ends in this batch. */
	private static final Long GONE = -1L;

	private static final class Entry {
		boolean mine;
		boolean failed;
		long due;
		long sent;
		/**
		 * The thread's record was read, so that sent includes the messages that are consumed and
		 * removed.
		 */
		boolean counted;
		/**
		 * The first message that a crash may have left behind although it was consumed; 0: none.
		 */
		long left;
	}

	private static final class Due implements Comparable<Due> {
		final long at;
		final String id;

		Due(long at, String id) {
			this.at = at;
			this.id = id;
		}

		@Override
		public int compareTo(Due o) {
			return Long.compare(at, o.at);
		}
	}

	/** @param looks true: the store must not be changed */
	Alone(Store store, boolean looks) {
		this.store = store;
		this.looks = looks;
	}

	private Map<String, Entry> threads() throws IOException {
		if (threads != null)
			return threads;
		Map<String, Entry> m = new TreeMap<>();
		List<String> keys = store.keys();
		for (String k : keys)
			if (k.startsWith(Vault.THREAD)) {
				Entry e = new Entry();
				e.due = store.due(k);
				m.put(k.substring(Vault.THREAD.length()), e);
			}
		List<Act> orphans = new ArrayList<>();
		for (String k : keys) {
			long n = k.startsWith(Vault.MESSAGE) ? Vault.number(k) : 0;
			if (n == 0)
				continue;
			Entry e = m.get(k.substring(Vault.MESSAGE.length(), k.lastIndexOf('/')));
			if (e == null) {
				orphans.add(Act.put(k, null));
				continue;
			}
			e.sent = Math.max(e.sent, n);
			e.left = e.left == 0 ? n : Math.min(e.left, n);
			e.due = 0;
		}
		for (Map.Entry<String, Entry> e : m.entrySet())
			queue.add(new Due(e.getValue().due, e.getKey()));
		threads = m;
		if (!orphans.isEmpty() && !looks)
			make(orphans);
		return threads;
	}

	@Override
	public void make(List<Act> acts) throws IOException {
		threads();
		List<Store.Change> cs = new ArrayList<>();
		Map<String, Long> numbers = new TreeMap<>();
		for (Act a : acts) {
			change(a, cs, numbers);
			if (a.op == Act.Op.END || a.op == Act.Op.REMOVE)
				numbers.put(a.id, GONE);
		}
		if (!cs.isEmpty())
			store.apply(cs);
		for (Act a : acts)
			note(a);
	}

	private void change(Act a, List<Store.Change> cs, Map<String, Long> numbers)
			throws IOException {
		Entry e = threads.get(a.id);
		switch (a.op) {
		case START:
			if (e != null)
				throw there(a.id);
			if (store.get(Vault.ENDED + a.id) != null)
				throw ended(a.id);
			cs.add(new Store.Change(a.key(), a.value(), Act.NEVER));
			break;
		case SAVE: case RELEASE:
			byte[] v = a.value();
			if (v != null)
				cs.add(new Store.Change(a.key(), v, a.due));
			break;
		case REMOVE: case END:
			if (a.op == Act.Op.REMOVE && e != null && e.mine)
				throw running(a.id);
			/* First, because a crash between the two only makes the thread end again. */
			if (a.op == Act.Op.END)
				cs.add(new Store.Change(Vault.ENDED + a.id, a.value(), a.due));
			cs.add(new Store.Change(a.key(), null));
			/* REMOVE does not know which of the messages are still there. */
			if (e != null && a.op == Act.Op.REMOVE) {
				for (String k : store.keys())
					if (k.startsWith(Vault.message(a.id, "")) && Vault.number(k) > 0)
						cs.add(new Store.Change(k, null));
			} else if (e != null) {
				long n = e.left == 0 ? a.heard : Math.min(a.heard, e.left - 1);
				while (n < numbers.getOrDefault(a.id, e.sent))
					cs.add(new Store.Change(Vault.message(a.id, ++n), null));
			}
			break;
		case SEND:
			if (e == null || numbers.get(a.id) == GONE)
				throw none(a.id);
			count(a.id, e);
			a.number = numbers.getOrDefault(a.id, e.sent) + 1;
			numbers.put(a.id, a.number);
			cs.add(new Store.Change(Vault.message(a.id, a.number),
				a.sealer.apply(a.number)));
			break;
		case FORGET:
			forget(a, cs);
			break;
		case RESEAL:
			/* A record that this batch has changed is left as it is; the caller may ask again. */
			byte[] old = cs.stream().anyMatch(c -> c.key.equals(a.id)) ? null : store.get(a.id);
			if (old != null) {
				a.value = a.resealer.apply(old);
				if (a.value == null)
					a.value = old;
				cs.add(new Store.Change(a.id, a.value, store.due(a.id)));
			}
			break;
		case PUT: case DROP:
			cs.add(new Store.Change(a.id, a.value()));
			break;
		case WORK:
			throw new DurableException("the store is not a database: there is no transaction"
				+ " to take part in");
		default:
			if (e == null && a.op == Act.Op.WAKE)
				throw none(a.id);
			break;
		}
	}

	private void forget(Act a, List<Store.Change> cs) throws IOException {
		a.number = 0;
		List<String> keys = a.due == Act.NEVER ? Collections.singletonList(Vault.ENDED + a.id)
			: store.keys();
		for (String k : keys)
			if (k.startsWith(Vault.ENDED) && endedBefore(a.due, store.get(k))) {
				cs.add(new Store.Change(k, null));
				a.number++;
			}
	}

	private static boolean endedBefore(long time, byte[] record) {
		try {
			return record != null && (time == Act.NEVER
				|| new Header(Seal.unchecked(record)).until < time);
		} catch (DurableException e) {
			return false;
		}
	}

	/**
	 * Makes sent include the messages that are consumed and removed: no number may be used twice.
	 */
	private void count(String id, Entry e) throws IOException {
		if (e.counted)
			return;
		try {
			e.sent = Math.max(e.sent,
				new Header(Seal.unchecked(store.get(Vault.THREAD + id))).taken);
		} catch (DurableException x) {
			/* The thread will be refused, so a message to it does not matter. */
		}
		e.counted = true;
	}

	/** Brings the memory up to date after the act is stored. */
	private void note(Act a) {
		Entry e = threads.get(a.id);
		switch (a.op) {
		case START:
			e = new Entry();
			e.mine = true;
			e.counted = true;
			e.due = Act.NEVER;
			threads.put(a.id, e);
			break;
		case END: case REMOVE:
			threads.remove(a.id);
			break;
		case SEND:
			if (e == null)
				break;
			e.sent = a.number;
			if (!e.mine && !e.failed)
				free(a.id, e, 0);
			break;
		case RELEASE:
			if (e != null)
				free(a.id, e, e.sent > a.heard ? 0 : a.due);
			break;
		case FAILED:
			if (e != null) {
				e.failed = true;
				free(a.id, e, Act.NEVER);
			}
			break;
		case WAKE:
			e.failed = false;
			if (!e.mine)
				free(a.id, e, 0);
			break;
		default:
			break;
		}
	}

	private void free(String id, Entry e, long due) {
		e.mine = false;
		e.due = due;
		queue.add(new Due(due, id));
	}

	static DurableException there(String id) {
		return new StartedException("the store holds a thread " + id
			+ ": resume() it, or remove() it");
	}

	static DurableException ended(String id) {
		return new StartedException("the thread " + id
			+ " has ended: use another id, or forget() it");
	}

	static DurableException none(String id) {
		return new DurableException("there is no thread " + id);
	}

	static DurableException running(String id) {
		return new DurableException("the thread " + id + " is running");
	}

	@Override
	public byte[] get(String key) throws IOException {
		return store.get(key);
	}

	@Override
	public List<String> keys() throws IOException {
		return store.keys();
	}

	@Override
	public List<Claim> claim(long until, int most, boolean failed) throws IOException {
		threads();
		List<Claim> l = new ArrayList<>();
		List<Due> left = new ArrayList<>();
		if (failed)
			for (Map.Entry<String, Entry> t : threads.entrySet())
				if (t.getValue().failed && !t.getValue().mine) {
					t.getValue().failed = false;
					free(t.getKey(), t.getValue(), 0);
				}
		while (l.size() < most && !queue.isEmpty() && queue.peek().at <= until) {
			Due d = queue.poll();
			Entry e = threads.get(d.id);
			if (e == null || e.mine || e.due != d.at)
				continue;
			if (e.failed) {
				left.add(d);
				continue;
			}
			e.mine = true;
			e.due = Act.NEVER;
			l.add(new Claim(d.id, e.sent));
		}
		queue.addAll(left);
		return l;
	}

	@Override
	public List<Claim> told() {
		return new ArrayList<>();
	}

	@Override
	public long worker() {
		return 1;
	}

	@Override
	public boolean shared() {
		return false;
	}

	@Override
	public Workers beat(int running) {
		Workers w = new Workers();
		w.running = running;
		return w;
	}

	@Override
	public List<Row> rows(String after, int most) throws IOException {
		List<Row> l = new ArrayList<>();
		for (Map.Entry<String, Entry> t : new TreeMap<>(threads()).tailMap(after, false)
				.entrySet()) {
			Row r = row(t.getKey());
			l.add(r);
			if (l.size() == most)
				break;
		}
		return l;
	}

	@Override
	public Row row(String id) throws IOException {
		Entry e = threads().get(id);
		if (e == null)
			return null;
		Row r = new Row();
		r.id = id;
		r.owner = e.mine ? 1 : 0;
		r.due = e.due;
		r.sent = e.sent;
		r.failed = e.failed;
		r.record = store.get(Vault.THREAD + id);
		return r;
	}

	@Override
	public boolean alive() throws IOException {
		return threads().values().stream().anyMatch(e -> !e.failed);
	}

	@Override
	public void close() throws IOException {
		store.close();
	}
}
