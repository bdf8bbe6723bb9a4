// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/*
 * One call site that may suspend: what it calls, and what its frame holds.
 *
 * The lost-frame check: when a suspension unwinds through the site, the method that this very
 * call invoked must be the one that pushed the last frame. The same name and descriptor are not
 * enough: an untranslated FilterInputStream.read(byte[]) calls a translated read(byte[]) of
 * another stream, and its frame would be lost unseen. So the site resolves the call as the JVM
 * did: from the receiver's class for a virtual call (the handler has the receiver), from the
 * named class for the others. The class that has the code found must be the class that has the
 * last frame's method. By induction over the frames, nothing between two translated frames is
 * lost.
 *
 *   ok: the pairs (callee, receiver's class) that passed; a hit costs two compares.
 *   Immutable nodes, published by a plain write: final fields make a racing reader safe, and
 *   a node that is lost to a race only means another check. Rejected: two fields, which two
 *   carriers could tear into a pair that was never checked.
 */
@Internal
public final class Site {
	final Code code;
	public final MethodRef method;
	final int m;
	/** Index of the site in its method. */
	public final int pc;
	/** m and pc, as Code.resume takes them. A method contains fewer than 65,536 calls. */
	final int at;
	public final int line;
	private final char kind;
	public final String owner;
	public final String name;
	public final String desc;
	private final String[] pool;
	private final String[] words;

	/** The shared outermost frame of this site, if it holds no value: Frame.shared. */
	Frame end;
	/** A frame of this site of which Packed makes copies. */
	Frame blank;

	/** Most recent pair first; at most MAX_OK. */
	Ok ok;
	private static final int MAX_OK = 16;

	static final class Ok {
		final MethodRef callee;
		final Class<?> type;
		final Ok next;

		Ok(MethodRef callee, Class<?> type, Ok next) {
			this.callee = callee;
			this.type = type;
			this.next = next;
		}
	}

	Site(Code code, MethodRef method, int m, int pc, int line, char kind,
			String owner, String name, String desc, String[] pool, String[] words) {
		this.code = code;
		this.method = method;
		this.m = m;
		this.pc = pc;
		at = m << 16 | pc;
		this.line = line;
		this.kind = kind;
		this.owner = owner;
		this.name = name;
		this.desc = desc;
		this.pool = pool;
		this.words = words;
	}

	/** The slow path of Pusher.at. */
	void check(Capture c, MethodRef last, Object on) {
		Class<?> type = on == null ? null : on.getClass();
		int n = 0;
		for (Ok o = ok; o != null; o = o.next, n++)
			if (o.callee == last && o.type == type)
				return;
		if (last == null || !last.name.equals(name) || !last.desc.equals(desc)
				|| !resolvesTo(last, on))
			throw c.lost("the call of " + owner.replace('/', '.') + '.' + name + desc,
				this);
		if (n < MAX_OK)
			ok = new Ok(last, type, ok);
	}

	private boolean resolvesTo(MethodRef last, Object on) {
		Class<?> named;
		try {
			named = Class.forName(owner.replace('/', '.'), false, code == null ? null
				: code.owner.getClassLoader());
		} catch (ClassNotFoundException e) {
			return false;
		}
		boolean virtual = on != null && (kind == 'v' || kind == 'i');
		/* The access of the method that the call names decides what can override it. */
		Class<?> found = named;
		while (found != null && modifiers(found) == null)
			found = found.getSuperclass();
		int mods = found == null ? Modifier.PUBLIC : modifiers(found);
		if (virtual && Modifier.isPrivate(mods))
			return found == last.holder;
		boolean open = (mods & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0;
		Class<?> from = virtual ? on.getClass() : named;
		for (Class<?> k = from; k != null; k = k.getSuperclass()) {
			if (k == last.holder)
				return true;
			Integer m = modifiers(k);
			if (m != null && (!virtual || (m & (Modifier.PRIVATE | Modifier.STATIC)) == 0
					&& (open || packageOf(k).equals(packageOf(found)))))
				return false;
		}
		return last.holder.isInterface() && last.holder.isAssignableFrom(from);
	}

	private static String packageOf(Class<?> k) {
		return k.getName().substring(0, k.getName().lastIndexOf('.') + 1);
	}

	/** Modifiers of the method that k declares for this call; null: none. */
	private Integer modifiers(Class<?> k) {
		return DECLARED.get(k).get(name + desc);
	}

	private static final ClassValue<Map<String, Integer>> DECLARED =
			new ClassValue<Map<String, Integer>>() {
		@Override
		protected Map<String, Integer> computeValue(Class<?> k) {
			Map<String, Integer> s = new HashMap<>();
			try {
				for (Method m : k.getDeclaredMethods())
					s.put(m.getName() + descriptor(m), m.getModifiers());
			} catch (NoClassDefFoundError e) {
				/* A signature names a class that does not exist: nothing is known. */
				return Collections.emptyMap();
			}
			return s;
		}
	};

	static String descriptor(Method m) {
		StringBuilder b = new StringBuilder("(");
		for (Class<?> p : m.getParameterTypes())
			b.append(descriptor(p));
		return b.append(')').append(descriptor(m.getReturnType())).toString();
	}

	static String descriptor(Class<?> k) {
		if (k == void.class)
			return "V";
		String n = java.lang.reflect.Array.newInstance(k, 0).getClass().getName();
		return n.substring(1).replace('.', '/');
	}

	/** The values of a frame of this site, in the order of the method's locals. */
	List<Variable> variables() {
		List<Variable> vs = new ArrayList<>();
		for (int k = 6; k + 2 < words.length; k += 3)
			vs.add(new Variable(words[k].charAt(0),
				Integer.parseInt(words[k].substring(1)),
				Code.str(pool, words[k + 1]), Code.str(pool, words[k + 2])));
		return vs;
	}

	/** Where one value is in the frame, and its name in the program. */
	static final class Variable {
		final char bank;
		final int index;
		final String name;
		final String type;

		Variable(char bank, int index, String name, String type) {
			this.bank = bank;
			this.index = index;
			this.name = name;
			this.type = type;
		}

		Object in(Frame f) {
			switch (bank) {
			case 'i': {
				int v = f.getI(index);
				switch (type) {
				case "Z": return v != 0;
				case "C": return (char) v;
				case "B": return (byte) v;
				case "S": return (short) v;
				case "F": return Float.intBitsToFloat(v);
				default: return v;
				}
			}
			case 'j': {
				long v = f.getJ(index);
				return type.equals("D") ? (Object) Double.longBitsToDouble(v) : v;
			}
			default:
				return f.getA(index);
			}
		}
	}

	private int layout;

	/** Hash of the call and of the slots: frames of the same layout can be exchanged. */
	int layout() {
		int h = layout;
		if (h == 0) {
			h = 31 * (31 * owner.hashCode() + name.hashCode()) + desc.hashCode();
			for (Variable v : variables())
				h = 31 * (31 * (31 * h + v.bank) + v.index) + v.type.hashCode();
			layout = h;
		}
		return h;
	}

	/** The site as a stack trace would show it. */
	public StackTraceElement element() {
		String c = method.owner.replace('/', '.');
		String file = c.substring(c.lastIndexOf('.') + 1);
		int d = file.indexOf('$');
		return new StackTraceElement(c, method.name,
			(d > 0 ? file.substring(0, d) : file) + ".java", line);
	}

	@Override
	public String toString() {
		return method + ":" + line;
	}
}
