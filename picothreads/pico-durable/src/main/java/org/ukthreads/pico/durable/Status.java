// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.IOException;
import org.ukthreads.pico.NeverBlocks;

/**
 * What a list of threads says of one thread. It is read without the program and without the key.
 */
@NeverBlocks
public final class Status {
	public final String id;
	/** running (a worker owns it), parked, due, failed or ended. */
	public final String state;
	/** The worker's number; 0: none. */
	public final long worker;
	/** How it waits: new, commit, receive, sleep or wait; ended; ?: its record cannot be read. */
	public final String waits;
	/**
	 * Until when it waits, or when it ended, epoch milliseconds; Long.MAX_VALUE: without a time
	 * limit.
	 */
	public final long until;
	/** Commits and other steps so far: the number in Durable.key(). */
	public final long steps;
	public final long messages;
	public final int bytes;
	/** Why it failed last, where the store keeps that (a database does); else "". */
	public final String why;
	/**
	 * Why every program would refuse its record: it is cut short, of another version, or sealed by
	 * another key (if keys were given); else "".
	 */
	public final String refused;

	/** @param seal null: the signature is not checked */
	Status(Shelf.Row r, Seal seal) {
		id = r.id;
		worker = r.owner;
		state = r.ended ? "ended" : r.failed ? "failed" : r.owner > 0 ? "running"
			: r.due <= System.currentTimeMillis() ? "due" : "parked";
		why = r.why == null ? "" : r.why;
		bytes = r.record.length;
		Header h = null;
		String not = "";
		try {
			h = new Header(Seal.unchecked(r.record));
			if (seal != null)
				seal.open((r.ended ? Vault.ENDED : Vault.THREAD) + id, r.record);
		} catch (DurableException e) {
			not = e.getMessage();
		}
		refused = not;
		waits = h == null ? "?" : h.waits();
		until = h == null ? Long.MAX_VALUE : h.until;
		steps = h == null ? 0 : h.saves;
		messages = h == null ? 0 : Math.max(0, r.sent - h.taken);
	}

	/** Returns null if no thread of the shelf has this id, or had it when it ended. */
	static Status of(Shelf s, String id, Seal seal) throws IOException {
		Shelf.Row r = s.row(id);
		byte[] ended = r == null ? s.get(Vault.ENDED + id) : null;
		if (ended != null) {
			r = new Shelf.Row();
			r.id = id;
			r.ended = true;
			r.record = ended;
		}
		return r == null ? null : new Status(r, seal);
	}

	/** Returns a line for lists. */
	@Override
	public String toString() {
		return id + ": " + state + ", " + waits + ", " + steps + " steps"
			+ (why.isEmpty() ? "" : ", " + why) + (refused.isEmpty() ? "" : ", refused: " + refused);
	}
}
