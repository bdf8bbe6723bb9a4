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
 * What was serialised under the JDK's names, by a program that was not translated, and is read
 * by one that is: each lock, queue and collection that a rule replaces becomes ours before
 * anybody holds it. The JDK's own would lock the carrier: two threads of one carrier would both
 * be inside, without a word.
 *
 * One of these belongs to one stream. A lock, its conditions and its two halves come as objects
 * of their own, in any order, and have in common the Sync that they refer to: that is the key.
 * Nobody may look into it from here, but what an object's serial form refers to can be seen by
 * writing it, to nowhere.
 *
 * Rejected: other descriptors in the place of the JDK's (readClassDescriptor), which the
 * program's resolveClass would see: those that list what they allow would refuse them. Objects
 * that refer back to a queue that is not read yet keep the JDK's, as with any readResolve.
 */
@Internal
public final class Resolved {
	private interface Kind {
		Object ours(Resolved r, Object o) throws IOException;
	}

	private static final Map<String, Kind> KINDS = new HashMap<>();

	/** Of a Sync. */
	private final Map<Object, Object> locks = new IdentityHashMap<>();

	/** What takes the place of what was read. */
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

	/** A serial form: what it refers to, in order, written as so many nulls. */
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

		/** Counted from the end. */
		ByteBuffer last(int n) {
			return ByteBuffer.wrap(bytes.toByteArray(), bytes.size() - n, n).slice();
		}
	}

	private static List<Object> parts(Object o) throws IOException {
		return Form.of(o).parts;
	}

	/** What a lock or a condition is about. */
	private static Object sync(Object o) throws IOException {
		for (Object x : parts(o))
			if (x instanceof AbstractQueuedSynchronizer
					|| x instanceof AbstractQueuedLongSynchronizer)
				return x;
		throw new IllegalStateException(o.getClass() + " without a synchronizer");
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
		/* An untranslated class's, which waits as the JDK does. */
		if (sync.getClass().getClassLoader() != null)
			return (Condition) o;
		Object l = lock(sync);
		return (l instanceof Lock ? (Lock) l : ((ReadWriteLock) l).writeLock()).newCondition();
	}

	/* --- what holds elements --- */

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
		/* The last of its form: how much it grows by, how many, the elements, the end. */
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
	 * As large, for it shows in what order the elements come. The last bytes of its form: load
	 * factor, threshold, a block's two, how large it is, how many, keys and values, the end.
	 */
	private static PicoHashtable<Object, Object> table(Hashtable<?, ?> t) throws IOException {
		ByteBuffer b = Form.of(t).last(4 + 4 + 2 + 4 + 4 + 2 * t.size() + 1);
		PicoHashtable<Object, Object> ours = new PicoHashtable<>(b.getInt(10), b.getFloat(0));
		List<Map.Entry<?, ?>> all = new ArrayList<>(t.entrySet());
		/* What is put last is the first of its chain. */
		for (int n = all.size(); --n >= 0;)
			ours.put(all.get(n).getKey(), all.get(n).getValue());
		return ours;
	}

	/** What one wraps, and what it locks; null: another's mutex, which is not ours. */
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
