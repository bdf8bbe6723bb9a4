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
 * It owns the table of the class's call sites, is what every handler of Foo calls first
 * (`at`), and leads the trampoline to the resume code, which sits in Foo itself (a static
 * synthetic method for each method that may suspend). It is package-private; who has no Site
 * cannot make a Frame, which is what keeps others from entering Foo's methods half-way.
 *
 * The debug tables come as text and are parsed when somebody asks (a dump, a snapshot,
 * the first suspension at a site), mostly deflated. Lines, and fields by tab, numbers in base 36:
 *
 *   strings, one by one                                   the pool
 *   (empty line)
 *   M name desc hash                                      a method, pool indices
 *   S line kind owner name desc {slot name type}*         a site of the last M
 *
 * kind: s(tatic) p(special) v(irtual) i(nterface). slot: i0, j1, a2...: where in the
 * frame; type is a descriptor's pool index; a name of "" is a spilled stack value.
 */
@Internal
public abstract class Code {
	private static final Map<ClassLoader, Map<String, Code>> LOADED =
		new java.util.WeakHashMap<>();

	final Class<?> owner;
	private Site[] sites;
	private MethodRef[] methods;

	/** Of a class that has no table: no frame is its. */
	Code(Class<?> owner) {
		this.owner = owner;
	}

	protected Code(Class<?> owner, String tables) {
		this.owner = owner;
		parse(tables);
	}

	/**
	 * Continues a frame; at: the method in the upper half, the site's index in it in the
	 * lower. (One descriptor for this and for the resume code: it is written in each class.)
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
		/* Complete: from here on it is found by name. */
		synchronized (LOADED) {
			LOADED.computeIfAbsent(owner.getClassLoader(), l -> new HashMap<>())
				.put(owner.getName(), this);
		}
	}

	final Site[] sites() {
		return sites;
	}

	/** What the translator deflated begins with a 1: seven bits in each character. */
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
					throw new IllegalStateException("tables of sites that end too early");
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

	/** For the companion's `at`: the first half of a frame. */
	public final Pushes check(Capture c, Object on, int k) {
		return c.pusher.at(c, sites[k], on);
	}

	final Site site(int k) {
		return sites[k];
	}

	/** Hash of the methods of a class that may suspend and of what they call directly. */
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

	/** Of all companions that were asked for their sites. */
	static List<MethodRef> methods() {
		List<MethodRef> all = new ArrayList<>();
		synchronized (LOADED) {
			for (Map<String, Code> m : LOADED.values())
				for (Code c : m.values())
					all.addAll(Arrays.asList(c.methods));
		}
		return all;
	}

	/** Finds a site by name: for frames that come from another process. */
	static Site find(Class<?> owner, String method, String desc, int pc)
			throws ClassNotFoundException {
		Code code = loaded(owner);
		if (code == null) {
			try {
				Class.forName(owner.getName() + "$$Pico", true, owner.getClassLoader());
			} catch (ClassNotFoundException e) {
				/* Hand-made code of the runtime is registered by its own class. */
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
