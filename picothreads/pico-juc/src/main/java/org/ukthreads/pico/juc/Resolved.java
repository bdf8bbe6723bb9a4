// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.Stack;
import java.util.Vector;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.AbstractQueuedLongSynchronizer;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;
import org.ukthreads.pico.Internal;

/*
 * A translated program reads what an untranslated one has serialised under the JDK's names:
 * each lock, queue and collection that a rule replaces becomes ours before the program gets it.
 * The JDK's own would lock the carrier, and two threads of one carrier would both be inside,
 * without any error.
 *
 * One of these belongs to one stream. A lock, its conditions and its two halves come as objects
 * of their own, in any order, and share the Sync that they refer to: that is the key. Its field
 * is not accessible, but writing an object (to memory) shows what its serial form refers to.
 *
 * Rejected: other descriptors in place of the JDK's (readClassDescriptor), because the program's
 * resolveClass would see them, and one with a list of allowed classes would refuse them. Objects
 * that refer back to a queue that is not read yet keep the JDK's, as with any readResolve.
 */
@Internal
public final class Resolved {
	private interface Kind {
		Object ours(Resolved r, Object o) throws IOException;
	}

	private static final Map<String, Kind> KINDS = new HashMap<>();

	/** By their Sync. */
	private final Map<Object, Object> locks = new IdentityHashMap<>();

	/** Returns the replacement of an object that was read. */
	public Object of(Object o) throws IOException {
		if (o == null || o.getClass().getClassLoader() != null)
			return o;
		Kind k = KINDS.get(o.getClass().getName());
		return k == null ? o : k.ours(this, o);
	}

	private static void kind(Class<?> c, Kind k) {
		KINDS.put(c.getName(), k);
	}

	static {
		kind(ReentrantLock.class, (r, o) -> r.lock(sync(o)));
		kind(ReentrantReadWriteLock.class, (r, o) -> r.lock(sync(o)));
		kind(ReentrantReadWriteLock.ReadLock.class, (r, o) -> r.both(o).readLock());
		kind(ReentrantReadWriteLock.WriteLock.class, (r, o) -> r.both(o).writeLock());
		kind(AbstractQueuedSynchronizer.ConditionObject.class, Resolved::condition);
		kind(AbstractQueuedLongSynchronizer.ConditionObject.class, Resolved::condition);
		kind(StampedLock.class, (r, o) -> new PicoStampedLock());
		kind(Semaphore.class, (r, o) -> new PicoSemaphore(((Semaphore) o).availablePermits(),
			((Semaphore) o).isFair()));
		queues();
		collections();
		wrappers();
	}

	/** A serial form: the objects that it refers to, in order, each written as null. */
	private static final class Form extends ObjectOutputStream {
		final List<Object> parts = new ArrayList<>();
		private final ByteArrayOutputStream bytes;
		private boolean inside;

		private Form(ByteArrayOutputStream bytes) throws IOException {
			super(bytes);
			this.bytes = bytes;
			enableReplaceObject(true);
		}

		static Form of(Object o) throws IOException {
			Form f = new Form(new ByteArrayOutputStream());
			f.writeObject(o);
			f.flush();
			return f;
		}

		@Override
		protected Object replaceObject(Object x) {
			if (!inside) {
				inside = true;
				return x;
			}
			parts.add(x);
			return null;
		}

		/** The last n bytes. */
		ByteBuffer last(int n) {
			return ByteBuffer.wrap(bytes.toByteArray(), bytes.size() - n, n).slice();
		}
	}

	private static List<Object> parts(Object o) throws IOException {
		return Form.of(o).parts;
	}

	/** The synchronizer of a lock or condition. */
	private static Object sync(Object o) throws IOException {
		for (Object x : parts(o))
			if (x instanceof AbstractQueuedSynchronizer
					|| x instanceof AbstractQueuedLongSynchronizer)
				return x;
		throw new IllegalStateException(o.getClass() + " has no synchronizer");
	}

	private Object lock(Object sync) {
		return locks.computeIfAbsent(sync, s -> {
			boolean fair = s.getClass().getSimpleName().equals("FairSync");
			return s.getClass().getEnclosingClass() == ReentrantLock.class
				? new PicoReentrantLock(fair) : new PicoReentrantReadWriteLock(fair);
		});
	}

	private ReadWriteLock both(Object half) throws IOException {
		return (ReadWriteLock) lock(sync(half));
	}

	private Condition condition(Object o) throws IOException {
		Object sync = sync(o);
		if (sync instanceof PicoAbstractQueuedSynchronizer)
			return new PicoAbstractQueuedSynchronizer.On((PicoAbstractQueuedSynchronizer) sync);
		if (sync instanceof PicoAbstractQueuedLongSynchronizer)
			return new PicoAbstractQueuedLongSynchronizer.On(
				(PicoAbstractQueuedLongSynchronizer) sync);
		/* A condition of an untranslated class waits as in the JDK. */
		if (sync.getClass().getClassLoader() != null)
			return (Condition) o;
		Object l = lock(sync);
		return (l instanceof Lock ? (Lock) l : ((ReadWriteLock) l).writeLock()).newCondition();
	}

