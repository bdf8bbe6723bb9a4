// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/*
 * Writes the frames of a stopped computation to a stream of values and reads them back, for
 * snapshots. It accepts nothing but whole frames at known sites.
 *
 *   stream: count of frames, innermost first; then for each
 *             site    its index in the stream; a new one (the next index) is followed by
 *                     class, method, descriptor, pc, hash of the method, hash of the site
 *             shape, then as many ints, longs and references as it says
 *           count of monitors held, then for each: object, count
 *
 * Two hashes detect changed code. The method's hash is that of its untranslated code. The
 * site's hash is that of its translation (which call, and which value in which slot): the same
 * method may get another layout because something that it calls now suspends.
 */
@Internal
public final class Freezer {
	private Freezer() {}

	/** Receives the values. It must keep the identity of references. */
	public interface Out {
		void number(long v);

		void bits(long v);

		void text(String s);

		void ref(Object o);

		/** The references that follow are held by a frame of this site. */
		void at(Site s);
	}

	/** Supplies the values. */
	public interface In {
		long number();

		long bits();

		String text();

		Object ref();

		Class<?> type(String name) throws ClassNotFoundException;
	}

	/** Thrown if the code is not the code that made the frames. */
	public static final class ChangedException extends RuntimeException {
		private static final long serialVersionUID = 1;
		/** Class, name and descriptor of the method. */
		public final String method;

		ChangedException(String method, String why) {
			super(method + ": " + why);
			this.method = method;
		}
	}

	/**
	 * Writes a stopped continuation, which does not change. Throws IllegalStateException if it
	 * has no frames.
	 */
	public static void write(Continuation k, Out out) {
		List<Frame> frames = Packed.frames(k.top);
		int n = frames.size();
		if (n == 0)
			throw new IllegalStateException("not stopped: " + k);
		out.number(n);
		Site[] known = new Site[n];
		int sites = 0;
		for (Frame f : frames) {
			Site s = f.site;
			int x = 0;
			while (x < sites && known[x] != s)
				x++;
			out.number(x);
			if (x == sites) {
				known[sites++] = s;
				out.text(s.method.owner);
				out.text(s.method.name);
				out.text(s.method.desc);
				out.number(s.pc);
				out.bits(s.method.hash);
				out.number(s.layout());
			}
			frame(f, s, out);
		}
		List<Object> held = k instanceof Fiber ? Monitors.heldBy((Fiber) k)
			: java.util.Collections.emptyList();
		out.number(held.size() / 2);
		for (int i = 0; i < held.size(); i += 2) {
			out.ref(held.get(i));
			out.number((Integer) held.get(i + 1));
		}
	}

	private static void frame(Frame f, Site s, Out out) {
		int shape = f.shape();
		out.number(f instanceof WideFrame ? -shape - 1 : shape);
		for (int i = 0, n = f.ints(); i < n; i++)
			out.number(f.getI(i));
		for (int i = 0, n = f.longs(); i < n; i++)
			out.number(f.getJ(i));
		out.at(s);
		for (int i = 0, n = f.refs(); i < n; i++)
			out.ref(f.getA(i));
	}

	/**
	 * Reads into a continuation that has not begun. Throws ChangedException if the code has
	 * changed.
	 */
	public static void read(Continuation k, In in) throws ClassNotFoundException {
		int n = (int) in.number();
		Site[] known = new Site[n];
		int sites = 0;
		Frame first = null;
		Frame last = null;
		for (int c = 0; c < n; c++) {
			int x = (int) in.number();
			if (x == sites)
				known[sites++] = site(in);
			Frame f = frame(in);
			f.site = known[x];
			if (last == null)
				first = f;
			else
				last.next = f;
			last = f;
		}
		k.adopt(first);
		try {
			for (int held = (int) in.number(); held > 0; held--) {
				Object o = in.ref();
				Monitors.adopt((Fiber) k, o, (int) in.number());
			}
		} catch (RuntimeException e) {
			drop(k);
			throw e;
		}
	}

	/** Frees the monitors of a continuation that was read and will not run. */
	public static void drop(Continuation k) {
		if (k instanceof Fiber)
			Monitors.disown((Fiber) k);
	}

	private static Site site(In in) throws ClassNotFoundException {
		String owner = in.text();
		String name = in.text();
		String desc = in.text();
		int pc = (int) in.number();
		long hash = in.bits();
		int layout = (int) in.number();
		String method = owner.replace('/', '.') + '.' + name + desc;
		Class<?> c;
		try {
			c = in.type(owner.replace('/', '.'));
		} catch (ClassNotFoundException e) {
			throw new ChangedException(method, "the class is gone (" + e.getMessage() + ")");
		}
		Site s;
		try {
			Site any = Code.find(c, name, desc, 0);
			if (any != null && any.method.hash != hash)
				throw new ChangedException(method, "its code has changed");
			s = pc == 0 ? any : Code.find(c, name, desc, pc);
		} catch (ClassNotFoundException e) {
			throw new ChangedException(method, "the class is not translated");
		}
		if (s == null)
			throw new ChangedException(method, "no such method, or it no longer blocks");
		if (s.layout() != layout)
			throw new ChangedException(method, "its translation has changed");
		return s;
	}

