// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.NeverBlocks;

/**
 * Looks at a store, which may be in use, without taking part: what `pico durable` asks. The
 * store may be a FileStore.reader.
 */
@NeverBlocks
public final class Inspector {
	private static final int CHUNK = 100;
	private final Store store;
	private final Shelf shelf;
	/** Null: what is read is not checked. */
	private final Seal seal;

	/** @param seal null: signatures are not checked */
	public Inspector(Store store, Seal seal) {
		this.store = store;
		this.seal = seal;
		shelf = store instanceof JdbcStore ? ((JdbcStore) store).table : new Alone(store, true);
	}

	/** Lines about threads, in the order of their ids, after that one (or ""). */
	public List<Status> list(String after, int most) throws IOException {
		List<Status> l = new ArrayList<>();
		for (Shelf.Row r : shelf.rows(after, most))
			l.add(new Status(r, seal));
		return l;
	}

	/** Null: there is none of that id. */
	public Status status(String id) throws IOException {
		Shelf.Row r = shelf.row(id);
		return r == null ? null : new Status(r, seal);
	}

	/** Why messages to a thread cannot be opened, by their numbers: it would be refused for them. */
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

	/** A codec for which objects that are registered by external() need not be there. */
	public static Codec looking(Codec codec) {
		codec.absent();
		return codec;
	}

	/** A copy of a thread, by the program of that codec. */
	public Parked look(String id, Codec codec) throws IOException {
		byte[] record = store.get(Vault.THREAD + id);
		if (record == null)
			throw Alone.none(id);
		return Parked.of(id, open(id, record), codec);
	}

	private Bytes open(String id, byte[] record) {
		return seal == null ? Seal.unchecked(record) : seal.open(Vault.THREAD + id, record);
	}

	/** What a program would say to a thread of the store. */
	public static final class Verdict {
		public final String id;
		/** Why it would be refused; null: it goes on. */
		public final String refusal;

		Verdict(String id, String refusal) {
			this.id = id;
			this.refusal = refusal;
		}
	}

	/**
	 * What the program of that codec would say to each of the store's threads: those that it
	 * would refuse, and why. Nothing is run, nothing is changed. Objects that are registered
	 * by external() need not be there.
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
