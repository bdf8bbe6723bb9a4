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

/** What saving and loading agree on: the loader, the filter, and what stays outside. */
@NeverBlocks
public final class Codec {
	final Filter filter;
	final ClassLoader loader;
	boolean alone;
	private final Map<Object, String> names =
		Collections.synchronizedMap(new IdentityHashMap<>());
	private final Map<String, Object> objects = Collections.synchronizedMap(new HashMap<>());
	/** Some are strings or boxes, which are not looked up otherwise. */
	private volatile boolean values;
	private volatile boolean whole;

	public Codec(ClassLoader loader, Filter filter) {
		this.loader = loader;
		this.filter = filter;
	}

	/** An object of the process (a connection pool, a service): saved as its name. */
	public Codec external(String name, Object o) {
		names.put(o, name);
		objects.put(name, o);
		if (o instanceof String || o instanceof Number || o instanceof Boolean
				|| o instanceof Character)
			values = true;
		return this;
	}

	/**
	 * Saves objects of the program's classes by all their fields, transient ones too, and
	 * whether or not they are Serializable: for copies within one program, not for stores.
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
	 * Saves threads without the heap that they reach: their frames, values of the JDK, and
	 * the names of external objects. What else a frame holds is refused.
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
	 * The name of the program's release: threads remember which one they were started by. A
	 * hash of the jar or folder that the first task came from, unless told.
	 */
	public Codec release(String name) {
		release = name;
		return this;
	}

	/** Null: what is known already. */
	String releaseOf(Class<?> of) {
		String r = release;
		if (r == null && of != null) {
			r = Release.of(of);
			release = r;
		}
		return r == null ? "" : r;
	}

	private volatile boolean absent;

	/** External objects need not be there: null is in their place. For looking at. */
	void absent() {
		absent = true;
	}

	/** Where one waits at a named object. */
	Object room(String name) {
		Object o = named(name);
		if (o == null)
			return null;
		if (o instanceof Room)
			return o;
		if (o instanceof Room.Of)
			return ((Room.Of) o).room();
		throw new DurableException("the external object " + name
			+ " is none that a thread can wait at: " + o.getClass().getName());
	}

	Object named(String name) {
		Object o = objects.get(name);
		if (o == null && !absent)
			throw new DurableException("no external object is named " + name);
		return o;
	}

	/** A stopped continuation; it can go on, and so can each copy that is loaded. */
	public byte[] save(Continuation k) {
		Encoder e = new Encoder(this, null);
		Freezer.write(k, e);
		return e.finish();
	}

	/** A continuation of its own, with a heap of its own. */
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
