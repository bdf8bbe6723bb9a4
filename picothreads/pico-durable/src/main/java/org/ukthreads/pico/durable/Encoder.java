// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.NotSerializableException;
import java.io.ObjectOutputStream;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.NeverBlocks;
import org.ukthreads.pico.Room;
import org.ukthreads.pico.Site;
import org.ukthreads.pico.Snapshot;

/*
 * Writes objects, and all that they reach, as bytes. It does not recurse: an object gets the next
 * number when it is first met, and is written later.
 *
 *   snapshot: names    count, texts: classes, fields, methods
 *             heads    count; for object 1, 2...: tag, and what is needed to make it
 *             bodies   for object 1, 2...: what is put into it once all are made
 *             roots    what the caller writes: frames, or one task
 *
 * A reference is the object's number; 0 is null. A head may refer to other objects only where those
 * can be made first (records, streams, comparators); see Decoder.
 */
@NeverBlocks
final class Encoder implements Freezer.Out {
	static final int THREAD = 0, EXTERNAL = 1, STRING = 2, INT = 3, LONG = 4, TRUE = 5,
		FALSE = 6, DOUBLE = 7, CLASS = 8, ENUM = 9, FIELDS = 10, RECORD = 11, STREAM = 12,
		ARRAY = 13, PRIMITIVES = 14, METHOD = 15, BIG_INTEGER = 16, BIG_DECIMAL = 17,
		CHAR = 18, PLAIN = 19, ITERATOR = 20, ROOM = 21, COLLECTION = 32, MAP = 48,
		TREE_SET = 62, TREE_MAP = 63;
	/** Added to the `last` of an iterator that is not a ListIterator. */
	static final int PLAIN_ITERATOR = 4;

	static final Class<?>[] COLLECTIONS = {java.util.ArrayList.class,
		java.util.LinkedList.class, java.util.ArrayDeque.class, java.util.HashSet.class,
		java.util.LinkedHashSet.class, java.util.Vector.class,
		java.util.concurrent.CopyOnWriteArrayList.class,
		java.util.concurrent.ConcurrentLinkedQueue.class,
		java.util.concurrent.ConcurrentLinkedDeque.class};
	static final Class<?>[] MAPS = {java.util.HashMap.class, java.util.LinkedHashMap.class,
		java.util.concurrent.ConcurrentHashMap.class, java.util.Hashtable.class,
		java.util.IdentityHashMap.class};

	private static final Map<Class<?>, Integer> KNOWN = new HashMap<>();

	static {
		for (int k = 0; k < COLLECTIONS.length; k++)
			KNOWN.put(COLLECTIONS[k], COLLECTION + k);
		for (int k = 0; k < MAPS.length; k++)
			KNOWN.put(MAPS[k], MAP + k);
		KNOWN.put(java.util.TreeSet.class, TREE_SET);
		KNOWN.put(java.util.TreeMap.class, TREE_MAP);
	}

	/** Returns true if the class is written in a special way, whatever serial form it has. */
	static boolean isKnown(Class<?> c) {
		return KNOWN.containsKey(c) || c == Object.class || c == Class.class
			|| c == Method.class || Iterators.isClass(c);
	}

	private final Codec codec;
	/** The thread that is saved: its own java.lang.Thread is a reference to itself. */
	private final DurableThread self;
	private final IdentityHashMap<Object, Integer> numbers = new IdentityHashMap<>(64);
	private final ArrayList<Object> queue = new ArrayList<>();
	/**
	 * Where an object was first met: the index of another in the queue, or ~ the index of a site.
	 */
	private int[] from = new int[64];
	private final ArrayList<Site> sites = new ArrayList<>();
	private int now = ~0;
	private final HashMap<String, Integer> names = new HashMap<>();
	private final HashMap<Class<?>, Integer> classes = new HashMap<>();
	private final Bytes nameBytes = new Bytes(512);
	private final Bytes heads = new Bytes(512);
	private final Bytes bodies = new Bytes(512);
	private final Bytes roots = new Bytes(512);
	private Bytes to = roots;
	/** The thread waits at an object that stays outside. */
	boolean outside;
	/**
	 * The thread reaches a lock, a queue or the like that stays outside: other threads may wait for
	 * it.
	 */
	boolean rooms;

