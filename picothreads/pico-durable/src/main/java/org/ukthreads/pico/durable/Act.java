// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.sql.Connection;
import java.util.function.LongFunction;
import java.util.function.UnaryOperator;
import org.ukthreads.pico.NeverBlocks;

/*
 * One change that a vault asks of its shelf. The shelf makes all acts of a job, or none.
 *
 *   START    stores the first record of a thread; refused if a thread has that id or has ended
 *   SAVE     stores its next record; refused (FencedException) if another worker owns it
 *   RELEASE  the thread leaves the memory: no worker owns it until it is due. A value, if there
 *            is one, is stored as its record
 *   FAILED   no worker owns the thread, and it is not due before a resume() or a WAKE
 *   END      removes the thread and its messages, and stores that it has ended: the value is that
 *            record, due is the time
 *   FORGET   removes the record that a thread has ended or, with a due time, some of those of
 *            threads that ended before it. Its number tells how many
 *   REMOVE   removes a thread and its messages by hand; refused while a worker owns the thread
 *   WAKE     by hand: the thread is due now, also if it has failed
 *   SEND     numbers a message, seals it under its number and stores it; the thread is due
 *   HEARD    the owner has all messages up to this one
 *   PUT      stores any other record; DROP removes one
 *   RESEAL   seals a record again, unless another worker owns it
 *   WORK     runs the program's own SQL in the same transaction, before the acts that depend on it
 */
@NeverBlocks
final class Act {
	enum Op {
		START, SAVE, RELEASE, FAILED, END, FORGET, REMOVE, WAKE, SEND, HEARD, PUT, DROP, RESEAL,
		WORK
	}

	/** The program's part of a transaction. */
	interface Work {
		void run(Connection db) throws Exception;
	}

	static final long NEVER = Long.MAX_VALUE;

	final Op op;
	/** A thread's id without the prefix; for PUT, DROP and RESEAL the whole key. */
	final String id;
	byte[] value;
	/** If not null, makes the value after the acts before this one are done. */
	java.util.function.Supplier<byte[]> later;
	/** Epoch milliseconds. */
	long due = NEVER;
	/**
	 * The number of the last message that the owner has; for END, of the last one that is removed.
	 */
	long heard;
	/** The worker that owns the thread; START sets it. */
	long owner;
	/** For SEND: makes the record for a number. The shelf then sets the number. */
	LongFunction<byte[]> sealer;
	long number;
	/**
	 * For RESEAL: makes the new value, or returns null if the record needs none. Afterwards value
	 * is null if this could not be done.
	 */
	UnaryOperator<byte[]> resealer;
	/** For FAILED: the reason. */
	String why;
	Work work;
	/** Set by the shelf: the act is committed, but perhaps not on disk. */
	boolean committed;

	/**
	 * Returns true if a caller waits for the outcome and gets an error while the store is away. The
	 * other acts wait until the store is back.
	 */
	boolean isAsked() {
		switch (op) {
		case START: case SEND: case FORGET: case REMOVE: case WAKE: case RESEAL:
			return true;
		default:
			return false;
		}
	}

	Act(Op op, String id) {
		this.op = op;
		this.id = id;
	}

	static Act put(String key, byte[] value) {
		Act a = new Act(value == null ? Op.DROP : Op.PUT, key);
		a.value = value;
		return a;
	}

	static Act of(Op op, String id, byte[] value, long owner) {
		Act a = new Act(op, id);
		a.value = value;
		a.owner = owner;
		return a;
	}

	byte[] value() {
		if (later != null)
			value = later.get();
		return value;
	}

	/**
	 * Returns the key of the record that the act changes. Acts on the same record keep their order.
	 */
	String key() {
		return op == Op.PUT || op == Op.DROP || op == Op.RESEAL ? id : Vault.THREAD + id;
	}
}
