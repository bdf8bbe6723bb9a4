// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/*
 * Stack traces as the program's author expects them. An exception that is made after a
 * suspension shows only the OS thread's stack:
 *
 *   at Parser.next(Parser.java:40)
 *   at Session.run(Session.java:17)            out-of-line code; of an overload: pico$run$1
 *   at Session$$Pico.resume                    the trampoline's
 *   at ...Continuation.go
 *   at ...CarrierThread.slice, run
 *
 * The callers of Session.run are frames on the heap. They are put in, and the trampoline is
 * taken out, in two places:
 *
 *   left()      the exception leaves a resumed frame: its callers are that frame's next
 *   complete()  the program is about to read or print it: the callers are those of the
 *               frame that runs now, if the trace's outermost method is the same, or of the
 *               innermost waiting frame of that method. If there is none (the exception comes
 *               from another thread), its callers stay unknown.
 *
 * If the trace goes down to the thread's first method, Thread.run is added, and the program sees
 * our classes and methods under the names of those that they replace.
 *
 * This is not done when an exception is made, because each would cost a walk, printed or not.
 */
@Internal
public final class Traces {
	private static final String CONTINUATION = Continuation.class.getName();
	private static final Set<String> OURS = new HashSet<>(Arrays.asList(CONTINUATION,
		CarrierThread.class.getName(), JvmLock.class.getName(), Traces.class.getName()));
	private static final String REFLECT = Reflect.class.getName();
	private static final String TASK = REFLECT + "$Task";

	private Traces() {}

	/** Replaces Thread.dumpStack. */
	public static void dumpStack() {
		Throwable e = new Exception("Stack trace");
		complete(e);
		e.printStackTrace();
	}

	/**
	 * Completes the trace of e. Called before the program reads or prints e, or gives it to a
	 * logger.
	 */
	public static void complete(Throwable e) {
		Context x = Context.get();
		if (x.current == null)
			return;
		/* The program's getCause() or getStackTrace() must not suspend below us. */
		x.pins++;
		try {
			complete(e, x.fiber, new IdentityHashMap<>());
		} finally {
			x.pins--;
		}
	}

	/** Completes e, which ended f, for its handler. */
	static void uncaught(Throwable e, Fiber f) {
		Context x = Context.get();
		x.pins++;
		try {
			complete(e, f, new IdentityHashMap<>());
		} catch (Throwable again) {
			/* The handler gets e as it is. */
		} finally {
			x.pins--;
		}
	}

	private static void complete(Throwable e, Fiber f, Map<Throwable, Boolean> seen) {
		if (e == null || seen.put(e, true) != null)
			return;
		StackTraceElement[] st = e.getStackTrace();
		if (trampoline(st, 0) < st.length)
			e.setStackTrace(known(st, f));
		complete(e.getCause(), f, seen);
		for (Throwable s : e.getSuppressed())
			complete(s, f, seen);
	}

	/**
	 * If e is an InterruptedException, another thread made it: gives it the trace of the
	 * waiting frame f, at which it is thrown.
	 */
	static void told(Throwable e, Frame f) {
		if (!(e instanceof InterruptedException))
			return;
		Fiber me = me();
		List<StackTraceElement> l = new ArrayList<>();
		StackTraceElement call = me == null ? null : Dump.interrupted(me);
		if (call != null)
			l.add(call);
		callers(f, l);
		e.setStackTrace(shown(me, l));
	}

	/** The fiber to whose end the running frames lead; null: they are another continuation's. */
	private static Fiber me() {
		Context x = Context.get();
		return x.current == x.fiber ? x.fiber : null;
	}

	/** Completes the trace of e, which leaves the resumed frame f, and returns e. */
	static Throwable left(Throwable e, Frame f) {
		Context x = Context.get();
		x.pins++;
		try {
			whole(e, f, new IdentityHashMap<>());
			return e;
		} finally {
			x.pins--;
		}
	}

