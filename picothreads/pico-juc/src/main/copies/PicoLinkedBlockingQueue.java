// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

// = PicoArrayBlockingQueue: imports
import java.util.concurrent.LinkedBlockingQueue;

/** LinkedBlockingQueue whose put and take park the pico thread: see QueueGate. */
public class PicoLinkedBlockingQueue<E> extends LinkedBlockingQueue<E> implements Room.Of {
	private static final long serialVersionUID = 1L;
	private transient QueueGate<E> gate = gate();

	public PicoLinkedBlockingQueue() {
		super();
	}

	public PicoLinkedBlockingQueue(int capacity) {
		super(capacity);
	}

	public PicoLinkedBlockingQueue(Collection<? extends E> c) {
		super(c);
	}

	/** The JDK's own: no rule applies inside this class. */
	LinkedBlockingQueue<E> jdks(int n) {
		return new LinkedBlockingQueue<>(n);
	}

	// = PicoArrayBlockingQueue: what the gate tries

	// = PicoArrayBlockingQueue: the gate

	// = PicoArrayBlockingQueue: on a stream

	// = PicoArrayBlockingQueue: in

	// = PicoArrayBlockingQueue: in, where there may be no room

	// = PicoArrayBlockingQueue: out

	// = PicoArrayBlockingQueue: what else adds or removes

	// = PicoArrayBlockingQueue: by a predicate

	// = PicoArrayBlockingQueue: iterator
}
