// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

// = PicoVector: imports
import java.util.Stack;

/** java.util.Stack, as PicoVector; it extends the JDK's Stack, so it copies PicoVector. */
@Pico
public class PicoStack<E> extends Stack<E> implements Mutex {
	private static final long serialVersionUID = 1L;

	public PicoStack() {}

	@Override
	public E push(E e) {
		addElement(e);
		return e;
	}

	@Override
	public boolean empty() {
		return size() == 0;
	}

	// each: @Override public synchronized T m(..) { return super.m(..); }
	E pop(); E peek(); int search(Object x);

	// = PicoVector: each under the monitor

	/** Serialised as the JDK's. Private, so it does not apply to subclasses. */
	private synchronized Object writeReplace() {
		Stack<E> s = new Stack<>();
		s.trimToSize();
		s.ensureCapacity(elementData.length);
		s.addAll(this);
		return s;
	}
}
