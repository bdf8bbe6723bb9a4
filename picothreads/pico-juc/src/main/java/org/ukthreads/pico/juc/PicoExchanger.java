// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.util.concurrent.Exchanger;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Room;

/** Exchanger: who comes second finds the first one at the gate. */
public class PicoExchanger<V> extends Exchanger<V> implements Room.Of {
	private final Gate gate = new Gate(this);

	/** Waits for a partner, who gives and takes. */
	private static final class Meet extends Gate.Node {
		private static final long serialVersionUID = 1L;
		private Object item;

		Meet(Object item) {
			super(0);
			this.item = item;
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
		Meet m = new Meet(x);
		/* One that cannot wait must not stay: whom it met would give to nobody. */
		Fiber.room();
		synchronized (gate) {
			Meet p = (Meet) gate.first(0);
			if (p == null) {
				gate.add(m);
				return m;
			}
			gate.remove(p);
			m.item = p.item;
			p.item = x;
			m.done = true;
			Gate.finish(p);
			return m;
		}
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
}
