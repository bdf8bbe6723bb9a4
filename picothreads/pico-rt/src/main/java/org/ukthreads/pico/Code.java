// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.io.ByteArrayOutputStream;
import java.io.UnsupportedEncodingException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/*
 * The companion of one translated class: `Foo$$Pico extends Code`, generated.
 *
 * It has the table of the class's call sites. Every handler of Foo calls its method `at` first.
 * It also directs the trampoline to the resume code, which is in Foo itself: a static synthetic
 * method for each method that may suspend. It is package-private. Code without a Site cannot
 * make a Frame, so other code cannot enter Foo's methods half-way.
 *
 * The tables are text, mostly deflated. They are parsed when the companion is initialised: at
 * the first suspension at one of its sites, or for a snapshot. They consist of lines, with
 * fields separated by tabs and numbers in base 36:
 *
 *   strings, one by one                                   the pool
 *   (empty line)
 *   M name desc hash                                      a method, pool indices
 *   S line kind owner name desc {slot name type}*         a site of the last M
 *
 * kind: s static, p special, v virtual, i interface. slot: where in the frame the value is (i0,
 * j1, a2...). type: the pool index of a descriptor. A name of "" is a spilled stack value.
 */
@Internal
public abstract class Code {
	private static final Map<ClassLoader, Map<String, Code>> LOADED =
		new java.util.WeakHashMap<>();

	final Class<?> owner;
	private Site[] sites;
	private MethodRef[] methods;

	/** For a class without a table, which has no frames. */
	Code(Class<?> owner) {
		this.owner = owner;
	}

	protected Code(Class<?> owner, String tables) {
		this.owner = owner;
		parse(tables);
	}

	/**
	 * Continues a frame. at: the index of the method in the upper half, the index of the site
	 * in this method in the lower half. (This method and the resume code share one descriptor,
	 * because each class file repeats it.)
	 *
	 * @return true: the method ended and its value is in t; false: it suspended again
	 */
	protected abstract boolean resume(Continuation t, int at, Frame f);

	private void parse(String tables) {
		String[] lines = text(tables).split("\n", -1);
		int k = 0;
		while (!lines[k].isEmpty())
			k++;
		List<Site> all = new ArrayList<>();
		List<MethodRef> ms = new ArrayList<>();
		int pc = 0;
		for (int n = k + 1; n < lines.length; n++) {
			String line = lines[n];
			if (line.isEmpty())
				continue;
			String[] w = line.split("\t", -1);
			if (w[0].equals("M")) {
				ms.add(new MethodRef(owner, owner.getName().replace('.', '/'),
					str(lines, w[1]), str(lines, w[2]), Long.parseLong(w[3], 36)));
				pc = 0;
			} else {
				int m = ms.size() - 1;
				all.add(new Site(this, ms.get(m), m, pc++, Integer.parseInt(w[1], 36),
					w[2].charAt(0), str(lines, w[3]), str(lines, w[4]),
					str(lines, w[5]), lines, w));
			}
		}
		methods = ms.toArray(new MethodRef[0]);
		sites = all.toArray(new Site[0]);
		/* It is complete: from here on it can be found by name. */
		synchronized (LOADED) {
			LOADED.computeIfAbsent(owner.getClassLoader(), l -> new HashMap<>())
				.put(owner.getName(), this);
		}
	}

	final Site[] sites() {
		return sites;
	}

	/**
	 * Inflates a table that begins with the character 1: the translator deflated it and stored
	 * seven bits in each character. Returns any other table as it is.
	 */
	private static String text(String s) {
		if (s.charAt(0) != 1)
			return s;
		byte[] in = new byte[(s.length() - 1) * 7 / 8 + 1];
		int n = 0;
		int bits = 0;
		int have = 0;
		for (int k = 1; k < s.length(); k++) {
			bits = bits << 7 | s.charAt(k);
			have += 7;
			if (have >= 8) {
				have -= 8;
				in[n++] = (byte) (bits >> have);
			}
		}
		Inflater i = new Inflater(true);
		i.setInput(in);
		ByteArrayOutputStream out = new ByteArrayOutputStream(4 * n);
		byte[] buf = new byte[4096];
		try {
			while (!i.finished()) {
				int got = i.inflate(buf);
				if (got == 0 && i.needsInput())
					throw new IllegalStateException("the tables of the sites end too early");
				out.write(buf, 0, got);
			}
			return out.toString("UTF-8");
		} catch (DataFormatException | UnsupportedEncodingException e) {
			throw new IllegalStateException(e);
		} finally {
			i.end();
		}
	}

	static String str(String[] pool, String index) {
		return pool[Integer.parseInt(index, 36)];
	}

	/**
	 * Called by the companion's `at`: the first half of making a frame, which checks the call.
	 */
	public final Pushes check(Capture c, Object on, int k) {
		return c.pusher.at(c, sites[k], on);
	}

	/**
	 * Hash of the methods of a class that may suspend and, if deep, of what they call directly.
	 * 0: the class is not translated.
	 */
	static long hash(Class<?> owner, boolean deep) {
		long h = 0;
		Code c;
		try {
			find(owner, "", "", 0);
		} catch (ClassNotFoundException e) {
			return 0;
		}
		synchronized (LOADED) {
			c = LOADED.get(owner.getClassLoader()).get(owner.getName());
		}
		for (MethodRef m : c.methods)
			h = 31 * h + m.hash;
		for (Site s : c.sites)
			if (deep) {
				h = 31 * h + s.name.hashCode();
				try {
					MethodRef m = find(Class.forName(s.owner.replace('/', '.'), false,
						owner.getClassLoader()), s.name, s.desc);
					if (m != null)
						h = 31 * h + m.hash;
				} catch (ClassNotFoundException e) {
					continue;
				}
			}
		return h;
	}

	private static MethodRef find(Class<?> owner, String method, String desc)
			throws ClassNotFoundException {
		Site s = find(owner, method, desc, 0);
		return s == null ? null : s.method;
	}

	/** The methods of all companions that are initialised. */
	static List<MethodRef> methods() {
		List<MethodRef> all = new ArrayList<>();
		synchronized (LOADED) {
			for (Map<String, Code> m : LOADED.values())
				for (Code c : m.values())
					all.addAll(Arrays.asList(c.methods));
		}
		return all;
	}

	/**
	 * Finds a site by name, for frames that come from another process. Null: there is no such
	 * site.
	 */
	static Site find(Class<?> owner, String method, String desc, int pc)
			throws ClassNotFoundException {
		Code code = loaded(owner);
		if (code == null) {
			try {
				Class.forName(owner.getName() + "$$Pico", true, owner.getClassLoader());
			} catch (ClassNotFoundException e) {
				/* Hand-written code of the runtime is registered by its own class. */
				Class.forName(owner.getName(), true, owner.getClassLoader());
			}
			code = loaded(owner);
		}
		if (code == null)
			throw new ClassNotFoundException("no companion of " + owner.getName());
		for (Site s : code.sites)
			if (s.pc == pc && s.method.name.equals(method) && s.method.desc.equals(desc))
				return s;
		return null;
	}

	private static Code loaded(Class<?> owner) {
		synchronized (LOADED) {
			Map<String, Code> m = LOADED.get(owner.getClassLoader());
			return m == null ? null : m.get(owner.getName());
		}
	}
}
