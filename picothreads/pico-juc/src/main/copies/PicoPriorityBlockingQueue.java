// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

// = PicoArrayBlockingQueue: imports
import java.util.Comparator;
import java.util.concurrent.PriorityBlockingQueue;

/** PriorityBlockingQueue whose take parks the pico thread: see QueueGate. */
public class PicoPriorityBlockingQueue<E> extends PriorityBlockingQueue<E> implements Room.Of {
	private static final long serialVersionUID = 1L;
	private transient QueueGate<E> gate = gate();

	public PicoPriorityBlockingQueue() {
		super();
	}

	public PicoPriorityBlockingQueue(int capacity) {
		super(capacity);
	}

	public PicoPriorityBlockingQueue(int capacity, Comparator<? super E> order) {
		super(capacity, order);
	}

	public PicoPriorityBlockingQueue(Collection<? extends E> c) {
		super(c);
	}

	/** The JDK's own: no rule applies inside this class. */
	PriorityBlockingQueue<E> jdks(int n) {
		return new PriorityBlockingQueue<>(11, comparator());
	}

	// = PicoArrayBlockingQueue: what the gate tries

	// = PicoArrayBlockingQueue: the gate

	// = PicoArrayBlockingQueue: on a stream

	// = PicoArrayBlockingQueue: in

	// = PicoArrayBlockingQueue: out

	// = PicoArrayBlockingQueue: what else adds or removes

	// = PicoArrayBlockingQueue: by a predicate

	/* --- in at once --- */

	@Override
	public void put(E e) {
		offer(e);
	}

	@Override
	public boolean offer(E e, long time, TimeUnit unit) {
		return offer(e);
	}
}
