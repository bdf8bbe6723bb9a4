// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.sql.Connection;
import java.util.function.LongFunction;
import java.util.function.UnaryOperator;
import org.ukthreads.pico.NeverBlocks;

/*
 * What a vault does to its shelf. All acts of a job are there, or none.
 *
 *   START    a thread's first record; refused if there is one of that id
 *   SAVE     its next one; refused (FencedException) if the thread is another worker's
 *   RELEASE  it leaves the memory: nobody's, until it is due. With a value: saved, too
 *   FAILED   nobody's, and due no more, until somebody asks for it by name
 *   END      the thread goes, and its messages
 *   REMOVE   the same, by hand; refused while a worker has it
 *   WAKE     by hand: due now, also when it has failed
 *   SEND     a message: numbered, sealed under its number, stored; the thread is due
 *   HEARD    the owner has all messages up to this one
 *   PUT      any other record; DROP removes one
 *   RESEAL   a record that nobody has is sealed again
 *   WORK     the program's own SQL, in the same transaction; before what depends on it
 */
@NeverBlocks
final class Act {
	enum Op {
		START, SAVE, RELEASE, FAILED, END, REMOVE, WAKE, SEND, HEARD, PUT, DROP, RESEAL,
		WORK
	}

	/** The program's part of a transaction. */
	interface Work {
		void run(Connection db) throws Exception;
	}

	static final long NEVER = Long.MAX_VALUE;

	final Op op;
	/** Of a thread, without its prefix; of PUT and DROP the whole key. */
	final String id;
	byte[] value;
	/** Instead of value: made when those before it are done. */
	java.util.function.Supplier<byte[]> later;
	/** Epoch milliseconds. */
	long due = NEVER;
	/** The last message that the owner knows. */
	long heard;
	/** Worker that has it; set by START. */
	long owner;
	/** SEND: the value under a number; then the number. */
	LongFunction<byte[]> sealer;
	long number;
	/** RESEAL: the new value; null: it needs none. It could be made: value is set. */
	UnaryOperator<byte[]> resealer;
	/** FAILED: why. */
	String why;
	Work work;
	/** Made, but perhaps not on the disk. The shelf's. */
	boolean committed;

	/** Is it a caller's, who is told when the store is away? The others wait for it. */
	boolean isAsked() {
		switch (op) {
		case START: case SEND: case REMOVE: case WAKE: case RESEAL:
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

	/** The record that it is about: acts on the same one keep their order. */
	String key() {
		return op == Op.PUT || op == Op.DROP || op == Op.RESEAL ? id : Vault.THREAD + id;
	}
}
