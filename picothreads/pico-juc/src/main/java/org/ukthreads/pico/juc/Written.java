// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.IOException;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.ukthreads.pico.Internal;

/*
 * The reverse of Resolved: a translated program writes the JDK's names, so that an untranslated
 * one can read them. When read, a lock is free and a queue has no waiting threads, as the JDK
 * says of its own. One of these belongs to one stream: a lock, its conditions and its halves
 * become those of one JDK lock.
 *
 * A program's class that extends one of ours is written as it is: its reader has no such
 * superclass, and skips that superclass's data.
 *
 * Rejected: writeReplace in each class, because a Snapshot would call it, too.
 */
@Internal
public final class Written {
	private interface Kind {
		Object jdks(Written w, Object o) throws IOException;
	}

	private static final Map<Class<?>, Kind> KINDS = new HashMap<>();

	/** From our lock to the JDK's. */
	private final Map<Object, Object> locks = new IdentityHashMap<>();

	/** Returns what is written in place of o. */
	public Object of(Object o) throws IOException {
		Kind k = o == null ? null : KINDS.get(o.getClass());
		return k == null ? o : k.jdks(this, o);
	}

	static {
		KINDS.put(PicoReentrantLock.class, Written::lock);
		KINDS.put(PicoReentrantReadWriteLock.class, Written::lock);
		KINDS.put(PicoReentrantReadWriteLock.Read.class, (w, o) -> w.half(o,
			((PicoReentrantReadWriteLock.Read) o).l, true));
		KINDS.put(PicoReentrantReadWriteLock.Write.class, (w, o) -> w.half(o,
			((PicoReentrantReadWriteLock.Write) o).l, false));
		KINDS.put(GateCondition.class, Written::condition);
		KINDS.put(PicoAbstractQueuedSynchronizer.On.class, (w, o) ->
			((PicoAbstractQueuedSynchronizer.On) o).jdks());
		KINDS.put(PicoAbstractQueuedLongSynchronizer.On.class, (w, o) ->
			((PicoAbstractQueuedLongSynchronizer.On) o).jdks());
		KINDS.put(PicoStampedLock.class, (w, o) -> PicoStampedLock.jdks());
		KINDS.put(PicoSemaphore.class, (w, o) -> ((PicoSemaphore) o).jdks());
		KINDS.put(PicoLinkedBlockingQueue.class, (w, o) ->
			((PicoLinkedBlockingQueue<?>) o).jdks());
		KINDS.put(PicoLinkedBlockingDeque.class, (w, o) ->
			((PicoLinkedBlockingDeque<?>) o).jdks());
		KINDS.put(PicoArrayBlockingQueue.class, (w, o) ->
			((PicoArrayBlockingQueue<?>) o).jdks());
		KINDS.put(PicoPriorityBlockingQueue.class, (w, o) ->
			((PicoPriorityBlockingQueue<?>) o).jdks());
		KINDS.put(PicoLinkedTransferQueue.class, (w, o) -> ((PicoLinkedTransferQueue<?>) o).jdks());
		KINDS.put(PicoSynchronousQueue.class, (w, o) -> ((PicoSynchronousQueue<?>) o).jdks());
	}

	private Object lock(Object ours) {
		return locks.computeIfAbsent(ours, l -> l instanceof PicoReentrantLock
			? PicoReentrantLock.jdks(((PicoReentrantLock) l).isFair())
			: PicoReentrantReadWriteLock.jdks(((PicoReentrantReadWriteLock) l).isFair()));
	}

	/** Whether it is one of ours; false: of a program's subclass. */
	private static boolean known(Object ours) {
		return ours != null && KINDS.containsKey(ours.getClass());
	}

	private Object half(Object half, PicoReentrantReadWriteLock of, boolean read) {
		if (!known(of))
			return half;
		ReadWriteLock l = (ReadWriteLock) lock(of);
		return read ? l.readLock() : l.writeLock();
	}

	private Object condition(Object o) {
		Object ours = ((GateCondition) o).lock.gate().of();
		if (!known(ours))
			return o;
		Object l = lock(ours);
		return (l instanceof Lock ? (Lock) l : ((ReadWriteLock) l).writeLock()).newCondition();
	}
}
