// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import org.ukthreads.pico.KeptFiber;
import org.ukthreads.pico.NeverBlocks;

/*
 * The beginning of a thread's record. It can be read without the program, and also without the key
 * if the signature need not be checked:
 *
 *   version
 *   saves      the first record, commits, stored sleeps and receives so far. Other waits do not
 *              count: whether they last long enough to be stored is chance, and would change
 *              the key
 *   taken      the messages that the code has received
 *   kind       how it waits; ENDED: it does not, this is the record that stays
 *   until      when the wait ends, or the thread ended, epoch milliseconds
 *   nanoTime, millis   System.nanoTime and the time of day when it was saved
 *   seq        writes so far, of any kind
 *   onces      calls of Durable.once since the last save
 *   flags      1: it knows that it was cancelled
 *   release    the program's release that started the thread
 *   task       the hash of the task's run(), only of a thread that has not begun
 *   result     of the transaction that it waits for, after its length; 0: none
 */
@NeverBlocks
final class Header {
	static final int VERSION = 3;
	/** The first byte of a message's record. */
	static final int MESSAGE = 3, CANCEL = 4;

	long saves;
	long taken;
	int kind;
	long until;
	long nanoTime;
	long millis;
	long seq;
	long onces;
	boolean cancelled;
	String release = "";
	long task;
	byte[] result;

	Header() {}

	Header(Bytes b) {
		int version = b.get();
		if (version != VERSION)
			throw new DurableException("a record of version " + version + "; this program reads"
				+ " version " + VERSION);
		saves = b.unsigned();
		taken = b.unsigned();
		kind = b.get();
		until = b.number();
		nanoTime = b.number();
		millis = b.number();
		seq = b.unsigned();
		onces = b.unsigned();
		cancelled = b.get() != 0;
		release = b.text();
		task = kind == DurableThread.NEW ? b.bits() : 0;
		byte[] r = b.raw();
		result = r.length == 0 ? null : r;
	}

	Bytes bytes(byte[] result) {
		Bytes b = new Bytes(1024);
		b.put(VERSION);
		b.unsigned(saves);
		b.unsigned(taken);
		b.put(kind);
		b.number(until);
		b.number(nanoTime);
		b.number(millis);
		b.unsigned(seq);
		b.unsigned(onces);
		b.put(cancelled ? 1 : 0);
		b.text(release);
		if (kind == DurableThread.NEW)
			b.bits(task);
		b.unsigned(result == null ? 0 : result.length);
		if (result != null)
			b.raw(result, result.length);
		return b;
	}

	Header copy() {
		Bytes b = bytes(null);
		return new Header(new Bytes(b.done(), 0));
	}

	/** Returns how the thread waits, for lists. */
	String waits() {
		switch (kind) {
		case DurableThread.NEW: return "new";
		case KeptFiber.COMMIT: return "commit";
		case KeptFiber.AWAIT: return "receive";
		case KeptFiber.SLEEP: return "sleep";
		case DurableThread.ENDED: return "ended";
		default: return "wait";
		}
	}
}