	/** Also completes what e holds: it was made in this frame, too, or is complete already. */
	private static void whole(Throwable e, Frame f, Map<Throwable, Boolean> seen) {
		if (e == null || seen.put(e, true) != null)
			return;
		StackTraceElement[] st = e.getStackTrace();
		int go = trampoline(st, 0);
		if (go == st.length)
			return;
		List<StackTraceElement> l = new ArrayList<>(st.length);
		part(st, 0, go, l);
		Fiber end = go > 0 && isBegin(st[go - 1]) ? Context.get().fiber : null;
		if (!l.isEmpty() && same(last(l), f.site.method)) {
			callers(f.next, l);
			end = me();
		}
		int n = l.size();
		part(st, go + 1, st.length, l);
		e.setStackTrace(shown(l.size() == n ? end : null, l));
		whole(e.getCause(), f, seen);
		for (Throwable s : e.getSuppressed())
			whole(s, f, seen);
	}

	/** The trace of the calling code. */
	static StackTraceElement[] here() {
		return known(new Throwable().getStackTrace(), Context.get().fiber);
	}

	/** What an OS thread with this stack runs of the program. The callers are on the heap. */
	static List<StackTraceElement> running(StackTraceElement[] os) {
		List<StackTraceElement> l = new ArrayList<>(os.length);
		part(os, 0, os.length, l);
		return l;
	}

	/**
	 * The trace st with the callers that the running thread knows and without trampolines. f:
	 * the fiber that made it, for all we know.
	 */
	private static StackTraceElement[] known(StackTraceElement[] st, Fiber f) {
		Context x = Context.get();
		List<StackTraceElement> l = new ArrayList<>(st.length);
		Fiber end = null;
		for (int from = 0; from < st.length;) {
			int go = trampoline(st, from);
			int n = l.size();
			part(st, from, go, l);
			if (go < st.length || l.size() > n)
				end = null;
			/* In a first run the stack is complete. The callers of an outer trampoline are
			 * unknown. */
			if (go < st.length && go > 0 && isBegin(st[go - 1]))
				end = f;
			else if (from == 0 && x.current != null && go < st.length && !l.isEmpty()
					&& below(x, last(l), l))
				end = me();
			from = go + 1;
		}
		return shown(end, l);
	}

	/**
	 * Adds the frames that called the method with which a trace of x ends. False: they are
	 * unknown.
	 */
	private static boolean below(Context x, StackTraceElement method,
			List<StackTraceElement> to) {
		List<StackTraceElement> now = new ArrayList<>();
		StackTraceElement[] st = new Throwable().getStackTrace();
		part(st, 0, trampoline(st, 0), now);
		if (!now.isEmpty() && same(last(now), method)) {
			callers(x.callers(), to);
			return true;
		}
		for (Frame f : Packed.frames(x.callers()))
			if (same(method, f.site.method)) {
				callers(f.next, to);
				return true;
			}
		return false;
	}

	/**
	 * The trace l as the program sees it. end: the fiber to whose first method it goes down;
	 * null: it does not.
	 */
	static StackTraceElement[] shown(Fiber end, List<StackTraceElement> l) {
		if (end != null)
			end(end.thread, l);
		for (int k = 0; k < l.size(); k++) {
			StackTraceElement e = l.get(k);
			if (e.getClassName().startsWith(Instead.PICO))
				l.set(k, jdks(e));
		}
		return l.toArray(new StackTraceElement[0]);
	}

	/** Adds the JDK's method that calls a thread's task. main and an overridden run() have none. */
	private static void end(PicoThread t, List<StackTraceElement> l) {
		if (!l.isEmpty() && last(l).getClassName().equals(TASK)) {
			while (!l.isEmpty() && (last(l).getClassName().equals(TASK)
					|| last(l).getClassName().equals(REFLECT)
					|| Walk.isReflection(last(l).getClassName())))
				l.remove(l.size() - 1);
			return;
		}
		if (t != null && !l.isEmpty() && !t.isOwn(last(l).getClassName())
				&& l.size() < LONGEST)
			l.add(jdks(t.virtual ? "java.lang.VirtualThread" : "java.lang.Thread", "run"));
	}

