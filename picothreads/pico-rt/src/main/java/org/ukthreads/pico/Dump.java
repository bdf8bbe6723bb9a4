// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.ArrayList;
import java.util.List;

/** Makes thread dumps: the frames of parked threads with their lines and live locals. */
public final class Dump {
	private Dump() {}

	/**
	 * Where a fiber is: its OS thread, if it has one, with that thread's stack, and its frames
	 * on the heap.
	 */
	private static final class Place {
		Thread os;
		List<StackTraceElement> stack = new ArrayList<>();
		Frame frames;

		Place(Fiber f) {
			os = f.rt.carrying(f);
			if (os != null) {
				StackTraceElement[] st = os.getStackTrace();
				frames = os instanceof CarrierThread
					? ((CarrierThread) os).context.callers() : f.top;
				/* The thread may have gone on to another fiber: then the stack is not f's. */
				if (f.rt.carrying(f) == os)
					stack = Traces.running(st);
				else
					os = null;
			}
			if (os == null)
				frames = f.top;
		}
	}

	/** True: the OS thread that runs f waits for a lock of the JVM that is not the runtime's. */
	static boolean isBlocked(Fiber f) {
		Thread os = f.rt.carrying(f);
		if (os == null || os.getState() != Thread.State.BLOCKED)
			return false;
		StackTraceElement[] st = os.getStackTrace();
		return st.length > 0 && f.rt.carrying(f) == os
			&& (!st[0].getClassName().startsWith(Instead.PICO)
			|| st[0].getClassName().equals(JvmLock.class.getName()));
	}

	static StackTraceElement[] trace(Fiber f) {
		Place p = new Place(f);
		StackTraceElement call = p.os == null && !f.isAtDevice() ? primitive(f, f.waitKind) : null;
		if (call != null && p.stack.isEmpty())
			p.stack.add(call);
		Traces.callers(p.frames, p.stack);
		return Traces.shown(f, p.stack);
	}

	/**
	 * The JDK call in which a fiber waits. The call leaves no frame, but programs look at the
	 * first element of a trace. Null: there is none, for example for a fiber that waits to
	 * enter a monitor.
	 */
	private static StackTraceElement primitive(Fiber f, int kind) {
		switch (kind) {
		case Fiber.W_PARK:
			return Traces.jdks("java.util.concurrent.locks.LockSupport",
				f.timed ? "parkNanos" : "park");
		case Fiber.W_SLEEP:
			return Traces.jdks("java.lang.Thread", "sleep");
		case Fiber.W_JOIN:
			return Traces.jdks("java.lang.Thread", "join");
		case Fiber.W_MONITOR:
			return Traces.jdks("java.lang.Object", "wait");
		default:
			return null;
		}
	}

	/** The JDK call that threw an InterruptedException when f was woken in it. */
	static StackTraceElement interrupted(Fiber f) {
		return f.waitKind == Fiber.W_PARK ? null
			: primitive(f, f.waitKind == Fiber.W_ENTER ? Fiber.W_MONITOR : f.waitKind);
	}

	/**
	 * Returns the text of a dump, like jstack's: all live pico threads, deadlocks, carriers and
	 * pins. From any thread.
	 */
	public static String all() {
		StringBuilder b = new StringBuilder();
		List<PicoThread> ts = new ArrayList<>(PicoThread.all());
		ts.sort((p, q) -> p.getName().compareTo(q.getName()));
		for (PicoThread t : ts)
			of(t, b);
		List<KeptFiber> ks = new ArrayList<>(KeptFiber.LIVE);
		ks.sort((p, q) -> p.toString().compareTo(q.toString()));
		for (KeptFiber k : ks) {
			b.append(k).append(' ').append(PicoThread.state(k));
			stack(k, b);
		}
		List<Fiber> all = new ArrayList<>(ks);
		for (PicoThread t : ts)
			all.add(t.fiber);
		for (List<Fiber> c : Deadlocks.among(all, Deadlocks.ANY))
			circle(c, b);
		PicoRuntime rt = PicoRuntime.main();
		b.append(ts.size()).append(" pico threads; carriers: ").append(rt.carriers())
			.append(", OS threads made for them: ").append(rt.osThreads())
			.append(", spare now: ").append(rt.spares()).append("; pins that blocked: ")
			.append(Pins.blocked()).append("; calls by helpers: ").append(Blocking.helped())
			.append("; lost frames: ").append(Pins.lostFrames())
			.append('\n');
		Pins.report().forEach((k, v) -> b.append("  pinned ").append(v).append(" times: ")
			.append(k).append('\n'));
		return b.toString();
	}