	Encoder(Codec codec, DurableThread self) {
		this.codec = codec;
		this.self = self;
		sites.add(null);
	}

	@Override
	public void number(long v) {
		to.number(v);
	}

	@Override
	public void bits(long v) {
		to.bits(v);
	}

	@Override
	public void text(String s) {
		to.unsigned(name(s));
	}

	@Override
	public void at(Site s) {
		sites.add(s);
		now = ~(sites.size() - 1);
	}

	@Override
	public void ref(Object o) {
		to.unsigned(handle(o));
	}

	private int name(String s) {
		Integer k = names.get(s);
		if (k != null)
			return k;
		nameBytes.text(s);
		names.put(s, names.size());
		return names.size() - 1;
	}

	private int handle(Object o) {
		if (o == null)
			return 0;
		Integer h = numbers.get(o);
		if (h != null)
			return h;
		int k = queue.size();
		queue.add(o);
		numbers.put(o, k + 1);
		if (k == from.length)
			from = java.util.Arrays.copyOf(from, 2 * k);
		from[k] = now;
		return k + 1;
	}

	/** Returns the snapshot. Called after the roots are written. */
	byte[] finish() {
		for (int k = 0; k < queue.size(); k++) {
			now = k;
			try {
				write(queue.get(k));
			} catch (IOException | ReflectiveOperationException e) {
				throw refused(k, e.toString());
			}
		}
		Bytes all = new Bytes(nameBytes.n + heads.n + bodies.n + roots.n + 16);
		all.unsigned(names.size());
		all.raw(nameBytes.b, nameBytes.n);
		all.unsigned(queue.size());
		all.raw(heads.b, heads.n);
		all.raw(bodies.b, bodies.n);
		all.raw(roots.b, roots.n);
		return all.done();
	}

	private void write(Object o) throws IOException, ReflectiveOperationException {
		Class<?> c = o.getClass();
		if (codec.namesValues() && codec.nameOf(o) != null) {
			other(o, c);
		} else if (c == String.class) {
			heads.put(STRING);
			heads.text((String) o);
		} else if (c == Integer.class) {
			heads.put(INT);
			heads.number((Integer) o);
		} else if (c == Long.class) {
			heads.put(LONG);
			heads.number((Long) o);
		} else if (c == Boolean.class) {
			heads.put((Boolean) o ? TRUE : FALSE);
		} else if (c == Double.class) {
			heads.put(DOUBLE);
			heads.bits(Double.doubleToRawLongBits((Double) o));
		} else if (c == Character.class) {
			heads.put(CHAR);
			heads.unsigned((Character) o);
		} else if (o == self || self != null && self.is(o)) {
			heads.put(THREAD);
			heads.put(o == self ? 0 : 1);
		} else {
			other(o, c);
		}
	}

	private void other(Object o, Class<?> c) throws IOException, ReflectiveOperationException {
		String external = codec.nameOf(o);
		Integer known = KNOWN.get(c);
		if (external == null && o instanceof Room.Guest)
			guest((Room.Guest) o);
		if (external != null) {
			rooms |= o instanceof Room || o instanceof Room.Of;
			heads.put(EXTERNAL);
			heads.unsigned(name(external));
		} else if (o instanceof Room && codec.nameOf(((Room) o).of()) != null) {
			rooms = true;
			heads.put(ROOM);
			heads.unsigned(name(codec.nameOf(((Room) o).of())));
		} else if (codec.alone && !alone(o, c)) {
			throw new NotSerializableException("the thread is saved alone");
		} else if (known != null) {
			heads.put(known);
			if (known == TREE_SET)
				heads.unsigned(handle(((SortedSet<?>) o).comparator()));
			else if (known == TREE_MAP)
				heads.unsigned(handle(((SortedMap<?, ?>) o).comparator()));
			contents(o, known);
		} else if (c.isArray()) {
			array(o, c.getComponentType());
		} else if (o instanceof Class) {
			heads.put(CLASS);
			named((Class<?>) o);
		} else if (o instanceof Method) {
			method((Method) o);
		} else if (c == BigInteger.class) {
			big(BIG_INTEGER, (BigInteger) o);
		} else if (c == BigDecimal.class) {
			big(BIG_DECIMAL, ((BigDecimal) o).unscaledValue());
			heads.number(((BigDecimal) o).scale());
		} else if (c == Object.class) {
			heads.put(PLAIN);
		} else if (Iterators.is(o)) {
			heads.put(ITERATOR);
			heads.unsigned(handle(Iterators.list(o)));
			heads.unsigned(Iterators.place(o));
			heads.put(Iterators.last(o) | (Iterators.isPlain(o) ? PLAIN_ITERATOR : 0));
			if (Iterators.isStale(o))
				throw new NotSerializableException("its list was changed by others");
		} else {
			shaped(o, codec.shape(c));
		}
	}

