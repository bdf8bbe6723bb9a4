// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.NeverBlocks;

/**
 * Looks at a store, which may be in use, without running its threads. {@code pico durable} uses it.
 * The store may be a FileStore.reader.
 */
@NeverBlocks
public final class Inspector {
	private static final int CHUNK = 100;
	private final Store store;
	private final Shelf shelf;
	/** Null: signatures are not checked. */
	private final Seal seal;

	/** @param seal null: signatures are not checked */
	public Inspector(Store store, Seal seal) {
		this.store = store;
		this.seal = seal;
		shelf = store instanceof JdbcStore ? ((JdbcStore) store).table : new Alone(store, true);
	}

	/**
	 * Returns at most {@code most} threads in the order of their ids, beginning after that id; ""
	 * is before all.
	 */
	public List<Status> list(String after, int most) throws IOException {
		List<Status> l = new ArrayList<>();
		for (Shelf.Row r : shelf.rows(after, most))
			l.add(new Status(r, seal));
		return l;
	}

	/** Returns null if no thread has this id, or had it when it ended. */
	public Status status(String id) throws IOException {
		return Status.of(shelf, id, seal);
	}

	/**
	 * Returns why messages to a thread cannot be opened, by their numbers. The thread would be
	 * refused because of them.
	 */
	public Map<Long, String> unreadable(String id) throws IOException {
		return unreadable(shelf, seal, id);
	}

	static Map<Long, String> unreadable(Shelf shelf, Seal seal, String id) throws IOException {
		Map<Long, String> m = new TreeMap<>();
		Shelf.Row r = shelf.row(id);
		if (r == null || seal == null)
			return m;
		for (long n = new Header(Seal.unchecked(r.record)).taken; ++n <= r.sent;) {
			String key = Vault.message(id, n);
			byte[] b = shelf.get(key);
			try {
				if (b != null)
					seal.open(key, b);
			} catch (DurableException e) {
				m.put(n, e.getMessage());
			}
		}
		return m;
	}

	/**
	 * Lets the codec load threads whose objects registered by external() are absent. Returns it.
	 */
	public static Codec looking(Codec codec) {
		codec.absent();
		return codec;
	}

	/** Returns a copy of a thread, which the program of that codec reads. */
	public Parked look(String id, Codec codec) throws IOException {
		byte[] record = store.get(Vault.THREAD + id);
		if (record == null)
			throw Alone.none(id);
		return Parked.of(id, open(id, record), codec);
	}

	private Bytes open(String id, byte[] record) {
		return seal == null ? Seal.unchecked(record) : seal.open(Vault.THREAD + id, record);
	}

	/** Whether a program would refuse a thread of the store. */
	public static final class Verdict {
		public final String id;
		/** Why the program would refuse it; null: it would go on. */
		public final String refusal;

		Verdict(String id, String refusal) {
			this.id = id;
			this.refusal = refusal;
		}
	}

	/**
	 * Returns for each thread of the store whether the program of that codec would refuse it, and
	 * why. It runs and changes nothing. Objects that are registered by external() may be absent.
	 */
	public List<Verdict> check(Codec codec) throws IOException {
		looking(codec);
		List<Verdict> l = new ArrayList<>();
		String after = "";
		for (;;) {
			List<Shelf.Row> rows = shelf.rows(after, CHUNK);
			if (rows.isEmpty())
				return l;
			for (Shelf.Row r : rows) {
				after = r.id;
				l.add(new Verdict(r.id, refusal(r, codec)));
			}
		}
	}

	private String refusal(Shelf.Row r, Codec codec) {
		try {
			Freezer.ChangedException e = Parked.of(r.id, open(r.id, r.record), codec).refused();
			return e == null ? null : e.getMessage();
		} catch (Exception | LinkageError e) {
			return e instanceof DurableException ? e.getMessage() : e.toString();
		}
	}
}
