// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.io;

import java.io.EOFException;
import java.io.IOException;
import java.io.ObjectStreamConstants;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/*
 * Finds the end of the next element of an object stream. The protocol (Java Object
 * Serialization Specification, chapter 6) has no frames around objects, but its grammar can be
 * followed without the classes of the program: descriptors name the types of the fields, and
 * the data of a writeObject method are blocks up to an end mark.
 *
 * Bytes are taken from the Feed, which reads ahead of the JDK's ObjectInputStream and may
 * park. A stack holds what is still to come, because graphs may be deep:
 *
 *   CONTENT  any element             DESC     a class descriptor, left in `desc`
 *   MARKED   elements up to the mark PARENT   `desc` is the superclass of the one on top
 *   OBJECT, ARRAY, ENUM, CLASS: what follows the descriptor; a Desc: that class's fields
 *
 * If the grammar cannot be followed (Externalizable of protocol version 1, a broken stream),
 * Unclear is thrown, and the JDK reads the rest by itself.
 */
final class ObjectShape implements ObjectStreamConstants {
	/** Thrown if the end of an element cannot be found. */
	static final class Unclear extends IOException {
		private static final long serialVersionUID = 1;

		Unclear(String why) {
			super(why, null);
		}

		@Override
		public synchronized Throwable fillInStackTrace() {
			return this;
		}
	}

	private static final class Desc {
		int flags;
		/** The number of bytes of the primitive fields; below it that of the other fields. */
		int bytes;
		int objects;
		/** For the class of an array: the type of its elements. */
		char cell;
		Desc parent;
	}

	private enum Step { CONTENT, DESC, MARKED, PARENT, OBJECT, ARRAY, ENUM, CLASS }

	private final Feed in;
	private final Map<Integer, Desc> descs = new HashMap<>();
	private int handles;
	private final Deque<Object> todo = new ArrayDeque<>();
	private Desc desc;

	ObjectShape(Feed in) {
		this.in = in;
	}

	void reset() {
		descs.clear();
		handles = 0;
	}

	private static int size(char type) throws Unclear {
		switch (type) {
		case 'B': case 'Z': return 1;
		case 'C': case 'S': return 2;
		case 'I': case 'F': return 4;
		case 'J': case 'D': return 8;
		default: throw new Unclear("field type " + (int) type);
		}
	}

	/** Takes the whole element, from its first byte. */
	void element() throws IOException {
		todo.clear();
		todo.push(Step.CONTENT);
		try {
			while (!todo.isEmpty()) {
				Object o = todo.pop();
				if (o instanceof Desc)
					fields((Desc) o);
				else
					step((Step) o);
			}
		} catch (EOFException e) {
			throw new Unclear("the end");
		}
	}

	private void step(Step s) throws IOException {
		switch (s) {
		case CONTENT:
			content(in.octet());
			break;
		case DESC:
			desc(in.octet());
			break;
		case MARKED:
			int tag = in.octet();
			if (tag != TC_ENDBLOCKDATA) {
				todo.push(Step.MARKED);
				content(tag);
			}
			break;
		case PARENT:
			Desc child = (Desc) todo.pop();
			child.parent = desc;
			desc = child;
			break;
		case OBJECT:
			handles++;
			classes();
			break;
		case ARRAY:
			handles++;
			cells();
			break;
		case ENUM:
			handles++;
			string(in.octet());
			break;
		case CLASS:
			handles++;
			break;
		default:
			throw new IllegalStateException(s.toString());
		}
	}

	private void then(Step... last) {
		for (Step s : last)
			todo.push(s);
	}

	private void content(int tag) throws IOException {
		switch (tag) {
		case TC_NULL:
			break;
		case TC_REFERENCE:
			in.pass(4);
			break;
		case TC_OBJECT:
			then(Step.OBJECT, Step.DESC);
			break;
		case TC_ARRAY:
			then(Step.ARRAY, Step.DESC);
			break;
		case TC_ENUM:
			then(Step.ENUM, Step.DESC);
			break;
		case TC_CLASS:
			then(Step.CLASS, Step.DESC);
			break;
		case TC_CLASSDESC:
		case TC_PROXYCLASSDESC:
			desc(tag);
			break;
		case TC_STRING:
		case TC_LONGSTRING:
			string(tag);
			break;
		case TC_BLOCKDATA:
			in.pass(in.octet());
			break;
		case TC_BLOCKDATALONG:
			in.pass(in.number(4));
			break;
		case TC_RESET:
			reset();
			todo.push(Step.CONTENT);
			break;
		default:
			/* Includes TC_EXCEPTION: there the writer broke off at any point. */
			throw new Unclear("tag " + tag);
		}
	}

