// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.durable;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.ListIterator;
import java.util.Map;
import org.ukthreads.pico.NeverBlocks;

/*
 * The iterator of a for loop over a list is in the frame, and is not Serializable. It is saved as
 * the list and the position in it. Iterators of sets and maps are refused, because the order may
 * differ in the next process; copy such a collection into a list.
 *
 * The position is a private field of the JDK. `pico run` opens java.util. Elsewhere, on JDK 17 and
 * later, pass --add-opens java.base/java.util=ALL-UNNAMED. Otherwise sun.misc.Unsafe is used, about
 * which JDK 24 and later warn once.
 */
@NeverBlocks
final class Iterators {
	/** By class: the field of the list (or array), and the field of the position. */
	private static final Map<String, String[]> KNOWN = new HashMap<>();

	static {
		KNOWN.put("java.util.ArrayList$Itr", new String[] {"this$0", "cursor"});
		KNOWN.put("java.util.ArrayList$ListItr", new String[] {"this$0", "cursor"});
		KNOWN.put("java.util.LinkedList$ListItr", new String[] {"this$0", "nextIndex"});
		KNOWN.put("java.util.AbstractList$Itr", new String[] {"this$0", "cursor"});
		KNOWN.put("java.util.AbstractList$ListItr", new String[] {"this$0", "cursor"});
		KNOWN.put("java.util.Arrays$ArrayItr", new String[] {"a", "cursor"});
		KNOWN.put("java.util.ImmutableCollections$ListItr",
			new String[] {"list", "cursor"});
	}

	private Iterators() {}

	static boolean is(Object o) {
		return o instanceof Iterator && isClass(o.getClass());
	}

	static boolean isClass(Class<?> c) {
		return KNOWN.containsKey(c.getName());
	}

	static Object list(Object it) throws ReflectiveOperationException {
		return field(it, KNOWN.get(it.getClass().getName())[0]);
	}

	static int place(Object it) throws ReflectiveOperationException {
		return (Integer) field(it, KNOWN.get(it.getClass().getName())[1]);
	}

	/**
	 * Returns what remove() and set() would change: 0 nothing yet, 1 what next() returned, 2 what
	 * previous() returned.
	 */
	static int last(Object it) throws ReflectiveOperationException {
		switch (it.getClass().getName()) {
		case "java.util.LinkedList$ListItr":
			Object node = field(it, "lastReturned");
			return node == null ? 0 : node == field(it, "next") ? 2 : 1;
		case "java.util.Arrays$ArrayItr":
		case "java.util.ImmutableCollections$ListItr":
			return 0;
		default:
			int last = (Integer) field(it, "lastRet");
			return last < 0 ? 0 : last == place(it) ? 2 : 1;
		}
	}

	/** Returns true if its list was changed by others, so that its next use throws. */
	static boolean isStale(Object it) throws ReflectiveOperationException {
		Object list = list(it);
		return list instanceof java.util.AbstractList
			&& !it.getClass().getName().startsWith("java.util.Immutable")
			&& !field(it, "expectedModCount").equals(field(list, "modCount"));
	}

	/** Returns true if it is not a ListIterator, as in a for loop; a program may ask that. */
	static boolean isPlain(Object it) {
		return !(it instanceof ListIterator);
	}

	static Object at(Object list, int place, int last, boolean plain) {
		List<?> l = list instanceof Object[] ? Arrays.asList((Object[]) list)
			: (List<?>) list;
		if (plain) {
			Iterator<?> i = l.iterator();
			if (isClass(i.getClass()))
				return put(i, place, last);
		}
		ListIterator<?> i = l.listIterator(last == 1 ? place - 1 : last == 2 ? place + 1
			: place);
		if (last == 1)
			i.next();
		else if (last == 2)
			i.previous();
		return i;
	}

	private static Object put(Iterator<?> i, int place, int last) {
		String c = i.getClass().getName();
		try {
			setInt(i, KNOWN.get(c)[1], place);
			if (!c.equals("java.util.Arrays$ArrayItr"))
				setInt(i, "lastRet", last == 1 ? place - 1 : -1);
		} catch (ReflectiveOperationException e) {
			throw new DurableException(c, e);
		}
		return i;
	}

	private static void setInt(Object o, String name, int value)
			throws ReflectiveOperationException {
		Field f = find(o, name);
		try {
			f.setAccessible(true);
			f.setInt(o, value);
		} catch (RuntimeException e) {
			unsafe("putInt", o, f, value);
		}
	}

	private static Object field(Object o, String name) throws ReflectiveOperationException {
		Field f = find(o, name);
		try {
			f.setAccessible(true);
			return f.get(o);
		} catch (RuntimeException e) {
			return unsafe(f.getType() == int.class ? "getInt" : "getObject", o, f);
		}
	}

	private static Field find(Object o, String name) throws NoSuchFieldException {
		for (Class<?> c = o.getClass(); c != Object.class; c = c.getSuperclass())
			for (Field f : c.getDeclaredFields())
				if (f.getName().equals(name))
					return f;
		throw new NoSuchFieldException(o.getClass().getName() + '.' + name);
	}

	/** Calls method(o, offset of f) or, with an int, method(o, offset of f, value). */
	private static Object unsafe(String method, Object o, Field f, Object... value)
			throws ReflectiveOperationException {
		Class<?> c = Class.forName("sun.misc.Unsafe");
		Field the = c.getDeclaredField("theUnsafe");
		the.setAccessible(true);
		Object u = the.get(null);
		Object at = c.getMethod("objectFieldOffset", Field.class).invoke(u, f);
		return value.length == 0
			? c.getMethod(method, Object.class, long.class).invoke(u, o, at)
			: c.getMethod(method, Object.class, long.class, int.class).invoke(u, o, at,
				value[0]);
	}
}
