// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Room;

/*
 * The classes here wait at a Gate: a guarded state and a queue of attempts.
 *
 *   pass(node):  under the guard, node.attempt() -- true --> through
 *                                                -- false -> queued; park until done
 *   changed():   under the guard, attempts of the queued nodes in order; a node that gets true
 *                is done (it already has what it wanted) and is unparked
 *
 *   new --enter: attempt, none of its kind ahead----> done          (under the guard, all)
 *    |                                                 ^
 *    +--enter: no--> queued --serve: attempt-----------+   by the thread that changed the state
 *                    | | ^                             |
 *                    | | +-retry: no--+                |
 *                    | +-serve: wake--> woken --retry: attempt     (by the waiter itself)
 *                    |                    |
 *                    +--------------------+--leave: timeout, interrupt--> out
 *                                   (leave is false if it is done: the timeout is ignored, the
 *                                   interrupt is kept)
 *                       (or out by failed(), without memory or stack to wait;
 *                       if it is done, what it took goes back)
 *
 * The thread that changed the state makes the attempt for the waiter, so there is no race for
 * the state and nothing barges past the queue. Nodes of one kind are served in order; a node
 * that must wait does not hold up the other kind (puts and takes).
 *
 * A patient node, which wants a lock that is not fair, differs: it is woken when the lock is
 * free, and tries itself when it runs; the first comer gets the lock. After a hand-off, the
 * holder would not run yet, and all others would have to suspend, from the first queue on and
 * for ever (a convoy). A node woken PATIENCE times in vain is handed the lock all the same, so
 * that it does not wait for ever.
 *
 * Call ready() before changing the state. Waiters are woken after the change, and a stack
 * overflow there would leave a lock free with all asleep, or taken for a thread that does not
 * know. If no thread waits, nothing is called after the change.
 *
 * The guard is the JVM's lock: the translator leaves it alone because no method that
 * locks it may suspend, and no other class locks a Gate.
 */
class Gate implements Room, Serializable {
	private static final long serialVersionUID = 2L;

	/** A waiter and what it waits for. */
	abstract static class Node extends Awaited implements Room.Guest, Serializable {
		private static final long serialVersionUID = 1L;
		final Fiber fiber = Fiber.current();
		/** 0 or 1. */
		final int kind;
		/** Written under the guard, read without it. */
		volatile boolean done;
		/** It was woken to try itself; written under the guard, read without it. */
		volatile boolean woken;
		/** Wake-ups in vain; under the guard. */
		private int passed;
		Node next;
		/** The gate where it is queued; under the guard. */
		private Gate at;

		Node(int kind) {
			this.kind = kind;
		}

		/** Under the guard: takes what is wanted, or changes nothing. Never suspends. */
		abstract boolean attempt();

		/** Others may pass it: it is woken, and tries itself. */
		boolean patient() {
			return false;
		}

		/** Under the guard, for a patient node: could attempt() succeed now? */
		boolean open() {
			return true;
		}

		/** Under the guard: reverses the attempt of a done node whose thread got an error. */
		void undo() {}

		@Override
		public final boolean isReleasable() {
			return done || woken;
		}

		/** Its thread's wait at g has ended with an error. */
		void failed(Gate g) {
			g.forget(this);
		}

		@Override
		public Room room() {
			return at;
		}

		@Override
		public void back() {
			Gate g = at;
			if (g != null)
				g.again(this);
		}
	}

	/** After so many wake-ups in vain, a node is no longer patient. */
	static final int PATIENCE = 8;

	private final Object of;
	/** Null: no thread waits. */
	Node head;
	private Node tail;
	/** How many are queued, of kind 0 and of kind 1. */
	private int zeros;
	private int ones;

	/** of: the lock or queue that it belongs to, for dumps and names of external objects. */
	Gate(Object of) {
		this.of = of;
	}

	@Override
	public final Object of() {
		return of;
	}

	private synchronized void again(Node n) {
		/* It was woken where it was saved. */
		n.woken = false;
		Node x = head;
		while (x != null && x != n)
			x = x.next;
		if (x == null)
			add(n);
		serve();
	}

	/** True: through. Otherwise n is queued. */
	final synchronized boolean enter(Node n) {
		if (once(n, n.patient()))
			return true;
		/* An error between here and the park would leave n queued. */
		Fiber.room();
		add(n);
		return false;
	}

	/** One attempt, without waiting. barge: also past the queue. */
	final synchronized boolean once(Node n, boolean barge) {
		if (!barge && ahead(n.kind))
			return false;
		ready();
		if (!n.attempt())
			return false;
		n.done = true;
		if (head != null)
			serve();
		return true;
	}

	/** Under the guard: ensures stack for serve(), which needs none while no thread waits. */
	final void ready() {
		if (head != null)
			Fiber.room();
	}

	private boolean ahead(int kind) {
		return (kind == 0 ? zeros : ones) > 0;
	}

	private void count(Node n, int by) {
		if (n.kind == 0)
			zeros += by;
		else
			ones += by;
	}

	/** Under the guard. */
	final void add(Node n) {
		n.next = null;
		n.at = this;
		if (tail == null)
			head = n;
		else
			tail.next = n;
		tail = n;
		count(n, 1);
	}