	/* --- queues and collections --- */

	private static <C extends Collection<Object>> C filled(C c, Object from) {
		c.addAll(Arrays.asList(((Collection<?>) from).toArray()));
		return c;
	}

	private static boolean has(Object o, String part) throws IOException {
		for (Object x : parts(o))
			if (x.getClass().getName().endsWith(part))
				return true;
		return false;
	}

	static boolean isFair(ArrayBlockingQueue<?> q) throws IOException {
		for (Object x : parts(q))
			if (x instanceof ReentrantLock)
				return ((ReentrantLock) x).isFair();
		return false;
	}

	@SuppressWarnings("unchecked")
	private static void queues() {
		kind(LinkedBlockingQueue.class, (r, o) -> {
			LinkedBlockingQueue<?> q = (LinkedBlockingQueue<?>) o;
			return filled(new PicoLinkedBlockingQueue<>(q.remainingCapacity() + q.size()), q);
		});
		kind(LinkedBlockingDeque.class, (r, o) -> {
			LinkedBlockingDeque<?> q = (LinkedBlockingDeque<?>) o;
			return filled(new PicoLinkedBlockingDeque<>(q.remainingCapacity() + q.size()), q);
		});
		kind(ArrayBlockingQueue.class, (r, o) -> {
			ArrayBlockingQueue<?> q = (ArrayBlockingQueue<?>) o;
			return filled(new PicoArrayBlockingQueue<>(q.remainingCapacity() + q.size(),
				isFair(q)), q);
		});
		kind(PriorityBlockingQueue.class, (r, o) -> {
			PriorityBlockingQueue<Object> q = (PriorityBlockingQueue<Object>) o;
			return filled(new PicoPriorityBlockingQueue<>(Math.max(11, q.size()),
				q.comparator()), q);
		});
		kind(LinkedTransferQueue.class, (r, o) -> filled(new PicoLinkedTransferQueue<>(), o));
		kind(SynchronousQueue.class, (r, o) -> new PicoSynchronousQueue<>(
			has(o, "FifoWaitQueue")));
	}

	private static void collections() {
		/* Its form ends with: increment, count, the elements (null), end of data. */
		kind(Vector.class, (r, o) -> filled(new PicoVector<>(((Vector<?>) o).capacity(),
			Form.of(o).last(4 + 4 + 1 + 1).getInt(0)), o));
		kind(Stack.class, (r, o) -> {
			PicoStack<Object> s = new PicoStack<>();
			s.trimToSize();
			s.ensureCapacity(((Stack<?>) o).capacity());
			return filled(s, o);
		});
		kind(Hashtable.class, (r, o) -> table((Hashtable<?, ?>) o));
	}

	/**
	 * Of the same capacity, which shows in the order of the elements. Its form ends with: load
	 * factor, threshold, block header, capacity, count, keys and values, end of data.
	 */
	private static PicoHashtable<Object, Object> table(Hashtable<?, ?> t) throws IOException {
		ByteBuffer b = Form.of(t).last(4 + 4 + 2 + 4 + 4 + 2 * t.size() + 1);
		PicoHashtable<Object, Object> ours = new PicoHashtable<>(b.getInt(10), b.getFloat(0));
		List<Map.Entry<?, ?>> all = new ArrayList<>(t.entrySet());
		/* The entry put last is the first in its chain. */
		for (int n = all.size(); --n >= 0;)
			ours.put(all.get(n).getKey(), all.get(n).getValue());
		return ours;
	}

	/** inside: the wrapped collection; mutex: what it locks, null for itself. */
	private interface Wrapper<T> {
		Object ours(T inside, Mutex mutex);
	}

	@SuppressWarnings("unchecked")
	private static <T> void wrapper(String name, Wrapper<T> w) {
		KINDS.put("java.util.Collections$Synchronized" + name, (r, o) -> {
			List<Object> l = parts(o);
			if (l.size() == 1)
				return w.ours((T) l.get(0), null);
			return l.get(1) instanceof Mutex ? w.ours((T) l.get(0), (Mutex) l.get(1)) : o;
		});
	}

	private static void wrappers() {
		Resolved.<Collection<Object>>wrapper("Collection", Synchronized.OfCollection::new);
		Resolved.<Set<Object>>wrapper("Set", Synchronized.OfSet::new);
		Resolved.<SortedSet<Object>>wrapper("SortedSet", Synchronized.OfSortedSet::new);
		Resolved.<NavigableSet<Object>>wrapper("NavigableSet",
			Synchronized.OfNavigableSet::new);
		Resolved.<List<Object>>wrapper("List", Synchronized::list);
		Resolved.<List<Object>>wrapper("RandomAccessList", Synchronized::list);
		Resolved.<Map<Object, Object>>wrapper("Map", SynchronizedMaps.OfMap::new);
		Resolved.<SortedMap<Object, Object>>wrapper("SortedMap",
			SynchronizedMaps.OfSortedMap::new);
		Resolved.<NavigableMap<Object, Object>>wrapper("NavigableMap",
			SynchronizedMaps.OfNavigableMap::new);
	}
}
