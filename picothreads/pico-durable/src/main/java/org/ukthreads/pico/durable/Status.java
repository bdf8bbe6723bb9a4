// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import org.ukthreads.pico.NeverBlocks;

/** What a list of threads says of one; read without the program and without the key. */
@NeverBlocks
public final class Status {
	public final String id;
	/** running (a worker has it), parked, due, failed. */
	public final String state;
	/** The worker's number, 0: none. */
	public final long worker;
	/** How it waits: new, commit, receive, sleep, wait; ?: its record cannot be read. */
	public final String waits;
	/** Epoch milliseconds; Long.MAX_VALUE: for something else. */
	public final long until;
	/** Commits and other steps so far: what Durable.key() ends in. */
	public final long steps;
	public final long messages;
	public final int bytes;
	/** Of one that has failed: why; else "". */
	public final String why;
	/**
	 * Why its record is refused, whatever the program: cut short, of another version, of another
	 * key (where whoever looks has keys); else "".
	 */
	public final String refused;

	/** @param seal null: nobody vouches for it */
	Status(Shelf.Row r, Seal seal) {
		id = r.id;
		worker = r.owner;
		state = r.failed ? "failed" : r.owner > 0 ? "running"
			: r.due <= System.currentTimeMillis() ? "due" : "parked";
		why = r.why == null ? "" : r.why;
		bytes = r.record.length;
		Header h = null;
		String not = "";
		try {
			h = new Header(Seal.unchecked(r.record));
			if (seal != null)
				seal.open(Vault.THREAD + id, r.record);
		} catch (DurableException e) {
			not = e.getMessage();
		}
		refused = not;
		waits = h == null ? "?" : h.waits();
		until = h == null ? Long.MAX_VALUE : h.until;
		steps = h == null ? 0 : h.saves;
		messages = h == null ? 0 : Math.max(0, r.sent - h.taken);
	}

	/** For people. */
	@Override
	public String toString() {
		return id + ": " + state + ", " + waits + ", " + steps + " steps"
			+ (why.isEmpty() ? "" : ", " + why) + (refused.isEmpty() ? "" : ", refused: " + refused);
	}
}