	private void guest(Room.Guest g) {
		Room r = g.room();
		outside |= r != null && codec.nameOf(r.of()) != null;
	}

	/** Returns true if the object is saved also with a thread that is saved without its heap. */
	private static boolean alone(Object o, Class<?> c) {
		return o instanceof Number || o instanceof Enum || o instanceof Class
			|| o instanceof Method || o instanceof Room.Guest
			|| o instanceof java.time.temporal.TemporalAccessor
			|| o instanceof java.time.temporal.TemporalAmount || c.isArray()
			&& c.getComponentType().isPrimitive();
	}

	private void big(int tag, BigInteger v) {
		byte[] b = v.toByteArray();
		heads.put(tag);
		heads.unsigned(b.length);
		heads.raw(b, b.length);
	}

	private void method(Method m) {
		heads.put(METHOD);
		named(m.getDeclaringClass());
		heads.unsigned(name(m.getName()));
		heads.unsigned(m.getParameterCount());
		for (Class<?> p : m.getParameterTypes())
			named(p);
	}

	private void named(Class<?> c) {
		if (!c.isPrimitive())
			codec.filter.check(c.getName());
		heads.unsigned(name(c.getName()));
	}

	private void contents(Object o, int known) {
		/*
		 * Other threads may change it meanwhile, so the elements that are counted are those
		 * written.
		 */
		Object[] all;
		if (o instanceof Map) {
			List<Object> l = new ArrayList<>();
			((Map<?, ?>) o).forEach((k, v) -> {
				l.add(k);
				l.add(v);
			});
			all = l.toArray();
			bodies.unsigned(all.length / 2);
		} else {
			all = ((Collection<?>) o).toArray();
			bodies.unsigned(all.length);
		}
		for (Object x : all)
			bodies.unsigned(handle(x));
	}

	private void array(Object o, Class<?> of) {
		int n = Array.getLength(o);
		if (!of.isPrimitive()) {
			codec.filter.check(of.getName());
			heads.put(ARRAY);
			heads.unsigned(name(of.getName()));
			heads.unsigned(n);
			for (Object x : (Object[]) o)
				bodies.unsigned(handle(x));
			return;
		}
		heads.put(PRIMITIVES);
		heads.put(Shape.kind(of));
		heads.unsigned(n);
		if (of == byte.class) {
			heads.raw((byte[]) o, n);
			return;
		}
		for (int k = 0; k < n; k++) {
			if (of == double.class)
				heads.bits(Double.doubleToRawLongBits(Array.getDouble(o, k)));
			else if (of == float.class)
				heads.number(Float.floatToRawIntBits(Array.getFloat(o, k)));
			else if (of == boolean.class)
				heads.put(Array.getBoolean(o, k) ? 1 : 0);
			else if (of == char.class)
				heads.unsigned(Array.getChar(o, k));
			else
				heads.number(Array.getLong(o, k));
		}
	}

