// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import org.ukthreads.pico.Continuation;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.NeverBlocks;
import org.ukthreads.pico.Room;

/**
 * What saving and loading have in common: the class loader, the filter, and the objects that stay
 * outside.
 */
@NeverBlocks
public final class Codec {
	final Filter filter;
	final ClassLoader loader;
	boolean alone;
	private final Map<Object, String> names =
		Collections.synchronizedMap(new IdentityHashMap<>());
	private final Map<String, Object> objects = Collections.synchronizedMap(new HashMap<>());
	/** True if some external objects are strings or boxed values. Those are looked up only then. */
	private volatile boolean values;
	private volatile boolean whole;

	public Codec(ClassLoader loader, Filter filter) {
		this.loader = loader;
		this.filter = filter;
	}

	/**
	 * Registers an object of the process (a connection pool, a service). It is saved as its name.
	 */
	public Codec external(String name, Object o) {
		names.put(o, name);
		objects.put(name, o);
		if (o instanceof String || o instanceof Number || o instanceof Boolean
				|| o instanceof Character)
			values = true;
		return this;
	}

	/**
	 * Saves objects of the program's classes by all their fields, transient ones too, whether or
	 * not they are Serializable. This is for copies within one program, not for stores.
	 */
	public Codec wholeObjects() {
		whole = true;
		return this;
	}

	Shape shape(Class<?> c) {
		return whole ? Shape.ofWhole(c) : Shape.of(c);
	}

	boolean namesValues() {
		return values;
	}

	/**
	 * Saves threads without the heap that they reach: only their frames, values of the JDK, and the
	 * names of external objects. Anything else in a frame is refused.
	 */
	public Codec alone() {
		alone = true;
		return this;
	}

	String nameOf(Object o) {
		return names.isEmpty() ? null : names.get(o);
	}

	private volatile String release;

	/**
	 * Names the program's release. Each thread remembers the release that started it. The default
	 * is a hash of the jar or folder that contains the class of the first task.
	 */
	public Codec release(String name) {
		release = name;
		return this;
	}

	/**
	 * Returns the release, or "" if it is not known.
	 *
	 * @param of a class of the program, to find out the release; null: none
	 */
	String releaseOf(Class<?> of) {
		String r = release;
		if (r == null && of != null) {
			r = Release.of(of);
			release = r;
		}
		return r == null ? "" : r;
	}

	private volatile boolean absent;

	/** Lets external objects be absent: null takes their place. For tools that only look. */
	void absent() {
		absent = true;
	}

	/**
	 * Returns the room in which threads wait at a named object, or null if the object is absent.
	 */
	Object room(String name) {
		Object o = named(name);
		if (o == null)
			return null;
		if (o instanceof Room)
			return o;
		if (o instanceof Room.Of)
			return ((Room.Of) o).room();
		throw new DurableException("the external object " + name
			+ " is not one that a thread can wait at: " + o.getClass().getName());
	}

	Object named(String name) {
		Object o = objects.get(name);
		if (o == null && !absent)
			throw new DurableException("no external object is named " + name);
		return o;
	}

	/** Saves a stopped continuation. It can go on, and so can each copy that is loaded. */
	public byte[] save(Continuation k) {
		Encoder e = new Encoder(this, null);
		Freezer.write(k, e);
		return e.finish();
	}

	/** Loads a continuation that has a heap of its own. */
	public Continuation load(byte[] snapshot) {
		try {
			return Freezer.continuation(new Decoder(this, new Bytes(snapshot, 0), null));
		} catch (ClassNotFoundException e) {
			throw new DurableException("a class is missing: " + e.getMessage(), e);
		}
	}

	byte[] value(Object o) {
		Encoder e = new Encoder(this, null);
		e.ref(o);
		return e.finish();
	}

	Object value(Bytes b) {
		return new Decoder(this, b, null).ref();
	}
}