	static void of(PicoThread t, StringBuilder b) {
		b.append('"').append(t.getName()).append("\" #").append(t.getId())
			.append(t.isDaemon() ? " daemon " : " ").append(t.getState());
		stack(t.fiber, b);
	}

	private static void stack(Fiber fiber, StringBuilder b) {
		waits(fiber, b);
		b.append('\n');
		Place p = new Place(fiber);
		if (p.os != null) {
			b.append("\t(on ").append(p.os.getName()).append(")\n");
			for (StackTraceElement e : p.stack)
				b.append("\tat ").append(e).append('\n');
		}
		for (Frame f : Packed.frames(p.frames))
			frame(f, b);
		b.append('\n');
	}

	private static void waits(Fiber f, StringBuilder b) {
		int s = f.state;
		Waiter w = f.waiter;
		if (s != Fiber.PARKED && s != Fiber.STOPPING)
			return;
		Object on = Monitors.awaited(w);
		if (on != null) {
			b.append(Monitors.isBlocked(f) ? ", to lock " : ", in wait() of ")
				.append(show(on));
			held(Monitors.owner(on), b);
		} else if (f.waitKind == Fiber.W_PARK && f.blocker != null) {
			Object by = f.blocker;
			b.append(", parked at ").append(show(of(by)));
			held(owner(by), b);
		} else if (f.waitKind == Fiber.W_JOIN && PicoThread.joined(w) != null) {
			b.append(", for the end of \"").append(PicoThread.joined(w).getName())
				.append('"');
		} else {
			b.append(f.waitKind == Fiber.W_SLEEP ? ", asleep"
				: f.waitKind == Fiber.W_PARK ? ", parked" : "");
		}
		if (w instanceof Timers.Entry && ((Timers.Entry) w).pending())
			b.append(", ").append((((Timers.Entry) w).at - f.rt.clock.nanos()) / 1_000_000)
				.append(" ms left");
	}

	private static void held(Fiber owner, StringBuilder b) {
		if (owner != null)
			b.append(", held by \"").append(name(owner)).append('"');
	}

	static String name(Fiber f) {
		PicoThread t = f.thread;
		return t != null ? t.getName() : f.isForeign() ? f.asThread().getName()
			: f.toString();
	}

	/** The object that the program knows: a lock, not the Room in which threads wait for it. */
	static Object of(Object blocker) {
		Object o = blocker instanceof Room ? ((Room) blocker).of() : null;
		return o != null ? o : blocker;
	}

	static Fiber owner(Object blocker) {
		return blocker instanceof Room.Owned ? ((Room.Owned) blocker).owner() : null;
	}

	private static void circle(List<Fiber> fs, StringBuilder b) {
		b.append("deadlock of ").append(fs.size()).append(" threads:\n");
		for (Fiber f : fs) {
			b.append("  \"").append(name(f)).append('"');
			waits(f, b);
			b.append('\n');
		}
		b.append('\n');
	}

	private static void frame(Frame f, StringBuilder b) {
		b.append("\tat ").append(f.site.element()).append('\n');
		for (Site.Variable v : f.site.variables()) {
			if (v.name.trim().isEmpty())
				continue;
			b.append("\t\t").append(v.name).append(" = ").append(show(v.in(f)))
				.append('\n');
		}
	}

	/** Shows o without calling the program's toString(). */
	private static String show(Object o) {
		if (o == null || o instanceof Number || o instanceof Boolean
				|| o instanceof Character)
			return String.valueOf(o);
		if (o instanceof String) {
			String s = (String) o;
			return '"' + (s.length() > 80 ? s.substring(0, 80) + "..." : s) + '"';
		}
		return o.getClass().getName() + '@'
			+ Integer.toHexString(System.identityHashCode(o));
	}
}