	private void shaped(Object o, Shape s) throws IOException, ReflectiveOperationException {
		if (s.how == Shape.How.REFUSED)
			throw new NotSerializableException(o instanceof Fiber || o instanceof Thread
				? "it is another thread" : "it is not Serializable");
		if (s.how == Shape.How.ENUM) {
			codec.filter.check(((Enum<?>) o).getDeclaringClass().getName());
			heads.put(ENUM);
			heads.unsigned(name(((Enum<?>) o).getDeclaringClass().getName()));
			heads.unsigned(name(((Enum<?>) o).name()));
			return;
		}
		if (s.how == Shape.How.STREAM) {
			stream(o);
			return;
		}
		Bytes b = s.how == Shape.How.RECORD ? heads : bodies;
		heads.put(s.how == Shape.How.RECORD ? RECORD : FIELDS);
		type(s);
		for (int k = 0; k < s.kinds.length; k++)
			switch (s.kinds[k]) {
			case 'L': b.unsigned(handle(s.fields[k].get(o))); break;
			case 'J': b.number(s.fields[k].getLong(o)); break;
			case 'D': b.bits(Double.doubleToRawLongBits(s.fields[k].getDouble(o))); break;
			case 'F': b.number(Float.floatToRawIntBits(s.fields[k].getFloat(o))); break;
			case 'Z': b.put(s.fields[k].getBoolean(o) ? 1 : 0); break;
			case 'C': b.unsigned(s.fields[k].getChar(o)); break;
			default: b.number(s.fields[k].getInt(o)); break;
			}
	}

	/** Writes a class's number, and its fields when the class is new. */
	private void type(Shape s) {
		Integer k = classes.get(s.type);
		heads.unsigned(k != null ? k : classes.size());
		if (k != null)
			return;
		codec.filter.check(s.type.getName());
		classes.put(s.type, classes.size());
		heads.unsigned(name(s.type.getName()));
		if (Shape.isLambda(s.type))
			heads.bits(Freezer.lambdaHash(s.type));
		heads.unsigned(s.kinds.length);
		for (int f = 0; f < s.kinds.length; f++) {
			heads.unsigned(name(s.fields[f].getName()));
			heads.put(s.kinds[f]);
		}
	}

	/**
	 * Writes Java's own serial form. It refers by number to objects that this class writes itself.
	 */
	private void stream(Object root) throws IOException {
		ByteArrayOutputStream out = new ByteArrayOutputStream(256);
		try (ObjectOutputStream s = new Snapshot(out) {
			{
				enableReplaceObject(true);
			}

			/*
			 * A class that the filter would refuse at loading is refused here, while the thread
			 * still runs.
			 */
			@Override
			protected void annotateClass(Class<?> c) {
				if (c != Ref.class && !(c.isArray() && c.getName().length() == 2))
					codec.filter.check(c.getName());
			}

			@Override
			protected void annotateProxyClass(Class<?> c) throws IOException {
				throw new NotSerializableException("it contains a proxy");
			}

			@Override
			protected Object replaceObject(Object o) {
				if (o == root || !own(o))
					return o;
				return new Ref(handle(o));
			}
		}) {
			s.writeObject(root);
		}
		heads.put(STREAM);
		heads.unsigned(out.size());
		heads.raw(out.toByteArray(), out.size());
	}

	private boolean own(Object o) {
		Class<?> c = o.getClass();
		if (codec.nameOf(o) != null || o instanceof Room || KNOWN.containsKey(c) || self != null && self.is(o)
				|| o == self)
			return true;
		if (c.isArray() || o instanceof String || o instanceof Number || o instanceof Class)
			return false;
		Shape.How h = codec.shape(c).how;
		return h == Shape.How.FIELDS || h == Shape.How.RECORD || h == Shape.How.REFUSED;
	}

	private DurableException refused(int k, String why) {
		StringBuilder b = new StringBuilder(queue.get(k).getClass().getName());
		b.append(" cannot be saved: ").append(why).append("; reached");
		int f = from[k];
		while (f >= 0) {
			b.append(" from ").append(queue.get(f).getClass().getName());
			f = from[f];
		}
		if (sites.get(~f) != null)
			b.append(" from the frame of ").append(sites.get(~f));
		return new DurableException(b.append(
			". Make it Serializable, keep it in a static field, or register it by"
			+ " external(name, object)").toString());
	}
}
