// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.Exchanger;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Members;
import org.ukthreads.pico.Room;

/**
 * Exchanger: the second thread finds the first at the gate. If the first then gets an error
 * (no memory for its frames), its partner has already gone. So its node stays with the item
 * that it was given; the next thread takes that item and leaves its own in its place.
 */
public class PicoExchanger<V> extends Exchanger<V> implements Room.Of {
	private final Gate gate = new Gate(this);

	/** Waits for a partner, which swaps the items. */
	private static final class Meet extends Gate.Node {
		private static final long serialVersionUID = 2L;
		private final Gate gate;
		private Object item;
		/** Its thread got an error and no longer waits; under the guard. */
		private boolean left;

		Meet(Gate gate, Object item) {
			super(0);
			this.gate = gate;
			this.item = item;
		}

		/** Under the guard: swaps with the first in the queue; false: there is none. */
		boolean met() {
			Meet p = (Meet) gate.head;
			if (p == null)
				return false;
			gate.remove(p);
			Object x = p.item;
			p.item = item;
			item = x;
			if (p.left)
				gate.add(p);
			else
				Gate.finish(p);
			return true;
		}

		@Override
		void undo() {
			met();
			left = true;
			gate.add(this);
		}

		@Override
		boolean attempt() {
			return false;
		}
	}

	@Override
	public Room room() {
		return gate;
	}

	/** Done, with the partner's item, or queued. */
	private Meet meet(Object x) throws InterruptedException {
		if (Thread.interrupted())
			throw new InterruptedException();
		Meet m = new Meet(gate, x);
		/* If m were queued and could not wait, a partner's item would be lost. */
		Fiber.room();
		synchronized (gate) {
			m.done = m.met();
			if (!m.done)
				gate.add(m);
		}
		return m;
	}

	@Override
	@SuppressWarnings("unchecked")
	public V exchange(V x) throws InterruptedException {
		Meet m = meet(x);
		gate.awaitInterruptibly(m);
		return (V) m.item;
	}

	@Override
	@SuppressWarnings("unchecked")
	public V exchange(V x, long time, TimeUnit unit)
			throws InterruptedException, TimeoutException {
		Meet m = meet(x);
		if (!gate.awaitIn(m, unit.toNanos(time)))
			throw new TimeoutException();
		return (V) m.item;
	}

	@Override
	public String toString() {
		return Members.named(this, super.toString());
	}
}