	/** Under the guard: before all others. n carries an element; no thread waits for it. */
	final void addFirst(Node n) {
		n.next = head;
		n.at = this;
		head = n;
		if (tail == null)
			tail = n;
		count(n, 1);
	}

	/** Gives up waiting; false: n is already done. */
	final synchronized boolean leave(Node n) {
		if (n.done)
			return false;
		remove(n);
		serve();
		return true;
	}

	/** Removes n, or reverses its attempt. */
	private synchronized void forget(Node n) {
		if (n.done)
			n.undo();
		else
			remove(n);
		serve();
	}

	/** Under the guard. */
	final boolean remove(Node n) {
		Node p = null;
		for (Node x = head; x != null; p = x, x = x.next) {
			if (x != n)
				continue;
			if (p == null)
				head = n.next;
			else
				p.next = n.next;
			if (tail == n)
				tail = p;
			n.at = null;
			count(n, -1);
			return true;
		}
		return false;
	}

	/** Under the guard: serves the queue after a change of the state. */
	final void serve() {
		boolean again = true;
		while (again && head != null) {
			again = false;
			/* The first of this kind must wait, so those behind it are not asked. */
			boolean zero = false;
			boolean one = false;
			Node p = null;
			for (Node n = head; n != null && (zeros > 0 && !zero || ones > 0 && !one);) {
				Node next = n.next;
				if (!(n.kind == 0 ? zero : one) && served(n)) {
					if (p == null)
						head = next;
					else
						p.next = next;
					if (tail == n)
						tail = p;
					n.at = null;
					count(n, -1);
					finish(n);
					again = true;
				} else {
					zero |= n.kind == 0;
					one |= n.kind != 0;
					p = n;
				}
				n = next;
			}
		}
	}

	/** Under the guard, for a queued node. True: it has what it wanted. */
	private static boolean served(Node n) {
		if (!n.patient() || n.passed >= PATIENCE)
			return n.attempt();
		if (!n.woken && n.open()) {
			n.woken = true;
			n.fiber.unpark();
		}
		return false;
	}

	/** By the waiter, when it runs. True: it has what it wanted. */
	private synchronized boolean retry(Node n) {
		if (n.done || !n.woken)
			return n.done;
		n.woken = false;
		if (!n.attempt()) {
			n.passed++;
			return false;
		}
		remove(n);
		n.done = true;
		serve();
		return true;
	}

	/** By the waiter: is n through? */
	final boolean through(Node n) {
		return n.done || n.woken && retry(n);
	}

	static void finish(Node n) {
		n.done = true;
		n.fiber.unpark();
	}

	final synchronized void changed() {
		serve();
	}

	final synchronized int waiting(int kind) {
		return kind == 0 ? zeros : ones;
	}

	/** The first waiting node of a kind; under the guard. */
	final Node first(int kind) {
		for (Node n = head; n != null; n = n.next)
			if (n.kind == kind)
				return n;
		return null;
	}

	/** The waiting threads of a kind, in order. */
	final synchronized List<Thread> threads(int kind) {
		List<Thread> l = new ArrayList<>();
		for (Node n = head; n != null; n = n.next)
			if (n.kind == kind)
				l.add(n.fiber.asThread());
		return l;
	}

	/* --- waiting: these suspend, or throw if there is no memory for that --- */

	/** Waits until n is done; an interrupt is kept. */
	final void await(Node n) {
		boolean interrupted = false;
		try {
			while (!through(n)) {
				if (!n.inPool())
					LockSupport.park(this);
				if (Thread.interrupted())
					interrupted = true;
			}
		} catch (RuntimeException | Error e) {
			n.failed(this);
			throw e;
		} finally {
			if (interrupted)
				Thread.currentThread().interrupt();
		}
	}

	final void pass(Node n) {
		if (!enter(n))
			await(n);
	}

	final void passInterruptibly(Node n) throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		if (!enter(n))
			awaitInterruptibly(n);
	}

	/** Waits until n, which is queued, is done. */
	final void awaitInterruptibly(Node n) throws InterruptedException {
		try {
			while (!through(n)) {
				if (!n.inPool())
					LockSupport.park(this);
				giveWay(n);
			}
		} catch (RuntimeException | Error e) {
			n.failed(this);
			throw e;
		}
	}

	/** Throws if interrupted; if n was done first, the interrupt is kept. */
	private void giveWay(Node n) throws InterruptedException {
		if (n.done || !Thread.interrupted())
			return;
		if (leave(n))
			throw new InterruptedException();
		Thread.currentThread().interrupt();
	}

	/** False: timed out. */
	final boolean passIn(Node n, long nanos) throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		if (nanos <= 0)
			return once(n, n.patient());
		return enter(n) || awaitIn(n, nanos);
	}

	/** False: timed out, and n is no longer queued. */
	final boolean awaitIn(Node n, long nanos) throws InterruptedException {
		long end = System.nanoTime() + Math.max(0, nanos);
		try {
			while (!through(n)) {
				long left = end - System.nanoTime();
				if (left <= 0)
					return !leave(n);
				LockSupport.parkNanos(this, left);
				giveWay(n);
			}
			return true;
		} catch (RuntimeException | Error e) {
			n.failed(this);
			throw e;
		}
	}
}