	private static final ConcurrentHashMap<Integer, Frame> SHAPES = new ConcurrentHashMap<>();

	private static Frame frame(In in) {
		int shape = (int) in.number();
		Frame f;
		if (shape < 0) {
			shape = -shape - 1;
			f = new WideFrame(new int[shape >>> 20], new long[shape >>> 10 & 1023],
				new Object[shape & 1023]);
		} else {
			f = SHAPES.computeIfAbsent(shape, Freezer::blank).copy();
		}
		for (int i = 0, n = f.ints(); i < n; i++)
			f.setI(i, (int) in.number());
		for (int i = 0, n = f.longs(); i < n; i++)
			f.setJ(i, in.number());
		for (int i = 0, n = f.refs(); i < n; i++)
			f.setA(i, in.ref());
		return f;
	}

	private static Frame blank(int shape) {
		try {
			return (Frame) Class.forName("org.ukthreads.pico.Frames$F" + (shape >>> 20) + '_'
				+ (shape >>> 10 & 1023) + '_' + (shape & 1023)).getDeclaredConstructor()
				.newInstance();
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException("no frame of shape "
				+ Integer.toHexString(shape), e);
		}
	}

	/**
	 * Describes the program's call in which a stopped computation waits: which method, and
	 * called from where.
	 */
	public static String where(Continuation k) {
		for (Frame f : Packed.frames(k.top)) {
			StackTraceElement e = f.site.element();
			if (!e.getClassName().startsWith("org.ukthreads.pico."))
				return f.site.owner.replace('/', '.') + '.' + f.site.name + "(), called at " + e;
		}
		Thread pinned = k instanceof Fiber ? ((Fiber) k).blocked : null;
		if (pinned != null)
			for (StackTraceElement e : pinned.getStackTrace())
				if (!e.getClassName().matches("(org\\.ukthreads\\.pico|java|jdk|sun)\\..*"))
					return "a call at " + e;
		return "a call of the runtime";
	}

	/**
	 * Identifies the code of a lambda's class. The name (Foo$$L3) is only numbered, so another
	 * lambda may have it later.
	 */
	public static long lambdaHash(Class<?> lambda) {
		return Code.hash(lambda, true);
	}

	/**
	 * Hash of those methods of a task's class and its superclasses that may suspend: a thread
	 * that was killed before it was saved in any wait would run them again. 0: the class is not
	 * translated.
	 */
	public static long taskHash(Class<?> task) {
		long h = 0;
		for (Class<?> c = task; c != null && c.getClassLoader() != null; c = c.getSuperclass())
			h = 31 * h + Code.hash(c, false);
		return h;
	}

	/** Throws ChangedException if task has another hash. */
	public static void checkTask(Class<?> task, long hash) {
		if (taskHash(task) != hash)
			throw new ChangedException(task.getName() + ".run()V", "its code, or that of another"
				+ " method of its class, has changed, and the thread would begin again in it");
	}

	/** A frame of a snapshot as it was written. Its class need not exist. */
	public static final class Looked {
		/** Class, name and descriptor of the method, and the index of the site in it. */
		public String owner;
		public String name;
		public String desc;
		public int pc;
		/** The references that it holds, by slot. */
		public Object[] refs;
		/** Why it cannot go on in the present code; null: it can. */
		public ChangedException refused;
	}

	/** Reads the frames of a snapshot, innermost first, and checks whether each could go on. */
	public static List<Looked> look(In in) {
		int n = (int) in.number();
		List<Looked> all = new java.util.ArrayList<>();
		List<Looked> sites = new java.util.ArrayList<>();
		for (int c = 0; c < n; c++) {
			int x = (int) in.number();
			if (x == sites.size())
				sites.add(lookedSite(in));
			Looked s = sites.get(x);
			Looked f = new Looked();
			f.owner = s.owner;
			f.name = s.name;
			f.desc = s.desc;
			f.pc = s.pc;
			f.refused = s.refused;
			Frame v = frame(in);
			f.refs = new Object[v.refs()];
			for (int k = 0; k < f.refs.length; k++)
				f.refs[k] = v.getA(k);
			all.add(f);
		}
		return all;
	}

	private static Looked lookedSite(In in) {
		Looked s = new Looked();
		In again = new In() {
			private int texts;
			private int numbers;

			@Override
			public long number() {
				long v = in.number();
				if (numbers++ == 0)
					s.pc = (int) v;
				return v;
			}

			@Override
			public long bits() {
				return in.bits();
			}

			@Override
			public String text() {
				String t = in.text();
				if (texts == 0)
					s.owner = t.replace('/', '.');
				else if (texts == 1)
					s.name = t;
				else
					s.desc = t;
				texts++;
				return t;
			}

			@Override
			public Object ref() {
				return in.ref();
			}

			@Override
			public Class<?> type(String name) throws ClassNotFoundException {
				return in.type(name);
			}
		};
		try {
			site(again);
		} catch (ChangedException e) {
			s.refused = e;
		} catch (ClassNotFoundException e) {
			throw new IllegalStateException(e);
		}
		return s;
	}

	/** Reads a stopped continuation without a fiber, for generators and search. */
	public static Continuation continuation(In in) throws ClassNotFoundException {
		Continuation k = new Continuation(null);
		read(k, in);
		return k;
	}
}