	private void string(int tag) throws IOException {
		if (tag == TC_REFERENCE) {
			in.pass(4);
			return;
		}
		if (tag != TC_STRING && tag != TC_LONGSTRING)
			throw new Unclear("no string: " + tag);
		handles++;
		in.pass(in.number(tag == TC_STRING ? 2 : 8));
	}

	private void desc(int tag) throws IOException {
		switch (tag) {
		case TC_NULL:
			desc = null;
			break;
		case TC_REFERENCE:
			desc = descs.get((int) in.number(4) - baseWireHandle);
			if (desc == null)
				throw new Unclear("no such descriptor");
			break;
		case TC_PROXYCLASSDESC:
			Desc p = described();
			p.flags = SC_SERIALIZABLE;
			for (long n = in.number(4); n > 0; n--)
				in.pass(in.number(2));
			annotated(p);
			break;
		case TC_CLASSDESC:
			String name = new String(in.bytes((int) in.number(2)), StandardCharsets.UTF_8);
			in.pass(8);
			Desc d = described();
			if (name.startsWith("["))
				d.cell = name.charAt(1);
			d.flags = in.octet();
			for (long n = in.number(2); n > 0; n--) {
				char type = (char) in.octet();
				in.pass(in.number(2));
				if (type == 'L' || type == '[') {
					d.objects++;
					string(in.octet());
				} else {
					d.bytes += size(type);
				}
			}
			annotated(d);
			break;
		default:
			throw new Unclear("no descriptor: " + tag);
		}
	}

	private Desc described() {
		Desc d = new Desc();
		descs.put(handles++, d);
		return d;
	}

	/** Expects the data of annotateClass, then the superclass. */
	private void annotated(Desc d) {
		todo.push(d);
		then(Step.PARENT, Step.DESC, Step.MARKED);
	}

	/** Expects the object's data, from the topmost class down. */
	private void classes() throws Unclear {
		if (desc == null)
			throw new Unclear("no class");
		List<Desc> all = new ArrayList<>();
		for (Desc d = desc; d != null; d = d.parent)
			all.add(d);
		if ((desc.flags & SC_EXTERNALIZABLE) != 0) {
			if ((desc.flags & SC_BLOCK_DATA) == 0)
				throw new Unclear("protocol version 1");
			todo.push(Step.MARKED);
			return;
		}
		for (Desc d : all)
			todo.push(d);
	}

	/** Takes the fields of one class. */
	private void fields(Desc d) throws IOException {
		if ((d.flags & SC_SERIALIZABLE) == 0)
			return;
		if ((d.flags & SC_WRITE_METHOD) != 0) {
			if (d.bytes > 0)
				fieldsFirst();
			in.pass(d.bytes);
			todo.push(Step.MARKED);
			return;
		}
		in.pass(d.bytes);
		for (int k = 0; k < d.objects; k++)
			todo.push(Step.CONTENT);
	}

	/**
	 * Rejects a writeObject that may not begin with defaultWriteObject, as it should: its
	 * primitive fields may be anywhere, or missing. Its data begins with a tag, as fields may,
	 * too.
	 */
	private void fieldsFirst() throws IOException {
		int c = in.peek();
		if (c >= TC_BASE && c <= TC_MAX)
			throw new Unclear("the fields may come later");
	}

	private void cells() throws IOException {
		if (desc == null)
			throw new Unclear("no class");
		long n = in.number(4);
		if (desc.cell != 'L' && desc.cell != '[') {
			in.pass(n * size(desc.cell));
			return;
		}
		if (n > Feed.MOST)
			throw new Unclear("too large");
		for (; n > 0; n--)
			todo.push(Step.CONTENT);
	}
}