	private static StackTraceElement jdks(StackTraceElement e) {
		String[] m = Instead.member(e.getClassName(), e.getMethodName());
		return m == null ? e : jdks(m[0], m[1]);
	}

	static StackTraceElement jdks(String type, String method) {
		String file = type.substring(type.lastIndexOf('.') + 1).replaceFirst("\\$.*", "")
			+ ".java";
		return new StackTraceElement(type, method, file, -1);
	}

	/** Gives e the trace of the chain of frames f, at which it is thrown. */
	static void made(Throwable e, Frame f) {
		List<StackTraceElement> l = new ArrayList<>();
		callers(f, l);
		e.setStackTrace(shown(me(), l));
	}

	/** A trace has at most this many elements, as in the JVM. */
	private static final int LONGEST = 1024;

	static void callers(Frame top, List<StackTraceElement> to) {
		for (Frame f : Packed.frames(top)) {
			if (to.size() >= LONGEST)
				return;
			add(f.site.element(), to);
		}
	}

	private static StackTraceElement last(List<StackTraceElement> l) {
		return l.get(l.size() - 1);
	}

	private static boolean same(StackTraceElement e, StackTraceElement d) {
		return e.getMethodName().equals(d.getMethodName())
			&& e.getClassName().equals(d.getClassName());
	}

	private static boolean same(StackTraceElement e, MethodRef m) {
		return e.getMethodName().equals(m.name)
			&& e.getClassName().equals(m.owner.replace('/', '.'));
	}

	/** The index of the first trampoline, from `from` on; the length: there is none. */
	private static int trampoline(StackTraceElement[] st, int from) {
		int k = from;
		while (k < st.length
				&& !isTrampoline(st[k].getClassName(), st[k].getMethodName()))
			k++;
		return k;
	}

	static boolean isTrampoline(String type, String method) {
		return method.equals("go") && type.equals(CONTINUATION);
	}

	private static boolean isBegin(StackTraceElement e) {
		return isBegin(e.getClassName(), e.getMethodName());
	}

	static boolean isBegin(String type, String method) {
		return method.equals("begin") && type.equals(CONTINUATION);
	}

	/** Adds the elements of the program, with their names in the program. */
	private static void part(StackTraceElement[] st, int from, int to,
			List<StackTraceElement> l) {
		for (int k = from; k < to; k++)
			add(st[k], l);
	}

	private static void add(StackTraceElement e, List<StackTraceElement> l) {
		String c = e.getClassName();
		String n = shown(c, e.getMethodName());
		if (n == null)
			return;
		l.add(n.equals(e.getMethodName()) ? e
			: new StackTraceElement(c, n, e.getFileName(), e.getLineNumber()));
	}

	/** A method's name in the program; null: the program has no such method. */
	static String shown(String type, String method) {
		String n = inProgram(method);
		return n == null || OURS.contains(type) || type.endsWith("$$Pico") || isLambda(type)
			? null : n;
	}

	/** The name in the program of a method that the translator made; null: none. */
	static String inProgram(String name) {
		String n = name;
		while (n.startsWith("pico$")) {
			int d = n.lastIndexOf('$');
			if (n.startsWith("pico$$") || n.equals("pico$new"))
				return null;
			if (n.equals("pico$init"))
				return "<init>";
			n = n.substring(5, d > 4 ? d : n.length());
		}
		return n;
	}

	/** True for Foo$$L3. The JVM does not show its own lambda classes, either. */
	private static boolean isLambda(String c) {
		int d = c.lastIndexOf("$$L");
		if (d < 0 || d + 3 == c.length())
			return false;
		for (int k = d + 3; k < c.length(); k++)
			if (c.charAt(k) < '0' || c.charAt(k) > '9')
				return false;
		return true;
	}
}
